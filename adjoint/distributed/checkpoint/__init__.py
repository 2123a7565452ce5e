"""PyTorch's `torch.distributed.checkpoint`: files that several processes write together. One process writes by `torch.save`."""

from __future__ import annotations

from typing import Any

from ..._homes import settle
from ..._standing import refused
from . import state_dict as state_dict

_one_file = refused("adjoint runs a program in one process; write torch.save(state_dict, path), and state_dict = torch.load(path)")


class CheckpointException(Exception):  # noqa: N818
    """What PyTorch raises where processes fail to write."""


@_one_file
def save(state_dict: Any, *, checkpoint_id: Any = None, storage_writer: Any = None, planner: Any = None, **options: Any) -> Any: ...


@_one_file
def async_save(state_dict: Any, *, checkpoint_id: Any = None, storage_writer: Any = None, planner: Any = None, **options: Any) -> Any: ...


@_one_file
def load(state_dict: Any, *, checkpoint_id: Any = None, storage_reader: Any = None, planner: Any = None, **options: Any) -> Any: ...


@_one_file
def save_state_dict(state_dict: Any, storage_writer: Any, **options: Any) -> Any: ...


@_one_file
def load_state_dict(state_dict: Any, storage_reader: Any, **options: Any) -> Any: ...


@_one_file
def _load_state_dict(state_dict: Any, storage_reader: Any, **options: Any) -> Any: ...


@_one_file
def load_sharded_optimizer_state_dict(model_state_dict: Any, optimizer_key: str, storage_reader: Any, planner: Any = None) -> Any: ...


@_one_file
def consolidate_safetensors_files(input_dir: str, output_dir: str, **options: Any) -> Any: ...


@_one_file
class FileSystemReader:
    """Reads such files."""


@_one_file
class FileSystemWriter:
    """Writes such files."""


@_one_file
class HuggingFaceStorageReader:
    """Reads files of safetensors together with other processes."""


@_one_file
class HuggingFaceStorageWriter:
    """Writes files of safetensors together with other processes."""


class LoadPlanner:
    """Which process reads what."""


class SavePlanner:
    """Which process writes what."""


class DefaultLoadPlanner(LoadPlanner):
    """The usual plan."""

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False) -> None:
        self.flatten_state_dict, self.flatten_sharded_tensors = flatten_state_dict, flatten_sharded_tensors
        self.allow_partial_load = allow_partial_load


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """For a state dict that is made while it is read."""


class DefaultSavePlanner(SavePlanner):
    """The usual plan."""

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, **options: Any) -> None:
        self.flatten_state_dict, self.flatten_sharded_tensors = flatten_state_dict, flatten_sharded_tensors


settle(
    __name__,
    dict.fromkeys(
        ("_consolidate_hf_safetensors", "api", "default_planner", "filesystem", "format_utils", "hf_storage", "optimizer", "planner",
         "state_dict_loader", "state_dict_saver"),
        ("",),
    ),
)  # fmt: skip
