"""PyTorch's `torch.distributed.checkpoint`: files that several processes write together, and any number of processes can read.

`planner` says who writes and reads what, `filesystem` how it lies in a folder, `state_dict_saver` and `state_dict_loader` are what users
call, and `state_dict` makes the state dicts. Files are PyTorch's, and exchanged with it.
"""

from __future__ import annotations

from typing import Any

from ..._homes import settle
from ..._standing import refused
from . import format_utils as format_utils
from . import state_dict as state_dict
from .api import CheckpointException as CheckpointException
from .filesystem import FileSystemReader as FileSystemReader
from .filesystem import FileSystemWriter as FileSystemWriter
from .metadata import BytesStorageMetadata as BytesStorageMetadata
from .metadata import ChunkStorageMetadata as ChunkStorageMetadata
from .metadata import Metadata as Metadata
from .metadata import TensorStorageMetadata as TensorStorageMetadata
from .planner import DefaultLoadPlanner as DefaultLoadPlanner
from .planner import DefaultSavePlanner as DefaultSavePlanner
from .planner import LoadPlan as LoadPlan
from .planner import LoadPlanner as LoadPlanner
from .planner import ReadItem as ReadItem
from .planner import SavePlan as SavePlan
from .planner import SavePlanner as SavePlanner
from .planner import WriteItem as WriteItem
from .planner import _EmptyStateDictLoadPlanner as _EmptyStateDictLoadPlanner
from .state_dict_loader import _load_state_dict as _load_state_dict
from .state_dict_loader import load as load
from .state_dict_loader import load_state_dict as load_state_dict
from .state_dict_saver import async_save as async_save
from .state_dict_saver import save as save
from .state_dict_saver import save_state_dict as save_state_dict
from .stateful import Stateful as Stateful
from .storage import StorageReader as StorageReader
from .storage import StorageWriter as StorageWriter

_no_safetensors = refused(
    "adjoint writes checkpoints as PyTorch's FileSystemWriter does; write save(state_dict, checkpoint_id=folder), and "
    "load(state_dict, checkpoint_id=folder)"
)


@refused(
    "write state = get_optimizer_state_dict(model, optimizer), load({'optim': state}, checkpoint_id=folder) and "
    "set_optimizer_state_dict(model, optimizer, state)"
)
def load_sharded_optimizer_state_dict(model_state_dict: Any, optimizer_key: str, storage_reader: Any, planner: Any = None) -> Any: ...


@_no_safetensors
def consolidate_safetensors_files(input_dir: str, output_dir: str, **options: Any) -> Any: ...


@_no_safetensors
class HuggingFaceStorageReader:
    """Reads files of safetensors together with other processes."""


@_no_safetensors
class HuggingFaceStorageWriter:
    """Writes files of safetensors together with other processes."""


settle(__name__, {"default_planner": ("planner",), "_consolidate_hf_safetensors": ("",), "hf_storage": ("",), "optimizer": ("",)})
