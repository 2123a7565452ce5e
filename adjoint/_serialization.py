"""`save` and `load`: PyTorch's `.pt` files, read and written without PyTorch, and without running anything that is in them unless asked.

A file is a zip archive of uncompressed records: `data.pkl` holds the structure, `data/0`, `data/1`, ... the bytes of the storages.
"""

from __future__ import annotations

import math
import os
import struct
import sys
import zipfile
import zlib
from pathlib import Path
from pickle import UnpicklingError
from typing import IO, Any, TypeAlias

import numpy as np

from ._archive import replacing, write_archive
from ._copying import _INTERNAL
from ._device import device, require_usable, resolve
from ._dtype import PUBLIC, dtype
from ._pickle import NO_HOOKS, NotPlainError, Spelled, Writer, integer, named, text
from ._size import Size
from ._tensor import Parameter, Tensor, wrap
from ._unpickle import PLAIN, Named, ObjectReader, Reader

File: TypeAlias = "str | os.PathLike[str] | IO[bytes]"
Bytes = np.ndarray[Any, Any]

_LOCAL_HEADER = struct.Struct("<26xHH")  # the lengths of the name and of the extra field, in front of the bytes of a record
_MAX_NDIM = 64  # NumPy's limit
# The types of storages that PyTorch has names for; the others lie in an untyped one.
_STORAGES = {f"{kind.scalar_name}Storage": kind for kind in PUBLIC.values() if kind.name not in ("uint16", "uint32", "uint64")}

_STORAGE_NAMES = {kind: named("torch", name) for name, kind in _STORAGES.items()}
_UNTYPED = named("torch.storage", "UntypedStorage")
_STORAGE, _ON_CPU = b"(" + text("storage"), text("cpu")
_REBUILD, _REBUILD_UNTYPED = named("torch._utils", "_rebuild_tensor_v2"), named("torch._utils", "_rebuild_tensor_v3")

# ---- writing ------------------------------------------------------------------------------------------------------


class _Storages:
    """The memory that the saved tensors lie in: each piece once, however many tensors share it."""

    def __init__(self) -> None:
        self.records: list[Bytes] = []
        self._numbers: dict[tuple[int, str], int] = {}

    def describe(self, tensor: Tensor) -> tuple[Spelled, tuple[Any, ...]]:
        """The function of PyTorch that rebuilds the tensor, and its arguments."""
        data, kind = tensor._data, tensor.dtype
        if not isinstance(data, np.ndarray):
            raise NotImplementedError(f"save: a tensor on the {tensor.device.type} device has no elements to save")
        owner, offset, strides = _memory(data)
        number = self._numbers.setdefault((id(owner), kind.name), len(self.records))
        if number == len(self.records):
            self.records.append(owner)
        name = _STORAGE_NAMES.get(kind)
        size = owner.nbytes if name is None else owner.nbytes // kind.itemsize
        # The storage by what PyTorch calls a persistent id: ("storage", its type, its name in the archive, its device, its size).
        storage = Spelled(_STORAGE + (name or _UNTYPED) + text(str(number)) + _ON_CPU + integer(size) + b"tQ")
        requires_grad = tensor.requires_grad and not isinstance(tensor, Parameter)  # a parameter says so itself
        arguments = (storage, offset, data.shape, strides, requires_grad, NO_HOOKS)
        return (_REBUILD, arguments) if name is not None else (_REBUILD_UNTYPED, (*arguments, kind))


