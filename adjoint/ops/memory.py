"""Facts about the memory of a tensor: sizes, strides, addresses; copies that change how it is laid out, and tensors on the same memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._layer import Layer, Pending
from .._layout import Sparse, channels_last, channels_last_3d, contiguous_format, copy_in_format, preserve_format, strides_in_elements
from .._size import KNOWN_SIZES
from ._registry import LEADING, LINEAR, Array, composite, op
from ._rules import in_order, wrap_dim

Shape = tuple[int, ...]


@composite(function=False)
def size(input: Any, dim: int | None = None) -> Any:
    """The shape, or the size of one dimension."""
    shape = input._data.shape
    return KNOWN_SIZES[shape] if dim is None else shape[checked_dim(dim, len(shape))]


def checked_dim(dim: int, ndim: int) -> int:
    if ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, ndim)


@composite(function=False)
def stride(input: Any, dim: int | None = None) -> Any:
    """How many elements apart neighbours are along each dimension, or along one."""
    strides = element_strides(input._data)
    return strides if dim is None else strides[checked_dim(dim, len(strides))]


def element_strides(data: Array) -> Shape:
    """Strides in elements."""
    return strides_in_elements(data.shape, data.strides, data.itemsize)


@composite(function=False)
def storage_offset(input: Any) -> int:
    """Where in its memory the first element lies, counted in elements."""
    return offset_of(input._data)


def offset_of(data: Array) -> int:
    while isinstance(data, Layer):
        data = data.value._data
    if data.__class__ is Pending:
        data = data.array
    if data.__class__ is np.ndarray and data.base is None:
        return 0
    if not isinstance(data, np.ndarray):
        return int(data.offset // data.itemsize)
    owner = owner_of(data)
    if data.nbytes == owner.nbytes and data.flags.c_contiguous:
        return 0  # it has all of the memory
    return (data_address(data) - data_address(owner)) // data.itemsize


def owner_of(data: Array) -> Array:
    """The array that owns the memory of a view."""
    owner = data.array if data.__class__ is Pending else data
    while (data := getattr(data, "base", None)) is not None:
        if isinstance(data, np.ndarray):
            owner = data
    return owner


def data_address(data: Array) -> int:
    if data.__class__ is Pending:
        data = data.array
    return int(data.__array_interface__["data"][0]) if isinstance(data, np.ndarray) else 0


@composite(function=False)
def data_ptr(input: Any) -> int:
    """The address of the first element."""
    if isinstance(input._data, Layer | Sparse):
        input._data.refuse_storage()  # type: ignore[union-attr]
    return data_address(input._data) if input.numel() else 0


@composite(function=False)
def is_contiguous(input: Any, memory_format: Any = contiguous_format) -> bool:
    """Whether the elements lie in memory in the order of their indices (or in that of `memory_format`)."""
    data = input._data
    if memory_format is contiguous_format or memory_format is preserve_format:
        return bool(data.flags.c_contiguous)
    return len(data.shape) == _CHANNELS_LAST[memory_format] and bool(np.moveaxis(data, 1, -1).flags.c_contiguous)


_CHANNELS_LAST = {channels_last: 4, channels_last_3d: 5}  # and how many dimensions they are for


@op(jvp=LINEAR, out=False, warns=False, batch=LEADING, narrow=True, input=lambda g: g)
def clone(input: Array, *, memory_format: Any = None) -> Array:
    """A copy, through which gradients flow."""
    if memory_format not in _CHANNELS_LAST and (memory_format is contiguous_format or input.flags.c_contiguous):
        return in_order(input)
    return copy_in_format(input, input.dtype, memory_format)


@composite(function=False)
def contiguous(input: Any, memory_format: Any = contiguous_format) -> Any:
    """The tensor itself if its memory is in order, otherwise a copy that is."""
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return input if is_contiguous(input, memory_format) else clone(input, memory_format=memory_format)


@op(view=True, method=False, function=False, jvp=LINEAR, batch=LEADING, input=lambda g: g)
def alias(input: Array) -> Array:
    """The tensor again, as another object on the same memory."""
    return input[...]


@op(view=True, method=False, function=False, jvp=LINEAR, batch=LEADING, nodes="Identity", input=lambda g: g)
def primal(input: Array) -> Array:
    """The same in forward mode, where it leaves the tangent behind."""
    return input[...]
