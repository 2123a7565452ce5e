"""The file `.metadata` of a checkpoint: PyTorch's pickle of `Metadata`, written by name and read without running anything."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, NoReturn

from ..._pickle import Spelled, Writer, named
from ..._serialization import SAFE
from ..._unpickle import Named, Reader
from . import metadata as own
from .metadata import Metadata, MetadataIndex

NAME = ".metadata"


@dataclass
class _StorageInfo:
    """Where in the files an entry, or a part of one, lies."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None


_HOME = "torch.distributed.checkpoint"
_CLASSES: dict[str, type] = {
    **{f"{_HOME}.metadata.{name}": getattr(own, name) for name in (*own.__all__, "_MEM_FORMAT_ENCODING")},
    f"{_HOME}.filesystem._StorageInfo": _StorageInfo,
}
_SPELLED = {cls: named(*name.rsplit(".", 1)) for name, cls in _CLASSES.items()}
_NAMES = {
    **SAFE,
    **{f"pathlib.{name}": Named(lambda *parts: str(Path(*map(str, parts)))) for name in ("PosixPath", "WindowsPath", "PurePosixPath")},
}


class _Writer(Writer):
    """Writes the classes above by PyTorch's names, whoever is called torch here."""

    def _global(self, value: Any, name: str, where: Any) -> None:
        known: Spelled | None = _SPELLED.get(value)
        if known is None:
            super()._global(value, name, where)
        else:
            self.out += known


def _no_storage(*_: Any) -> NoReturn:
    raise UnpicklingError("the .metadata of a checkpoint holds no tensors")


def write_metadata(folder: Path, metadata: Metadata) -> None:
    """Put the metadata in the place of the one that is there. Until that moment the folder holds the old checkpoint, from then on the
    new one, whenever the process or the machine stops."""
    temporary = folder / f"{NAME}.tmp"
    with temporary.open("wb") as file:
        file.write(_Writer(_no_storage).dump(metadata))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / NAME)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_metadata(folder: Path) -> Metadata:
    """What a checkpoint in a folder consists of, whether PyTorch or adjoint has written it."""
    path = folder / NAME
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: there is no complete checkpoint in this folder, of adjoint or PyTorch") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch writes it in another protocol than the rest
        found = Reader(content, _NAMES, _no_storage, _CLASSES).load()
    entries, places = getattr(found, "state_dict_metadata", None), getattr(found, "storage_data", None)
    if type(found) is not Metadata or not isinstance(entries, dict) or not isinstance(places, dict):
        raise UnpicklingError(f"{path} is not the metadata of a checkpoint")
    for index, place in places.items():
        if type(index) is not MetadataIndex or type(place) is not _StorageInfo or not _is_name(place.relative_path):
            raise UnpicklingError(f"{path} names a file that is not in the folder of the checkpoint")
    return found


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name not in ("", ".", "..") and "/" not in name and "\\" not in name