def _memory(data: Bytes) -> tuple[Bytes, int, tuple[int, ...]]:
    """The memory that an array is a view of, and where in it the array lies: offset and strides in elements.

    An array that PyTorch cannot describe so (steps backwards, memory with gaps) is copied.
    """
    owner, size = data, data.itemsize
    if data.base is None and data.flags.c_contiguous and data.size:  # the usual case
        return data, 0, tuple([step // size for step in data.strides])
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    offset = data.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    describable = owner.flags.forc and offset >= 0 and not offset % size and all(step >= 0 and not step % size for step in data.strides)
    if not describable or not data.size:
        data = owner = np.array(data, order="C")
        offset = 0
    return owner, offset // size, tuple(step // size for step in data.strides)


def save(
    obj: Any, f: File, pickle_module: Any = None, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True
) -> None:
    """Write tensors and plain Python data (dicts, lists, numbers, strings, ...) to a file that PyTorch can read too.

    A file with that name is replaced only when the new one is complete. Subclasses of tuple, list and dict are written as what they
    are made of. Other objects, such as whole modules, are pickled as Python does it; only `load(..., weights_only=False)` reads those,
    so rather save `model.state_dict()`.
    """
    if not isinstance(f, str | os.PathLike):
        if not hasattr(f, "write"):
            raise AttributeError(f"expected 'f' to be string, path, or a file-like object with a 'write' attribute, not {type(f).__name__}")
        _write(obj, f, "archive")
        return
    path = Path(f)
    if not path.parent.is_dir():
        raise RuntimeError(f"Parent directory {path.parent} does not exist.")
    with replacing(path) as file:
        _write(obj, file, path.stem or "archive")


def _write(obj: Any, file: IO[bytes], name: str) -> None:
    storages = _Storages()
    try:
        pickle = Writer(storages.describe).dump(obj)  # before anything is written: it may refuse
    except NotPlainError:
        storages = _Storages()
        pickle = Writer(storages.describe, objects=True).dump(obj)
    described = [("data.pkl", pickle), (".format_version", b"1"), (".storage_alignment", b"64"), ("byteorder", sys.byteorder.encode())]
    contents: list[Any] = [owner.reshape(-1, order="A").view(np.uint8).data for owner in storages.records]
    records = [(f"data/{number}", content) for number, content in enumerate(contents)]
    last = [("version", b"3\n"), (".data/serialization_id", b"0" * 40)]
    write_archive(file, [(f"{name}/{record}", content) for record, content in (*described, *records, *last)])


# ---- reading ------------------------------------------------------------------------------------------------------


ALLOWED: list[Any] = []  # what `serialization.add_safe_globals` has added: files may name these classes and functions too


class _Archive:
    """The records of a file. Everything that the file says of itself is checked before it is used."""

    def __init__(self, file: IO[bytes], mapped: Path | None) -> None:
        self._file = file
        self._mapped = mapped
        self._size = file.seek(0, os.SEEK_END)
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error) as error:
            raise RuntimeError(self._refusal(error)) from None
        self._records: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            self._check(info)
            self._records[info.filename] = info
        if sum(info.file_size for info in self._records.values()) > self._size:
            raise RuntimeError("load: the records of the file overlap")
        pickles = [name for name in self._records if name.endswith("/data.pkl") and name.count("/") == 1]
        if len(pickles) != 1:
            raise RuntimeError(f"PytorchStreamReader failed locating file data.pkl: file not found ({len(pickles)} of them, 1 expected)")
        self._prefix = pickles[0].removesuffix("data.pkl")
        order = self.read("byteorder").tobytes() if self.has("byteorder") else b"little"
        if order != sys.byteorder.encode():
            raise RuntimeError(f"load: the file was written on a machine with another byte order ({order[:10]!r})")

    def _refusal(self, error: Exception) -> str:
        self._file.seek(0)
        start = self._file.read(20)
        if start.startswith(b"PK"):
            return f"PytorchStreamReader failed reading zip archive: the file is truncated or damaged ({error})"
        if start.startswith(b"\x80"):
            return (
                "load: this is not a zip file but a bare pickle (or PyTorch's format from before version 1.6), which adjoint does not read"
                "\n  fix: load it with PyTorch and save it again: torch.save(torch.load(path), path)"
            )
        return f"PytorchStreamReader failed reading zip archive: this is no file that torch.save or adjoint.save wrote ({error})"

    def _check(self, info: zipfile.ZipInfo) -> None:
        if info.filename in self._records:
            raise RuntimeError(f"load: the file has two records with the name {info.filename!r}")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise RuntimeError(f"load: the record {info.filename!r} is compressed, which those of a .pt file never are")
        if info.header_offset < 0 or info.header_offset + 30 + info.file_size > self._size:
            raise RuntimeError(f"load: the record {info.filename!r} reaches beyond the end of the file")

    def has(self, name: str) -> bool:
        return self._prefix + name in self._records

    def size(self, name: str) -> int:
        if not self.has(name):
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        return self._records[self._prefix + name].file_size

    def read(self, name: str) -> Bytes:
        """The bytes of a record, in memory of their own or mapped from the file."""
        size = self.size(name)
        info = self._records[self._prefix + name]
        if self._mapped is not None and size:
            return np.memmap(self._mapped, np.uint8, "c", self._start(info), (size,)).view(np.ndarray)
        content = np.empty(size, np.uint8)
        self._file.seek(self._start(info))
        count = 0
        while count < size and (more := self._file.readinto(content.data[count:])):  # type: ignore[attr-defined]
            count += more
        # As in PyTorch, only the structure is checked by its sum: that of 100 MB takes longer than reading them.
        if count != size or (not name.startswith("data/") and zlib.crc32(content.data) != info.CRC):
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: the file is truncated or damaged")
        return content

    def _start(self, info: zipfile.ZipInfo) -> int:
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\x03\x04"):
            raise RuntimeError(f"load: the record {info.filename!r} has a damaged header")
        start: int = info.header_offset + _LOCAL_HEADER.size + sum(_LOCAL_HEADER.unpack(header))
        if start + info.file_size > self._size:
            raise RuntimeError(f"load: the record {info.filename!r} reaches beyond the end of the file")
        return start


class _Storage:
    """The bytes of a storage, and the type of its elements where the file says it (None: each tensor says it)."""

    def __init__(self, content: Bytes, kind: dtype | None) -> None:
        self.content = content
        self.kind = kind


class _Loader:
    """The names that a pickle may use, bound to one archive."""

    def __init__(self, archive: _Archive) -> None:
        self._archive = archive
        self._contents: dict[str, Bytes] = {}
        self._names = {
            **PLAIN,
            **{f"torch.{name}": Named(None, kind) for name, kind in PUBLIC.items()},
            **{f"torch.{name}": Named(None, kind) for name, kind in _STORAGES.items()},
            "torch.storage.UntypedStorage": Named(None, None),
            "torch.Size": Named(Size),
            "torch.device": Named(device),
            "torch.Tensor": Named(None, Tensor),
            "torch.nn.parameter.Parameter": Named(None, Parameter),
            "torch._utils._rebuild_tensor_v2": Named(self._tensor, self._tensor),
            "torch._utils._rebuild_tensor_v3": Named(self._untyped_tensor, self._untyped_tensor),
            "torch._utils._rebuild_parameter": Named(_parameter),
            "torch._utils._rebuild_parameter_with_state": Named(_parameter),
            "torch._tensor._rebuild_from_type_v2": Named(_with_attributes),
        }

    def load(self, trusted: bool, allowed: list[Any]) -> Any:
        pickle = self._archive.read("data.pkl").tobytes()
        if trusted:
            return ObjectReader(pickle, self._names, self._storage).load()
        if allowed:
            named = {f"{one.__module__}.{one.__qualname__}": one for one in allowed}
            return ObjectReader(pickle, self._names, self._storage, named).load()
        return Reader(pickle, self._names, self._storage).load()

    def _storage(self, description: Any) -> _Storage:
        if not isinstance(description, tuple) or len(description) != 5 or description[0] != "storage":
            raise UnpicklingError("Weights only load failed. A storage is described in an unknown way")
        _, kind, key, _, count = description
        if not (kind is None or isinstance(kind, dtype)) or not isinstance(key, str) or type(count) is not int:
            raise UnpicklingError("Weights only load failed. A storage is described in an unknown way")
        size = count * (1 if kind is None else kind.itemsize)
        if self._archive.size(f"data/{key}") != size:
            raise RuntimeError(f"load: storage {key} should have {size} bytes but has {self._archive.size(f'data/{key}')} in the file")
        if key not in self._contents:
            self._contents[key] = self._archive.read(f"data/{key}")
        return _Storage(self._contents[key], kind)

    def _tensor(
        self, storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any = False, hooks: Any = None, metadata: Any = None
    ) -> Tensor:
        if not isinstance(storage, _Storage) or storage.kind is None:
            raise UnpicklingError("Weights only load failed. A tensor has no storage of a known type")
        return _view(storage.content, storage.kind, offset, size, stride, requires_grad, metadata)

    def _untyped_tensor(
        self, storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, kind: Any, metadata: Any = None
    ) -> Tensor:
        if not isinstance(storage, _Storage) or not isinstance(kind, dtype):
            raise UnpicklingError("Weights only load failed. A tensor has no storage of a known type")
        return _view(storage.content, kind, offset, size, stride, requires_grad, metadata)


def _view(content: Bytes, kind: dtype, offset: Any, size: Any, stride: Any, requires_grad: Any, metadata: Any) -> Tensor:
    """A tensor on the bytes of a storage, once it is certain that it lies inside."""
    shape, steps = tuple(size), tuple(stride)
    if len(shape) != len(steps) or len(shape) > _MAX_NDIM:
        raise RuntimeError(f"load: a tensor has {len(shape)} sizes and {len(steps)} strides")
    if any(type(number) is not int or not 0 <= number < 2**62 for number in (offset, *shape, *steps)):
        raise RuntimeError(f"load: a tensor has the impossible offset {offset}, size {shape[:8]} or stride {steps[:8]}")
    available = content.size // kind.itemsize
    last = offset + sum((length - 1) * step for length, step in zip(shape, steps, strict=True))
    if math.prod(shape) >= 2**62 or (last >= available if all(shape) else offset > available):
        raise RuntimeError(
            f"load: a tensor of size {shape[:8]} and stride {steps[:8]} at offset {offset} does not lie inside its storage of "
            f"{available} elements"
        )
    itemsize = kind.itemsize
    if all(shape):
        array = np.ndarray(shape, kind.numpy, content, offset * itemsize, tuple(step * itemsize for step in steps))
    else:
        array = np.empty(shape, kind.numpy)
    if isinstance(metadata, dict):
        array = np.conjugate(array) if metadata.get("conj") else array
        array = np.negative(array) if metadata.get("neg") else array
    tensor = wrap(array)
    return tensor.requires_grad_() if requires_grad else tensor


def _parameter(data: Any, requires_grad: Any, hooks: Any = None, state: Any = None) -> Any:
    if not isinstance(data, Tensor):
        raise UnpicklingError("Weights only load failed. A parameter is made of something that is no tensor")
    return _attach(Parameter(data, bool(requires_grad)), state)


def _with_attributes(rebuild: Any, kind: Any, arguments: Any, state: Any) -> Any:
    function = rebuild.build if isinstance(rebuild, Named) else rebuild
    if not callable(function) or kind not in (Tensor, Parameter):
        raise UnpicklingError("Weights only load failed. A tensor is of a class that is not known")
    return _attach(function(*arguments), state)


def _attach(tensor: Any, state: Any) -> Any:
    """The user's own attributes of a tensor, but none that would hide what a Tensor is."""
    if isinstance(state, dict) and isinstance(tensor, Tensor):
        own = {name: value for name, value in state.items() if type(name) is str and name not in _INTERNAL and not hasattr(Tensor, name)}
        tensor.__dict__.update(own)
    return tensor


def load(
    f: File, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None, mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read a file that `save` or PyTorch's `torch.save` wrote: tensors and plain Python data.

    No code out of the file runs, unless `weights_only=False` says that it is trusted: then it may hold any object. All tensors come to
    the CPU; `map_location` may name it. `mmap=True` reads the elements when they are first used.
    """
    for place in map_location.values() if isinstance(map_location, dict) else (map_location,):
        if isinstance(place, str | device):
            require_usable(resolve(place))
    trusted = weights_only is not None and not weights_only
    if isinstance(f, str | os.PathLike):
        path = Path(f)
        with path.open("rb") as file:
            return _Loader(_Archive(file, path if mmap else None)).load(trusted, ALLOWED)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    if not hasattr(f, "readinto") or not hasattr(f, "seek"):
        raise AttributeError(
            f"'{type(f).__name__}' object has no attribute 'seek'. You can only torch.load from a file that is seekable. Please pre-load "
            "the data into a buffer like io.BytesIO and try to load from it instead."
        )
    return _Loader(_Archive(f, None)).load(trusted, ALLOWED)
