"""PyTorch's `torch.serialization`: reading and writing files, what a file may name besides plain data, and where its tensors come to."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from mmap import MAP_PRIVATE, MAP_SHARED
from pathlib import Path
from typing import IO, Any
from weakref import finalize

from . import storage as _storage
from ._device import device
from ._dtype import dtype as _DType
from ._dtype import uint8
from ._from_data import frombuffer
from ._locations import _packages as _package_registry  # noqa: F401
from ._locations import default_restore_location, location_tag, register_package, validate_cuda_device, validate_hpu_device
from ._older_files import SourceChangeWarning
from ._records import Archive
from ._records import is_zip as _is_zipfile
from ._serialization import ALLOWED, SAFE, SKIPPED, StorageType, allowed_names, check_seekable, load, save
from ._serialization import get_layout as _get_layout  # noqa: F401
from ._tensor import Tensor
from ._unpickle import names_in
from .utils.serialization import config as _config

__all__ = [
    "LoadEndianness", "SourceChangeWarning", "StorageType", "add_safe_globals", "check_module_version_greater_or_equal",
    "clear_safe_globals", "default_restore_location", "get_crc32_options", "get_default_load_endianness", "get_default_mmap_options",
    "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load", "location_tag", "mkdtemp", "normalize_storage_type", "register_package",
    "safe_globals", "save", "set_crc32_options", "set_default_load_endianness", "set_default_mmap_options", "skip_data",
    "storage_to_tensor_type", "validate_cuda_device", "validate_hpu_device",
]  # fmt: skip

DEFAULT_PROTOCOL = 2
MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None  # what `load` accepts as its `map_location`
FILE_LIKE = str | os.PathLike[str] | IO[bytes]

# ---- what a file may name -----------------------------------------------------------------------------------------------------------


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files that `load` reads name these classes and functions, which it then calls. One may be given with the name that it has in
    the file: `(cls, "package.module.Class")`."""
    ALLOWED.update(dict.fromkeys(safe_globals))


def get_safe_globals() -> list[Any]:
    return list(ALLOWED)


def clear_safe_globals() -> None:
    ALLOWED.clear()


class safe_globals:
    """`add_safe_globals` for the length of a `with` block."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *_: object) -> None:
        for one in self.safe_globals:
            ALLOWED.pop(one, None)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The functions and classes that a file names and that `load` refuses."""
    if hasattr(f, "read"):
        return _unsafe_names(f)
    with Path(f).open("rb") as file:
        return _unsafe_names(file)


def _unsafe_names(file: Any) -> list[str]:
    check_seekable(file)
    if not _is_zipfile(file):
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    archive = Archive(file)
    if archive.has("constants.pkl"):
        raise ValueError("Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint")
    return sorted(names_in(archive.read("data.pkl").tobytes()) - SAFE.keys() - allowed_names().keys())


class PyTorchFileReader:
    """The records of a file that `save` has written, one by one, for programs that load a part of it."""

    def __init__(self, name_or_buffer: Any) -> None:
        given = hasattr(name_or_buffer, "read")
        file = name_or_buffer if given else Path(name_or_buffer).open("rb")
        if not given:  # ours to close, with the last reference to this object, which is all that callers have
            finalize(self, file.close)
        self._archive = Archive(file)

    def has_record(self, name: str) -> bool:
        return self._archive.has(name)

    def get_all_records(self) -> list[str]:
        return self._archive.names()

    def get_record(self, name: str) -> bytes:
        return self._archive.read(name).tobytes()

    def get_record_offset(self, name: str) -> int:
        return self._archive.start(name)

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Tensor:
        """The first `numel` numbers of a record as a tensor; `UntypedStorage` in the place of a dtype means bytes."""
        kind = dtype if isinstance(dtype, _DType) else uint8
        return frombuffer(self._archive.read(name).data, dtype=kind, count=numel)


# ---- settings -----------------------------------------------------------------------------------------------------------------------


class LoadEndianness(Enum):
    """The order of bytes in files that do not say it."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """The order of bytes that files have which do not say it; None is little-endian."""
    return _config.load.endianness  # type: ignore[no-any-return]


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _config.load.endianness = endianness


def get_crc32_options() -> bool:
    """Whether `save` writes a checksum for each record."""
    return _config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    _config.save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """How `load(mmap=True)` maps files: `mmap.MAP_PRIVATE` or `mmap.MAP_SHARED`."""
    return _config.load.mmap_flags


class set_default_mmap_options:
    """Map files privately or shared, from now on or for the length of a `with` block."""

    def __init__(self, flags: int) -> None:
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got " + str(flags)
            )
        self.prev = _config.load.mmap_flags
        _config.load.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        _config.load.mmap_flags = self.prev


class skip_data:
    """In the `with` block the bytes of storages are not written, but room for them is; or not read, so that tensors are arbitrary."""

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before = SKIPPED.data
        SKIPPED.data = True

    def __exit__(self, *_: object) -> None:
        SKIPPED.data = self._before


# ---- the rest -----------------------------------------------------------------------------------------------------------------------


@contextmanager
def mkdtemp() -> Iterator[str]:
    """A directory that exists for the length of the `with` block."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as path:
        yield path


def normalize_storage_type(storage_type: Any) -> Any:
    return getattr(_storage, storage_type.__name__)


def storage_to_tensor_type(storage: Any) -> Any:
    """The old tensor type for a storage: `FloatTensor` for one of float32."""
    from ._legacy import TENSOR_TYPES

    return TENSOR_TYPES[storage._pickle_storage_type().replace("Storage", "Tensor")]


def check_module_version_greater_or_equal(module: Any, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True) -> bool:
    """Whether a module is at least of a version."""
    try:
        fields = module.__version__.split(".")
        version = tuple(type(field)(fields[position]) for position, field in enumerate(req_version_tuple))
        return bool(version >= req_version_tuple)
    except Exception as error:
        message = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and cannot be compared with tuple "
            f"{req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from error
        warnings.warn(message + ", but continuing assuming that requirement is met", stacklevel=2)
        return True
