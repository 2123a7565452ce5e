"""The memory that a tensor and its views lie in, as an object.

Tensors keep no storage: it is made anew of the array that owns their memory whenever it is asked for, and two of them are the same if that
memory is.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ._device import CPU, resolve
from ._device import device as Device
from ._dtype import PUBLIC, as_dtype, dtype
from ._tensor import wrap
from .ops.memory import data_address

if TYPE_CHECKING:
    from .storage import TypedStorage

Bytes = np.ndarray[Any, Any]


def bytes_of(owner: Any) -> Bytes:
    """The bytes that an array spans, those in its gaps included."""
    if owner.flags.forc:
        return owner.reshape(-1, order="A").view(np.uint8) if owner.size else np.empty(0, np.uint8)
    low, high = np.lib.array_utils.byte_bounds(owner)
    if low != data_address(owner):  # it steps backwards
        return np.ascontiguousarray(owner).reshape(-1).view(np.uint8)
    first = owner[(slice(0, 1),) * owner.ndim].view(np.uint8)
    return np.lib.stride_tricks.as_strided(first.reshape(-1), (high - low,), (1,))


def elements(storage: UntypedStorage | TypedStorage, kind: dtype | None = None) -> Any:
    """The whole of a storage as an array of one dimension, in the same memory."""
    kind = kind or getattr(storage, "dtype", None) or PUBLIC["uint8"]
    untyped = storage.untyped_bytes()
    if untyped.__class__ is not np.ndarray:
        from ._meta import empty

        return empty((untyped // kind.itemsize,), kind.numpy)
    return untyped[: untyped.size // kind.itemsize * kind.itemsize].view(kind.numpy)


class FileMemory(mmap.mmap):
    """The bytes of a file, and its name if what is written to them is written to the file."""

    filename: str | None = None


class StorageBase:
    """What storages of bytes are instances of."""


class UntypedStorage(StorageBase):
    """The bytes that a tensor and its views lie in."""

    is_cuda = is_hpu = False
    is_sparse = is_sparse_csr = False

    def __init__(self, *args: Any, device: Any = None) -> None:
        kind = CPU if device is None else resolve(device)
        if len(args) > 1:
            raise TypeError(f"UntypedStorage() received an invalid combination of arguments - got {len(args)}, expected (int size)")
        source: Any = args[0] if args else 0
        if isinstance(source, bool) or not isinstance(source, int | np.integer | Sequence | np.ndarray):
            raise TypeError(f"UntypedStorage() received an invalid combination of arguments - got ({type(source).__name__}), expected int")
        if isinstance(source, int | np.integer) and source < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {source}: [{source}]")
        self._bytes: Any
        if isinstance(source, Sequence):
            self._bytes = np.array([_byte(item) for item in source], np.uint8)
        elif isinstance(source, np.ndarray):
            self._bytes = bytes_of(source)
            self._root = source  # the very array: it names the storage where its memory is empty
        else:
            self._bytes = int(source) if kind.type == "meta" else np.empty(int(source), np.uint8)
        self.device: Device = kind

    def untyped_bytes(self) -> Any:
        return self._bytes

    @property
    def filename(self) -> str | None:
        """The file that the memory is shared with."""
        base = self._bytes
        while isinstance(base, np.ndarray):
            base = base.base
        return getattr(getattr(base, "obj", None), "filename", None)

    @property
    def _cdata(self) -> int:
        return self.data_ptr() or id(getattr(self, "_root", self._bytes))

    def data_ptr(self) -> int:
        return 0 if self.device.type == "meta" or not self._bytes.size else data_address(self._bytes)

    def nbytes(self) -> int:
        return self._bytes if self.device.type == "meta" else int(self._bytes.size)

    size = nbytes
    __len__ = nbytes

    def element_size(self) -> int:
        return 1

    def get_device(self) -> int:
        return -1 if self.device.index is None else self.device.index

    def _array(self) -> Bytes:
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        return self._bytes  # type: ignore[no-any-return]

    def __getitem__(self, index: Any) -> Any:
        data = self._array()
        if isinstance(index, slice):
            start, stop, step = index.indices(data.size)
            if step != 1:
                raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
            return of_bytes(data[start:stop])
        return int(data[position_in(self, index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        data = self._array()
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")
            data[index] = _byte(value)
        else:
            data[position_in(self, index)] = _byte(value)

    def __iter__(self) -> Iterator[int]:
        return iter(self._array().tolist())

    def tolist(self) -> list[int]:
        return list(self)

    def fill_(self, value: Any) -> Self:
        self._array()[:] = _byte(value)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Self:
        other = elements(source.untyped())
        if other.size != self.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {other.size} bytes")
        if self.device.type == "cpu" and isinstance(other, np.ndarray):
            self._bytes[:] = other
        return self

    def clone(self) -> UntypedStorage:
        return UntypedStorage(self.nbytes(), device=self.device).copy_(self)

    def new(self) -> UntypedStorage:
        return UntypedStorage(device=self.device)

    def cpu(self) -> UntypedStorage:
        return self.to(device="cpu")

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        from ._device import require_usable

        place = resolve(device)
        require_usable(place)
        return self if place.type == self.device.type else UntypedStorage(self.nbytes(), device=place).copy_(self)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        return self.to(device="cuda" if device is None else f"cuda:{device}")

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        if dtype is None:
            return "torch.storage.UntypedStorage"
        raise RuntimeError(f"Cannot cast storage to {dtype}\n  fix: storage.float(), storage.long(), ...")

    def resizable(self) -> bool:
        return True

    def resize_(self, size: int) -> Self:
        """Give the storage another size. A tensor on it keeps the memory it has."""
        if size < 0:
            raise RuntimeError(f"Trying to resize storage to a negative size: {size}")
        if self.device.type == "meta":
            self._bytes = int(size)
        elif size != self._bytes.size:
            grown = np.empty(int(size), np.uint8)
            kept = min(int(size), self._bytes.size)
            grown[:kept] = self._bytes[:kept]
            self._bytes = self._root = grown
        return self

    def untyped(self) -> UntypedStorage:
        return self

    def byteswap(self, dtype: Any) -> None:
        """Turn the bytes of every number round."""
        width = as_dtype(dtype).itemsize // (2 if as_dtype(dtype).is_complex else 1)
        data = self._array()
        rows = data[: data.size // width * width].reshape(-1, width)
        rows[:] = rows[:, ::-1].copy()

    def is_shared(self) -> bool:
        from ._sharing import memory_of

        return memory_of(self._bytes) is not None

    def share_memory_(self) -> Self:
        from ._sharing import share

        held = wrap(self._array())
        share([held])
        self._bytes = self._root = held._data
        return self

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def pin_memory(self, device: Any = None) -> Any:
        return wrap(self._array()).pin_memory()

    def _to(self, kind: Any) -> TypedStorage:
        from .storage import TypedStorage

        return TypedStorage(wrap_storage=converted(self, kind), dtype=as_dtype(kind), _internal=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._cdata == other._cdata

    def __hash__(self) -> int:
        return hash(self._cdata)

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        known = memo.setdefault("torch", {})
        if self._cdata not in known:
            known[self._cdata] = self.clone()
        return known[self._cdata]  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_from_bytes, (saved(self),)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def __repr__(self) -> str:
        return shown(self, f"device={self.device}", () if self.device.type == "meta" else self.tolist())

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, dtype: Any = None
    ) -> UntypedStorage:
        """A copy of the bytes of another object, each number turned round if they are in another order."""
        kind = PUBLIC["uint8"] if dtype is None else as_dtype(dtype)
        width = kind.itemsize
        if byte_order is None and width > 1:
            raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
        if byte_order not in (None, "native", "little", "big"):
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        size = memoryview(buffer).nbytes
        if not 0 <= offset <= size:
            raise ValueError(f"offset must be non-negative and no greater than buffer length ({size}), but got {offset}")
        if count < 0:
            if (size - offset) % width:
                raise ValueError(f"buffer size ({size}) must be a multiple of element size ({width})")
            count = (size - offset) // width
        if offset + count * width > size:
            raise ValueError(f"buffer has only {size - offset} elements after offset {offset}, but specified a size of {count}")
        content = np.frombuffer(memoryview(buffer).cast("B"), np.uint8, count * width, offset).copy()
        made = of_bytes(content != 0 if kind.name == "bool" else content)
        if byte_order in ("little", "big") and byte_order != sys.byteorder:
            made.byteswap(kind)
        return made

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file, mapped into memory; what is written to them is written to the file if it is shared."""
        path = Path(filename)
        if not shared and not path.exists():
            raise RuntimeError(f"unable to open file <{path}> in read-only mode: No such file or directory (2)")
        with path.open("rb" if not shared else "r+b" if path.exists() else "w+b") as file:
            size = os.fstat(file.fileno()).st_size
            if size < nbytes:
                if not shared:
                    raise RuntimeError(f"file <{path}> size <{size}> is smaller than the required mapping size <{nbytes}>")
                file.truncate(nbytes)
            if not nbytes:
                made = cls(0)
            else:
                access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
                memory = FileMemory(file.fileno(), nbytes, access=access)
                memory.filename = str(path) if shared else None
                made = of_bytes(np.frombuffer(memory, np.uint8))
        return made


