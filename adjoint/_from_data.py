"""Tensors from data: Python numbers and sequences, arrays, buffers, other tensors."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ._creation import Array, Device, check_options, finish, like_self, make_array, quietly, usual
from ._device import resolve
from ._dtype import (
    NARROW,
    as_dtype,
    as_numpy_dtype,
    default_complex_numpy,
    default_numpy,
    from_numpy_dtype,
    infer_numpy_dtype,
    promote_numpy,
)
from ._layer import levels, made_inside
from ._layout import strided
from ._quiet import nameless
from ._site import warn
from ._state import INFERENCE, get_mode
from ._tensor import Tensor, wrap
from .autograd.taken import mark_taken
from .autograd.views import mark_cut
from .ops._conversions import converted as conversion
from .ops._registry import composite

_INT64 = np.dtype(np.int64)
_BOOL = np.dtype(np.bool_)
_PYTHON_NUMBERS = {float, int, bool, complex}


def tensor(
    data: Any, *, dtype: Any = None, device: Device = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new tensor from a number, nested sequences of numbers, or an array. It is a copy and has no history.

    >>> import adjoint as ad
    >>> ad.tensor([[1, 2], [3, 4.5]])
    tensor([[1.0000, 2.0000],
            [3.0000, 4.5000]])
    """
    if isinstance(data, Tensor):
        _warn_copy("torch.tensor(sourceTensor)", data)
    array = copy_array(data, None if dtype is None else as_numpy_dtype(dtype))
    if usual(None, strided, device, pin_memory):
        made = finish(array, requires_grad)
    else:
        check_options(strided, pin_memory)
        made = finish(make_array(lambda: array, array.shape, array.dtype, device), requires_grad)
    source = data[0] if isinstance(data, (list, tuple)) and data else data
    if isinstance(source, Tensor):
        mark_cut(made, source, "rewrapped", "torch.tensor(...)")
    else:
        mark_taken(made, source)
    return made_inside(made) if levels() else made


def _warn_copy(call: str, source: Tensor) -> None:
    lost = " Neither leads gradients back to sourceTensor; use it as it is, or sourceTensor.clone(), if they shall flow."
    warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        f"sourceTensor.detach().clone().requires_grad_(True), rather than {call}.{lost if source.requires_grad else ''}",
    )


