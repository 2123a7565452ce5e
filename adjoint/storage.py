"""PyTorch's `torch.storage`: a `TypedStorage` is the bytes of a storage counted in elements of a dtype."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import wraps
from typing import Any, ClassVar, Self

import numpy as np

from ._device import CPU, resolve
from ._dtype import PUBLIC, as_dtype, dtype, get_default_dtype
from ._tensor import wrap
from ._untyped_storage import (
    POSITIONS,
    StorageBase,
    UntypedStorage,
    _load_from_bytes,
    converted,
    elements,
    of_bytes,
    owned,
    position_in,
    saved,
    shown,
)  # fmt: skip

__all__ = ["TypedStorage", "UntypedStorage"]

_StorageBase = StorageBase  # PyTorch's name

_NOTICE = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This should only "
    "matter to you if you are using storages directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
    "tensor.storage()"
)
_always_warn_typed_storage_removal = False
_warned = False


def _get_always_warn_typed_storage_removal() -> bool:
    return _always_warn_typed_storage_removal


def _set_always_warn_typed_storage_removal(always_warn: bool) -> None:
    global _always_warn_typed_storage_removal
    _always_warn_typed_storage_removal = always_warn


def _reset_warn_typed_storage_removal() -> None:
    global _warned
    _warned = False


def _warn_typed_storage_removal(stacklevel: int = 2) -> None:
    global _warned
    if _always_warn_typed_storage_removal or not _warned:
        _warned = True
        warnings.warn(_NOTICE, UserWarning, stacklevel=stacklevel + 1)


_USAGE = (
    "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
    " * (*, torch.device device, torch.dtype dtype)\n * (int size, *, torch.device device, torch.dtype dtype)\n"
    " * (Sequence data, *, torch.device device, torch.dtype dtype)\n * (*, UntypedStorage wrap_storage, torch.dtype dtype)"
)


class TypedStorage:
    """The same memory counted in elements."""

    is_sparse = False
    is_cuda = is_hpu = False
    dtype: Any
    _untyped_storage: UntypedStorage

    def __init__(self, *args: Any, device: Any = None, dtype: Any = None, wrap_storage: Any = None, _internal: bool = False) -> None:
        if not _internal:
            _warn_typed_storage_removal()
        if wrap_storage is not None:
            self._check_wrapped(args, device, dtype, wrap_storage)
            self.dtype, self._untyped_storage = dtype, wrap_storage
            return
        self.dtype = get_default_dtype() if dtype is None else as_dtype(dtype)
        if len(args) > 1:
            raise RuntimeError(_USAGE + "\nToo many positional arguments")
        source = args[0] if args else 0
        if isinstance(source, POSITIONS):
            self._untyped_storage = UntypedStorage(int(source) * self.dtype.itemsize, device=device)
        elif isinstance(source, Sequence):
            from ._from_data import tensor

            self._untyped_storage = of_bytes(owned(tensor(source, dtype=self.dtype)._data)).to(device=device or CPU)
        else:
            raise TypeError(f"{_USAGE}\nArgument type not recognized: {type(source)}")

    def _check_wrapped(self, args: Any, device: Any, kind: Any, wrapped: Any) -> None:
        if args:
            raise RuntimeError(_USAGE + "\nNo positional arguments should be given when using 'wrap_storage'")
        if kind is None:
            raise RuntimeError(_USAGE + "\nArgument 'dtype' must be specified")
        if not isinstance(kind, dtype):
            raise TypeError(f"{_USAGE}\nArgument 'dtype' must be torch.dtype, not {type(kind)}")
        if device is not None:
            raise RuntimeError(_USAGE + "\nArgument 'device' should not be specified when 'wrap_storage' is given")
        if not isinstance(wrapped, UntypedStorage):
            raise TypeError(f"{_USAGE}\nArgument 'wrap_storage' must be UntypedStorage, but got {type(wrapped)}")

    def _like(self, untyped: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=untyped, dtype=self.dtype, _internal=True)

    def untyped_bytes(self) -> Any:
        return self._untyped_storage.untyped_bytes()

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    @property
    def device(self) -> Any:
        return self._untyped_storage.device

    @property
    def filename(self) -> str | None:
        return self._untyped_storage.filename

    def untyped(self) -> UntypedStorage:
        return self._untyped_storage

    def _data_ptr(self) -> int:
        return self._untyped_storage.data_ptr()

    def _nbytes(self) -> int:
        return self._untyped_storage.nbytes()

    def _size(self) -> int:
        return self._nbytes() // int(self.dtype.itemsize)

    def _element_size(self) -> int:
        return int(self.dtype.itemsize)

    def _pickle_storage_type(self) -> str:
        if self.dtype not in STORAGE_NAMES:
            raise KeyError(f"dtype {self.dtype} is not recognized")
        return STORAGE_NAMES[self.dtype]

    data_ptr, nbytes, size, element_size, __len__ = _data_ptr, _nbytes, _size, _element_size, _size
    pickle_storage_type = _pickle_storage_type

    def get_device(self) -> int:
        return self._untyped_storage.get_device()

    def _array(self) -> Any:
        self._untyped_storage._array()
        return elements(self)

    def __getitem__(self, index: Any) -> Any:
        data = self._array()
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        return wrap(data)[position_in(self, index)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, int | slice):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if isinstance(value, UntypedStorage | TypedStorage):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        wrap(self._array())[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(wrap(self._array()).tolist())

    def tolist(self) -> list[Any]:
        return list(self)

    def fill_(self, value: Any) -> Self:
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Self:
        self._untyped_storage.copy_(source, non_blocking)
        return self

    def clone(self) -> TypedStorage:
        return self._like(self._untyped_storage.clone())

    def new(self) -> TypedStorage:
        return self._like(self._untyped_storage.new())

    def cpu(self) -> TypedStorage:
        return self._like(self._untyped_storage.cpu())

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        return self._like(self._untyped_storage.cuda(device))

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        return self._like(self._untyped_storage.to(device=device))

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        if dtype is None:
            name = STORAGE_NAMES.get(self.dtype)
            return f"torch.{name}" if name else "torch.storage.TypedStorage"
        return self._untyped_storage.type(dtype)

    def resizable(self) -> bool:
        return self._untyped_storage.resizable()

    def resize_(self, size: int) -> None:
        self._untyped_storage.resize_(size * self._element_size())

    def is_shared(self) -> bool:
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> Self:
        self._untyped_storage.share_memory_()
        return self

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def pin_memory(self, device: Any = None) -> Any:
        return self._untyped_storage.pin_memory()

    def _to(self, kind: Any) -> TypedStorage:
        return TypedStorage(wrap_storage=converted(self, kind), dtype=as_dtype(kind), _internal=True)

    @classmethod
    def from_buffer(cls, *args: Any, dtype: Any = None, device: Any = None, **kwargs: Any) -> TypedStorage:
        if cls is not TypedStorage and (dtype is not None or len(args) == 5 or device is not None):
            raise RuntimeError(
                f"from_buffer: '{'device' if device is not None else 'dtype'}' can only be specified in UntypedStorage.from_buffer and "
                "TypedStorage.from_buffer"
            )
        if device is not None and resolve(device).type != "cpu":
            raise RuntimeError(f"TypedStorage.from_buffer: Not available for device {resolve(device).type}")
        kind = getattr(cls, "dtype", None) or (get_default_dtype() if dtype is None else dtype)
        return TypedStorage(wrap_storage=UntypedStorage.from_buffer(*args, **{**kwargs, "dtype": kind}), dtype=kind, _internal=True)

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> Any:
        if cls is TypedStorage:
            raise RuntimeError("from_file can only be called on derived classes")
        kind = cls.dtype
        return TypedStorage(wrap_storage=UntypedStorage.from_file(filename, shared, size * kind.itemsize), dtype=kind, _internal=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self.dtype == other.dtype and self._cdata == other._cdata

    def __hash__(self) -> int:
        return hash(self._cdata)

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return self._like(self._untyped_storage.__deepcopy__(memo))

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_from_bytes, (saved(self),)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._nbytes()

    def __repr__(self) -> str:
        return shown(self, f"dtype={self.dtype}, device={self.device}", () if self.device.type == "meta" else self.tolist())


def _converting(name: str) -> Any:
    def convert(self: Any) -> TypedStorage:
        return self._to(PUBLIC[name])  # type: ignore[no-any-return]

    return convert


for _method, _kind in {
    "double": "float64", "float": "float32", "half": "float16", "long": "int64", "int": "int32", "short": "int16", "char": "int8",
    "byte": "uint8", "bool": "bool", "bfloat16": "bfloat16", "complex_double": "complex128", "complex_float": "complex64",
}.items():  # fmt: skip
    for _class in (UntypedStorage, TypedStorage):
        setattr(_class, _method, _converting(_kind))


def _warning(function: Any) -> Any:
    @wraps(function)
    def warned(self: Any, *args: Any, **kwargs: Any) -> Any:
        _warn_typed_storage_removal()
        return function(self, *args, **kwargs)

    return warned


for _name, _member in list(vars(TypedStorage).items()):
    if callable(_member) and (not _name.startswith("_") or _name in ("__getitem__", "__setitem__", "__len__", "__iter__", "__repr__")):
        if _name not in ("untyped_bytes", "dtype"):
            setattr(TypedStorage, _name, _warning(_member))

# ---- the older classes, one for each dtype ----------------------------------------------------------------------------------------------


class _LegacyStorage(TypedStorage):
    """A storage of one dtype. Making one gives a `TypedStorage`."""

    _dtype: ClassVar[Any]

    def __new__(cls, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None) -> Any:
        _warn_typed_storage_removal()
        usage = (
            f"{cls}.__new__ received an invalid combination of arguments. Expected one of:\n"
            " * no arguments\n * (int size)\n * (Sequence data)\n * (*, UntypedStorage wrap_storage)"
        )
        if cls is _LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        for name, value in (("device", device), ("dtype", dtype)):
            if value is not None:
                raise RuntimeError(f"{usage}\nKeyword argument '{name}' cannot be specified")
        if wrap_storage is None:
            if len(args) > 1:
                raise RuntimeError(usage + "\nToo many positional arguments")
            if args and not isinstance(args[0], int | np.integer | Sequence):
                raise TypeError(f"{usage}\nArgument type not recognized: {type(args[0])}")
            return TypedStorage(*args, dtype=cls.dtype, _internal=True)
        if args:
            raise RuntimeError(usage + "\nNo positional arguments should be given when using 'wrap_storage'")
        if not isinstance(wrap_storage, UntypedStorage):
            raise TypeError(f"{usage}\nArgument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
        if wrap_storage.device.type != "cpu":
            raise RuntimeError(f"{usage}\nDevice of 'wrap_storage' must be cpu, but got {wrap_storage.device.type}")
        return TypedStorage(wrap_storage=wrap_storage, dtype=cls.dtype, _internal=True)


class _Meta(type):
    """`isinstance(storage, FloatStorage)` asks for the dtype."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is TypedStorage and instance.dtype is cls.dtype and instance.device.type == "cpu"  # type: ignore[attr-defined]


# PyTorch has no storages of the other types: what lies in them is saved as bytes.
STORAGE_NAMES = {kind: f"{kind.scalar_name}Storage" for kind in PUBLIC.values() if kind.name not in ("uint16", "uint32", "uint64")}
CLASSES = {
    name: _Meta(name, (_LegacyStorage,), {"dtype": kind, "_dtype": kind, "__module__": "adjoint"}) for kind, name in STORAGE_NAMES.items()
}
globals().update(CLASSES)
Storage = CLASSES["FloatStorage"]


def _dtype_to_storage_type_map() -> dict[Any, str]:
    return dict(STORAGE_NAMES)
