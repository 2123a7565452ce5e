"""`save` and `async_save`."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from enum import Enum
from typing import Any

from ..._tensor import Tensor
from ...nn import Module
from .._groups import get_process_group_ranks, is_initialized, new_group
from ..tensor._api import DTensor, make
from ._processes import Processes
from .filesystem import FileSystemWriter
from .metadata import Metadata
from .planner import DefaultSavePlanner, SavePlan, SavePlanner
from .stateful import Stateful
from .storage import StorageWriter

__all__ = ["AsyncCheckpointerType", "async_save", "save", "save_state_dict"]


class AsyncCheckpointerType(Enum):
    """Who writes while the program goes on: a thread. PyTorch has processes for it too."""

    THREAD = "thread"
    PROCESS = "process"


def save(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None, storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None, process_group: Any = None, no_dist: bool = False, use_collectives: bool = True,
) -> Metadata:  # fmt: skip
    """Write a checkpoint into the folder `checkpoint_id`, together with all processes of a group: each writes its parts of the tensors.

    It can be loaded by any number of processes. One that is there already is whole until the new one is. Values that are no tensors are
    written as `save` writes them; those with a `state_dict()` by that.

    >>> import adjoint as ad, tempfile
    >>> from adjoint.distributed import checkpoint
    >>> folder = tempfile.mkdtemp()
    >>> _ = checkpoint.save({"w": ad.ones(2), "step": 3}, checkpoint_id=folder)
    >>> state = {"w": ad.zeros(2), "step": 0}
    >>> checkpoint.load(state, checkpoint_id=folder)
    >>> state
    {'w': tensor([1., 1.]), 'step': 3}
    """
    if not use_collectives:
        raise NotImplementedError("save: adjoint writes one .metadata for all processes; leave use_collectives out")
    writer = _writer(storage_writer, checkpoint_id)
    return _written(states(state_dict), writer, planner or DefaultSavePlanner(), Processes(process_group, no_dist))


def _writer(writer: StorageWriter | None, checkpoint_id: Any) -> StorageWriter:
    if writer is None:
        if checkpoint_id is None:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
        return FileSystemWriter(checkpoint_id)
    writer.reset(checkpoint_id)
    return writer


def states(state_dict: dict[str, Any]) -> dict[str, Any]:
    """A state dict with the states of the objects in it."""
    return {name: value.state_dict() if isinstance(value, Stateful) else value for name, value in state_dict.items()}


def _written(state_dict: dict[str, Any], writer: StorageWriter, planner: SavePlanner, processes: Processes) -> Metadata:
    def local_plan() -> SavePlan:
        planner.set_up_planner(state_dict, writer.storage_meta(), processes.is_coordinator)
        writer.set_up_storage_writer(processes.is_coordinator)
        return writer.prepare_local_plan(planner.create_local_plan())

    plans = processes.all("plan", local_plan)

    def global_plan() -> tuple[list[SavePlan], Metadata]:
        made, metadata = planner.create_global_plan(plans)
        return writer.prepare_global_plan(made), metadata

    plans, metadata = processes.first("plan", global_plan)
    results = processes.all("write", lambda: writer.write_data(planner.finish_plan(plans[processes.rank]), planner).wait())
    processes.first("write", lambda: writer.finish(metadata, results))
    return metadata


def save_state_dict(
    state_dict: dict[str, Any], storage_writer: StorageWriter, process_group: Any = None, coordinator_rank: int = 0, no_dist: bool = False,
    planner: SavePlanner | None = None,
) -> Metadata:  # fmt: skip
    """The old name of `save`."""
    if coordinator_rank:
        raise NotImplementedError("save_state_dict: the first process of the group writes .metadata; leave coordinator_rank out")
    return save(state_dict, storage_writer=storage_writer, planner=planner, process_group=process_group, no_dist=no_dist)


# ---- while the program goes on ------------------------------------------------------------------------------------------------------

_groups: dict[Any, Any] = {}  # what the thread talks to the others in, by the group that was given
_threads: list[ThreadPoolExecutor] = []


def async_save(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None, storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None, process_group: Any = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD, async_stager: Any = None, no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Metadata]:  # fmt: skip
    """`save` in a thread: the tensors are copied, then the program goes on. `result()` of what it returns waits, and raises what went
    wrong. Several are written one after the other."""
    if async_checkpointer_type is not AsyncCheckpointerType.THREAD or async_stager is not None or not use_collectives:
        raise NotImplementedError(
            "async_save: adjoint copies tensors in memory and writes in a thread; leave async_checkpointer_type, async_stager and "
            "use_collectives out"
        )
    writer = _writer(storage_writer, checkpoint_id)
    staged = _copied(states(state_dict))
    alone = no_dist or not is_initialized()
    processes = Processes(None if alone else _own_group(process_group), alone)
    if not _threads:
        _threads.append(ThreadPoolExecutor(1, "checkpoint"))
    return _threads[0].submit(_written, staged, writer, planner or DefaultSavePlanner(), processes)


def _own_group(group: Any) -> Any:
    """A group of the same processes, in which the thread does not disturb what the program says in theirs."""
    ranks = tuple(get_process_group_ranks(group))
    known = _groups.get(ranks)
    if known is None or known[0] is not _world():
        known = _groups[ranks] = _world(), new_group(list(ranks))
    return known[1]


def _world() -> Any:
    from .._groups import _get_default_group

    return _get_default_group()


def _copied(value: Any) -> Any:
    if isinstance(value, DTensor):
        return make(value._local_tensor.detach().clone(), value._spec)
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)([_copied(item) for item in value])
    if isinstance(value, Module):
        raise TypeError("a module in a state dict: write module.state_dict()")
    return value