@composite(function=False)
def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Device = None, requires_grad: bool = False, layout: Any = strided,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor from data, with the dtype and device of this one."""
    if isinstance(data, Tensor):
        _warn_copy("tensor.new_tensor(sourceTensor)", data)
    check_options(layout, pin_memory)
    dtype, device = like_self(self, dtype, device)
    array = copy_array(data, as_numpy_dtype(dtype))
    return made_inside(finish(make_array(lambda: array, array.shape, array.dtype, device), requires_grad))


# ---- the elements -------------------------------------------------------------------------------------------------


def copy_array(data: Any, dtype: np.dtype[Any] | None) -> Array:
    """A new array with the elements of anything that `tensor` accepts."""
    if data.__class__ in _PYTHON_NUMBERS:
        return from_elements([data], (), dtype)
    if isinstance(data, Tensor):
        return converted(data._data, data._data.dtype if dtype is None else dtype)
    if isinstance(data, np.ndarray):
        check_array(data)
        return converted(data, data.dtype if dtype is None else dtype)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'; pass numbers")
    if not is_sequence(data):
        if hasattr(data, "__array__") and not isinstance(data, np.generic):
            return copy_array(np.asarray(data), dtype)
        return from_elements([data], (), dtype)
    if len(data) and isinstance(data[0], np.ndarray):
        warn(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a single "
            "numpy.ndarray with numpy.array() before converting to a tensor."
        )
    shape = shape_of(data)
    elements: list[Any] = []
    flatten(data, shape, 0, elements)
    return from_elements(elements, shape, dtype)


def converted(array: Array, dtype: np.dtype[Any]) -> Array:
    """A copy with another dtype, converted as silently as C does."""
    if array.dtype == dtype:
        return array.copy(order="K") if array.__class__ is np.ndarray else np.copy(array)
    return quietly(lambda: conversion(array, dtype) if dtype in NARROW else array.astype(dtype))


def is_sequence(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return True
    if data.__class__ in _PYTHON_NUMBERS or isinstance(data, (Tensor, np.generic, str, bytes, dict)):
        return False
    if isinstance(data, np.ndarray):
        return data.ndim > 0
    return hasattr(data, "__len__") and hasattr(data, "__getitem__")


def shape_of(data: Any) -> tuple[int, ...]:
    """The shape that the first elements promise."""
    shape = []
    while is_sequence(data):
        shape.append(len(data))
        if not shape[-1]:
            break
        data = data[0]
    if isinstance(data, str):
        raise ValueError("too many dimensions 'str': strings are not numbers; encode them first")
    return tuple(shape)


def flatten(data: Any, shape: tuple[int, ...], level: int, elements: list[Any]) -> None:
    """Append the elements in order, checking that every sequence has the length of the first at its level."""
    if not is_sequence(data):
        raise TypeError(f"not a sequence: found {type(data).__name__} where a sequence of length {shape[level]} belongs")
    if len(data) != shape[level]:
        raise ValueError(f"expected sequence of length {shape[level]} at dim {level} (got {len(data)})")
    if level == len(shape) - 1:
        elements.extend(data)
    else:
        for row in data:
            flatten(row, shape, level + 1, elements)


def from_elements(elements: list[Any], shape: tuple[int, ...], dtype: np.dtype[Any] | None) -> Array:
    kinds = set(map(type, elements))
    if not kinds <= _PYTHON_NUMBERS:
        element_dtype = reduce(promote_numpy, map(element_dtype_of, elements))
        elements = [as_number(element) for element in elements]
        dtype = element_dtype if dtype is None else dtype
        kinds = set(map(type, elements))
    if dtype is None:
        dtype = _dtype_of_kinds(kinds)
    if complex in kinds and dtype.kind not in "cb":
        raise TypeError(f"must be real number, not complex: the elements do not fit {from_numpy_dtype(dtype)}")
    array = _packed(elements, kinds, dtype)
    return array if len(shape) == 1 else array.reshape(shape)


def _dtype_of_kinds(kinds: set[type]) -> np.dtype[Any]:
    if complex in kinds:
        return default_complex_numpy()
    if float in kinds or not kinds:
        return default_numpy()
    return _INT64 if int in kinds else _BOOL


def element_dtype_of(element: Any) -> np.dtype[Any]:
    if isinstance(element, Tensor | np.ndarray):
        found: np.dtype[Any] = element._data.dtype if isinstance(element, Tensor) else element.dtype
        return found
    if isinstance(element, str | bytes):
        raise TypeError(f"new(): invalid data type '{type(element).__name__}'; pass numbers")
    if is_sequence(element):
        raise TypeError(f"'{type(element).__name__}' object cannot be interpreted as an integer: the nesting is uneven")
    try:
        return infer_numpy_dtype(element)
    except TypeError as error:
        if isinstance(element, np.generic):
            raise
        raise RuntimeError(str(error)) from None


def as_number(element: Any) -> Any:
    """The Python number that stands for an element."""
    if isinstance(element, Tensor | np.ndarray):
        if (element.numel() if isinstance(element, Tensor) else element.size) != 1:
            raise ValueError(
                "only one element tensors can be converted to Python scalars\n"
                "  fix: join tensors with adjoint.stack(tensors), which keeps their history too"
            )
        if isinstance(element, Tensor) and element.requires_grad:
            warn(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                "Consider using tensor.detach() first, or adjoint.stack(tensors), which keeps the history.",
            )
        return element.item()
    return element.item() if isinstance(element, np.generic) else element


_array = nameless(np.array)  # where a number is too large, NumPy would warn


def _packed(elements: list[Any], kinds: set[type], dtype: np.dtype[Any]) -> Array:
    """A flat array of Python numbers; integers that do not fit are refused."""
    if (dtype.kind in "fc" and dtype.itemsize > 1) or not kinds:
        return _array(elements, dtype)
    if dtype in NARROW:
        return conversion(np.array(elements, np.float32), dtype)
    if dtype.kind not in "iu":  # bool, and bfloat16 through float32
        return np.array(elements, None if dtype.kind == "b" else np.float32).astype(dtype)
    if float in kinds:
        limits = np.iinfo(dtype)
        if not all(limits.min <= element <= limits.max for element in elements):  # (NaN is not, either)
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
        return np.array([int(element) for element in elements], dtype)
    try:
        wide = np.array(elements, _INT64)
    except OverflowError:
        if dtype.kind == "u" and dtype.itemsize == 8 and 0 <= min(elements) and max(elements) < 2**64:
            return np.array(elements, dtype)
        raise ValueError("Overflow when unpacking long long: the integers do not fit 64 bits") from None
    if dtype.itemsize < 8 and wide.size:
        limits = np.iinfo(dtype)
        lowest = -limits.max if dtype.kind == "u" else limits.min
        if wide.min() < lowest or wide.max() > limits.max:
            worst = wide.max() if wide.max() > limits.max else wide.min()
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: {worst} does not fit")
    return wide if dtype is _INT64 else wide.astype(dtype)


# ---- sharing memory -----------------------------------------------------------------------------------------------


def check_array(array: Array) -> None:
    """Refuse what a tensor cannot hold."""
    from_numpy_dtype(array.dtype)
    for step in array.strides:
        if step < 0:
            raise ValueError(
                "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                "currently supported. (You can probably work around this by making a copy of your array  with array.copy().)"
            )
        if step % array.itemsize:
            raise ValueError(
                "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate "
                "the memory: array.copy()"
            )


def from_numpy(ndarray: Array) -> Tensor:
    """A tensor on the memory of an array: a change of one is seen in the other.

    >>> import adjoint as ad, numpy as np
    >>> array = np.zeros(2)
    >>> t = ad.from_numpy(array)
    >>> array[0] = 5
    >>> t
    tensor([5., 0.], dtype=torch.float64)
    """
    if ndarray.__class__ is np.ndarray and ndarray.base is None and ndarray.flags.carray and get_mode() < INFERENCE:
        from_numpy_dtype(ndarray.dtype)
        made = wrap(ndarray)
        made._resizable = False
        mark_taken(made, ndarray)
        return made
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray).__name__ if not isinstance(ndarray, np.generic) else f"numpy.{type(ndarray).__name__}"
        raise TypeError(f"expected np.ndarray (got {kind}); use adjoint.as_tensor(...) for anything else")
    made = finish(_shared(ndarray))
    made._resizable = False
    mark_taken(made, ndarray)
    return made


def _shared(array: Array) -> Array:
    check_array(array)
    if not array.flags.writeable:
        warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. Writing to this "
            "tensor will raise an error; copy the array to have one that can be written: adjoint.tensor(array).",
        )
    return np.asarray(array)  # a plain view of subclasses such as np.matrix


def as_tensor(data: Any, dtype: Any = None, device: Device = None) -> Tensor:
    """`data` as a tensor, without a copy (and with its history) where that is possible."""
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(dtype=dtype, device=device)
    shared = isinstance(data, np.ndarray) and (dtype is None or as_numpy_dtype(dtype) == data.dtype)
    array = _shared(data) if shared else copy_array(data, None if dtype is None else as_numpy_dtype(dtype))
    if not usual(None, strided, device, False):
        array = make_array(lambda: array, array.shape, array.dtype, device)
    made = finish(array)
    if shared:
        made._resizable = False
    mark_taken(made, data)
    return made_inside(made)


def asarray(
    obj: Any, *, dtype: Any = None, device: Device = None, copy: bool | None = None, requires_grad: bool | None = None,
) -> Tensor:
    """`obj` as a tensor: shared where possible, copied where asked. `copy=False` refuses what cannot be shared."""
    wanted = None if dtype is None else as_numpy_dtype(dtype)
    if isinstance(obj, Tensor):
        result = _asarray_of_tensor(obj, wanted, device, copy)
    else:
        result = _asarray_of_foreign(obj, wanted, device, copy)
    if requires_grad is None or requires_grad == result.requires_grad:
        return result
    return result.detach().requires_grad_(requires_grad)


def _asarray_of_tensor(obj: Tensor, wanted: np.dtype[Any] | None, device: Device, copy: bool | None) -> Tensor:
    if copy is False and wanted is not None and wanted != obj._data.dtype:
        raise ValueError(
            f"can't alias tensor with dtype '{obj.dtype.scalar_name}' into dtype '{as_dtype(wanted).scalar_name}'."
        )
    if copy or wanted is not None or device is not None:
        return obj.to(dtype=wanted, device=device, copy=bool(copy))
    return obj


def _asarray_of_foreign(obj: Any, wanted: np.dtype[Any] | None, device: Device, copy: bool | None) -> Tensor:
    if isinstance(obj, np.generic):
        if copy is False:
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray.")
        shared: Array | None = np.asarray(obj)
    elif isinstance(obj, np.ndarray):
        shared = _shared(obj) if not copy else obj
    elif hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        from ._interop import from_dlpack

        shared = from_dlpack(obj)._data
    elif isinstance(obj, bytes | bytearray | memoryview):
        shared = frombuffer(obj, dtype=default_numpy() if wanted is None else wanted)._data
    else:
        shared = None
    if shared is None or (wanted is not None and wanted != shared.dtype):
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor." if shared is None else
                             f"can't alias tensor with dtype '{as_dtype(shared.dtype).scalar_name}' into dtype "
                             f"'{as_dtype(wanted).scalar_name}'.")  # fmt: skip
        array = copy_array(obj if shared is None else shared, wanted)
    else:
        array = copy_array(shared, None) if copy else shared
    return made_inside(finish(make_array(lambda: array, array.shape, array.dtype, device)))


def from_file(
    filename: Any, shared: bool | None = None, size: int = 0, *, dtype: Any = None, layout: Any = None, device: Device = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of `size` elements on the memory of a file; what is written to it is written to the file if that is `shared`."""
    from ._untyped_storage import UntypedStorage, elements

    check_options(strided if layout is None else layout, pin_memory)
    if device is not None and resolve(device).type != "cpu":
        raise RuntimeError(f"from_file: the memory of a file is on the CPU, not on {device}; leave device= out")
    kind = as_dtype(default_numpy() if dtype is None else dtype)
    return finish(elements(UntypedStorage.from_file(filename, bool(shared), size * kind.itemsize), kind), requires_grad)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor on the memory of an object with a buffer, such as a `bytearray`."""
    numpy_dtype = as_numpy_dtype(dtype)
    try:
        length = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    size = numpy_dtype.itemsize
    if length <= 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1")
    if count < 0:
        if (length - offset) % size:
            raise ValueError(
                f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({size})"
            )
    elif count * size > length - offset:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    array = np.frombuffer(buffer, numpy_dtype, count, offset)
    if not array.flags.writeable:
        warn(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. Writing to this tensor "
            "will raise an error; copy the buffer to have one that can be written: bytearray(buffer).",
        )
    return made_inside(finish(array, requires_grad))
