"""`load`."""

from __future__ import annotations

import os
from typing import Any

from ._processes import Processes
from .filesystem import FileSystemReader
from .planner import DefaultLoadPlanner, LoadPlan, LoadPlanner, _EmptyStateDictLoadPlanner
from .state_dict_saver import states
from .stateful import Stateful
from .storage import StorageReader

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None, storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None, process_group: Any = None, no_dist: bool = False,
) -> None:  # fmt: skip
    """Read a checkpoint into a state dict, in place: into the tensors that it has, each process its parts of them, however they were
    divided when the checkpoint was written. Other values are replaced, and objects that have a state load it.

    Nothing in the files is executed: besides tensors they may hold plain data, and what `serialization.safe_globals` allows.
    """
    reader = _reader(storage_reader, checkpoint_id)
    found = states(state_dict)
    _read(found, reader, planner or DefaultLoadPlanner(), Processes(process_group, no_dist))
    for name, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(found[name])
        else:
            state_dict[name] = found[name]


def _reader(reader: StorageReader | None, checkpoint_id: Any) -> StorageReader:
    if reader is None:
        if checkpoint_id is None:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
        return FileSystemReader(checkpoint_id)
    reader.reset(checkpoint_id)
    return reader


def _read(state_dict: dict[str, Any], reader: StorageReader, planner: LoadPlanner, processes: Processes) -> None:
    def local_plan() -> LoadPlan:
        metadata = reader.read_metadata()
        planner.set_up_planner(state_dict, metadata, processes.is_coordinator)
        reader.set_up_storage_reader(metadata, processes.is_coordinator)
        return reader.prepare_local_plan(planner.create_local_plan())

    plans = processes.all("plan", local_plan)
    plans = processes.first("plan", lambda: reader.prepare_global_plan(planner.create_global_plan(plans)))
    processes.all("read", lambda: reader.read_data(planner.finish_plan(plans[processes.rank]), planner).wait())


def load_state_dict(
    state_dict: dict[str, Any], storage_reader: StorageReader, process_group: Any = None, coordinator_rank: int = 0, no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:  # fmt: skip
    """The old name of `load`."""
    if coordinator_rank:
        raise NotImplementedError("load_state_dict: the first process of the group makes the plan; leave coordinator_rank out")
    load(state_dict, storage_reader=storage_reader, planner=planner, process_group=process_group, no_dist=no_dist)


_load_state_dict = load_state_dict


def _load_state_dict_from_keys(
    keys: Any = None, *, checkpoint_id: str | os.PathLike[str] | None = None, storage_reader: StorageReader | None = None,
    process_group: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """What a checkpoint has below some keys, or all of it, with whole tensors."""
    wanted = {keys} if isinstance(keys, str) else None if keys is None else set(keys)
    found: dict[str, Any] = {}
    reader = _reader(storage_reader, checkpoint_id)
    _read(found, reader, _EmptyStateDictLoadPlanner(wanted), Processes(process_group, False))
    return found