POSITIONS = int | np.integer


def position_in(storage: Any, index: Any) -> int:
    if isinstance(index, bool) or not isinstance(index, POSITIONS):
        raise TypeError(f"can't index a torch.{type(storage).__name__} with {type(index).__name__}")
    size = storage.size()
    if not -size <= index < size:
        raise IndexError(f"index {index} out of range for storage of size {size}")
    return int(index)


def _byte(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, POSITIONS):
        raise TypeError(f"can only set storage content with a int, but got {type(value).__name__} instead")
    return int(value) & 255


def of_bytes(array: Any) -> UntypedStorage:
    return UntypedStorage(array)


def owned(array: Any) -> Any:
    return np.array(array, order="C", copy=True)


def converted(storage: Any, kind: Any) -> UntypedStorage:
    """The bytes of the same numbers in another dtype."""
    return of_bytes(owned(wrap(elements(storage)).to(kind)._data))


def shown(storage: Any, facts: str, values: Any) -> str:
    rows = "\n ".join(map(str, values))
    kind = type(storage).__name__
    return f"{'...' if storage.device.type == 'meta' else ' ' + rows}\n[torch.storage.{kind}({facts}) of size {len(storage)}]"


def saved(storage: Any) -> bytes:
    import io

    from ._serialization import save

    buffer = io.BytesIO()
    save(storage, buffer, _use_new_zipfile_serialization=False)
    return buffer.getvalue()


def _load_from_bytes(b: bytes) -> Any:
    import io

    from ._serialization import load

    return load(io.BytesIO(b), weights_only=False)
