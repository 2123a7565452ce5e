"""Between checkpoints in folders and files of `torch.save`. In one process; the tensors are whole."""

from __future__ import annotations

import os
from typing import Any

from ..._serialization import load as load_file
from ..._serialization import save as save_file
from ._processes import Processes
from .filesystem import FileSystemReader, FileSystemWriter
from .planner import DefaultSavePlanner, _EmptyStateDictLoadPlanner
from .state_dict_loader import _read
from .state_dict_saver import _written

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]) -> None:
    """Write what is in a folder to one file."""
    found: dict[str, Any] = {}
    _read(found, FileSystemReader(dcp_checkpoint_dir), _EmptyStateDictLoadPlanner(), Processes(None, True))
    save_file(found, torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]) -> None:
    """Write what is in a file to a folder."""
    found = load_file(torch_save_path, weights_only=True)
    _written(found, FileSystemWriter(dcp_checkpoint_dir), DefaultSavePlanner(), Processes(None, True))
