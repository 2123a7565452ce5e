"""PyTorch's old constructors: `Tensor(2, 3)`, `Tensor([1, 2])`, `FloatTensor(...)`, `x.new(...)`."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from . import _unset
from ._creation import Array, size_of
from ._device import resolve
from ._dtype import PUBLIC, as_dtype, default_numpy, dtype
from ._from_data import copy_array, is_sequence
from ._size import Size
from ._tensor import Tensor, wrap
from .ops._registry import composite

T = TypeVar("T", bound=Tensor)


def construct(cls: type[T], *args: Any, device: Any = None, **unknown: Any) -> T:
    """`Tensor(*args)`: sizes make an uninitialised tensor, a sequence is converted, a tensor is shared with its history."""
    if unknown:
        raise TypeError(
            f"new() received an invalid combination of arguments - got {', '.join(unknown)}; use adjoint.tensor(data, dtype=...)"
        )
    if len(args) == 1 and isinstance(args[0], Tensor):
        if device is not None:
            raise RuntimeError(
                "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not supported. "
                "Use torch.tensor(...) or torch.as_tensor(...) instead."
            )
        return args[0].as_subclass(cls)  # type: ignore[return-value]
    tensor = object.__new__(cls)
    tensor._data = legacy_array(args, default_numpy(), device)
    tensor._fn = None
    tensor._vc = None
    return tensor


def legacy_array(args: tuple[Any, ...], dtype: np.dtype[Any], device: Any) -> Array:
    if device is not None and resolve(device).type != "cpu":
        raise RuntimeError(
            f"legacy constructor expects device type: cpu but device type: {resolve(device).type} was passed; "
            "use adjoint.tensor(data, device=...)"
        )
    if not args:
        return np.empty(0, dtype)
    if len(args) == 1 and not (args[0].__class__ is int or isinstance(args[0], Size)):
        return _of_data(args[0], dtype)
    return _unset.empty(size_of("new", args), dtype)


def _of_data(data: Any, dtype: np.dtype[Any]) -> Array:
    if isinstance(data, Tensor):
        if data._data.dtype != dtype:
            found, wanted = data.dtype, as_dtype(dtype)
            raise TypeError(f"expected a tensor of {wanted} (got one of {found}); write x.to(adjoint.{wanted.name})")
        return data._data
    if hasattr(data, "untyped_bytes"):  # a storage
        from ._untyped_storage import elements

        return elements(data, as_dtype(dtype))
    if isinstance(data, np.integer):
        return _unset.empty((int(data),), dtype)
    if isinstance(data, str | bytes):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'; pass numbers")
    if not is_sequence(data) and not hasattr(data, "__array__"):
        kind = type(data).__name__
        raise TypeError(f"new(): data must be a sequence (got {kind}); write adjoint.tensor({data}) for a 0-d tensor")
    return copy_array(data, dtype)


class tensortype(type):
    """The type of `FloatTensor` and its kin: they make tensors of one dtype, and `isinstance` asks for it."""

    dtype: dtype

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        if bases:
            raise TypeError(f"type 'torch.{bases[0].__name__}' is not an acceptable base type; derive from torch.Tensor")
        return super().__new__(mcs, name, bases, namespace)

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        return wrap(legacy_array(args, cls.dtype.numpy, device))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and not instance.is_meta and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"

    is_cuda = False


_SCALAR_NAMES = {
    "Bool": "bool", "Byte": "uint8", "Char": "int8", "Short": "int16", "Int": "int32", "Long": "int64",
    "Half": "float16", "BFloat16": "bfloat16", "Float": "float32", "Double": "float64",
    "ComplexFloat": "complex64", "ComplexDouble": "complex128",
}  # fmt: skip


def _make_type(scalar_name: str, of: dtype) -> tensortype:
    doc = f"Makes tensors of {of}: prefer `tensor(data, dtype={of.name})`."
    made: tensortype = tensortype(f"{scalar_name}Tensor", (), {"dtype": of, "__doc__": doc, "__module__": "torch"})
    return made


TENSOR_TYPES = {f"{name}Tensor": _make_type(name, PUBLIC[of]) for name, of in _SCALAR_NAMES.items()}
"""`FloatTensor`, `LongTensor`, ... by name."""


@composite("new", function=False)
def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of this one's dtype from sizes or data; of a sparse one, also from indices and values. Old: prefer `new_empty` and
    `new_tensor`."""
    if self.is_sparse:
        from .sparse import sparse_coo_tensor

        size = size_of("new", args) if args and not isinstance(args[0], Tensor) else (0,)
        given = args if args and isinstance(args[0], Tensor) else (np.empty((len(size), 0), np.int64), [], size)
        return sparse_coo_tensor(*given, dtype=self.dtype, device=device)
    return wrap(legacy_array(args, self._data.dtype, device))
