"""PyTorch's old constructors: `Tensor(2, 3)`, `Tensor([1, 2])`, `FloatTensor(...)`, `x.new(...)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._creation import Array, size_of
from ._device import resolve
from ._dtype import as_dtype, default_numpy, dtype, from_numpy_dtype
from ._from_data import converted, copy_array, is_sequence
from ._size import Size
from ._tensor import Tensor, wrap
from .ops._registry import composite


def legacy_data(*args: Any, device: Any = None, dtype: np.dtype[Any] | None = None, size: Any = None) -> Array:
    """The array of `Tensor(*args)`: sizes make an uninitialised one, a sequence is converted, a tensor is shared."""
    if device is not None and resolve(device).type != "cpu":
        raise RuntimeError(
            f"legacy constructor expects device type: cpu but device type: {resolve(device).type} was passed; "
            "use adjoint.tensor(data, device=...)"
        )
    numpy_dtype = default_numpy() if dtype is None else dtype
    if size is not None:
        args = (Size(size),)
    if len(args) == 1 and not (args[0].__class__ is int or isinstance(args[0], Size)):
        return _of_data(args[0], numpy_dtype, any_dtype=dtype is None)
    return np.empty(size_of("new", args), numpy_dtype)


def _of_data(data: Any, dtype: np.dtype[Any], any_dtype: bool) -> Array:
    if isinstance(data, Tensor):
        if not any_dtype and data._data.dtype != dtype:
            found = from_numpy_dtype(data._data.dtype)
            raise TypeError(f"expected a tensor of {as_dtype(dtype)} (got {found}); write x.to(adjoint.{as_dtype(dtype).name})")
        return data._data
    if isinstance(data, np.integer):
        return np.empty(int(data), dtype)
    if isinstance(data, str | bytes):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'; pass numbers")
    if not is_sequence(data):
        if not hasattr(data, "__array__"):
            kind = type(data).__name__
            raise TypeError(f"new(): data must be a sequence (got {kind}); write adjoint.tensor({data}) for a 0-d tensor")
    return converted(copy_array(data, None), dtype)


class tensortype(type):
    """The type of `FloatTensor` and its kin: they make tensors of one dtype, and `isinstance` asks for it."""

    dtype: dtype

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        return wrap(legacy_data(*args, device=device, dtype=cls.dtype.numpy))

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
    made = tensortype(f"{scalar_name}Tensor", (), {"dtype": of, "__doc__": doc, "__module__": "torch"})
    return made


def _all_types() -> dict[str, tensortype]:
    from ._dtype import PUBLIC

    return {f"{name}Tensor": _make_type(name, PUBLIC[of]) for name, of in _SCALAR_NAMES.items()}


TENSOR_TYPES = _all_types()
"""`FloatTensor`, `LongTensor`, ... by name."""


@composite("new", function=False)
def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of this one's dtype from sizes or data. Old: prefer `new_empty` and `new_tensor`."""
    return wrap(legacy_data(*args, device=device, dtype=self._data.dtype))
