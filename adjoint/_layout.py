"""`layout` and `memory_format`: how the elements of a tensor lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np


class _Name:
    """A named constant, one object per name."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


class layout(_Name):
    """How elements are stored: all of them at regular distances (`strided`), or only those that are not 0, with their places."""

    __slots__ = ()


class Sparse:
    """What a Tensor of a sparse layout holds in the place of an array; see sparse/_array.py, which is imported when there is one."""

    __slots__ = ()


class memory_format(_Name):
    """The order of the dimensions in memory."""

    __slots__ = ()


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

_NDIM = {channels_last: 4, channels_last_3d: 5}


def inner_channels(wanted: memory_format | None, ndim: int) -> bool:
    """Whether `wanted` puts the channels last; refused for tensors of another number of dimensions."""
    if wanted is None or wanted not in _NDIM:
        return False
    if ndim != _NDIM[wanted]:
        raise RuntimeError(f"required rank {_NDIM[wanted]} tensor to use {str(wanted).removeprefix('torch.')} format")
    return True


def empty_in_format(shape: tuple[int, ...], dtype: np.dtype[Any], wanted: memory_format | None) -> Any:
    """An uninitialised array laid out in `wanted`; None and `preserve_format` mean the last dimension varies fastest."""
    if not inner_channels(wanted, len(shape)):
        return np.empty(shape, dtype)
    first, channels, *others = shape
    return np.moveaxis(np.empty((first, *others, channels), dtype), -1, 1)


def empty_like_array(array: Any, dtype: np.dtype[Any]) -> Any:
    """An uninitialised array whose dimensions lie in memory in the order of those of another."""
    if array.__class__ is not np.ndarray or array.flags.c_contiguous:
        return np.empty(array.shape, dtype)
    return np.ndarray(array.shape, dtype, strides=[step * dtype.itemsize for step in preserved_strides(array)])


def copy_in_format(array: Any, dtype: np.dtype[Any], wanted: memory_format | None) -> Any:
    """A converted copy; `preserve_format` and None keep the order of the dimensions in memory."""
    if inner_channels(wanted, len(array.shape)):
        return np.moveaxis(np.moveaxis(array, 1, -1).astype(dtype, order="C"), -1, 1)
    if wanted is contiguous_format or not has_strides(array):
        return array.astype(dtype, order="C")
    return with_strides(array.astype(dtype, order="K"), preserved_strides(array))


def is_in_format(array: Any, wanted: memory_format) -> bool:
    """Whether an array looks like one in that format, gaps or not: what does not have its channels last counts as contiguous."""
    return inner_channels(wanted, len(array.shape)) == suggests_channels_last(array)


def channels_inside(array: Any) -> bool:
    """Whether the elements lie one after the other with those of a pixel together."""
    expected = array.itemsize
    for dim in (1, *range(len(array.shape) - 1, 1, -1), 0):
        if array.shape[dim] != 1 and array.strides[dim] != expected:
            return not array.size
        expected *= array.shape[dim]
    return True


# Note [Memory formats]
# A result lies in memory like what it is made of. Two rules say how, and they are PyTorch's:
# - Elementwise: the dimensions are ordered by the strides of the operands, of which the first that can tell decides (`memory_order`). What
#   is repeated or has one element tells nothing, and where nobody tells, the last dimension varies fastest.
# - Images (what convolves, pools, resamples, normalises or pads): if the strides of the first input look like those of images whose
#   channels come last, gaps or not, the result has its channels last (`suggests_channels_last`), otherwise it is contiguous.
# An op's declaration names its rule. Kernels and NumPy code that compute in the right layout anyway are not touched: `laid_out` copies only
# where they do not, and is asked only if the first operand is not contiguous, so ordinary tensors do not pay for it.


def suggests_channels_last(array: Any) -> bool:
    """Whether the strides of an array of four or five dimensions look like those of images with their channels last, gaps or not. Where
    that is ambiguous, because of dimensions with one element, they do not."""
    shape = array.shape
    ndim = len(shape)
    if ndim not in (4, 5) or (shape[1] > 1 < shape[-1] and array.flags.c_contiguous):
        return False
    strides = strides_in_elements(shape, array.strides, array.itemsize)
    if strides[1] == 0:
        return False
    least = 0
    for dim in (1, *range(ndim - 1, 1, -1), 0):
        step = strides[dim]
        if shape[dim] == 0 or step < least or (dim == 0 and least == strides[1]):
            return False
        least = step * max(1, shape[dim])
    return True


def memory_order(shape: tuple[int, ...], arrays: Sequence[Any]) -> tuple[int, ...] | None:
    """The dimensions of an elementwise result, the one with the largest stride first; None if that is their own order."""
    ndim = len(shape)
    steps = [_broadcast_strides(array, shape) for array in arrays]

    def verdict(inner: int, outer: int) -> int:
        for strides in steps:
            one, other = strides[inner], strides[outer]
            if one and other:
                if one != other:
                    return 1 if one > other else -1
                if shape[inner] > shape[outer]:
                    return 1
        return 0

    order = list(range(ndim - 1, -1, -1))  # the one that varies fastest first
    for i in range(1, ndim):
        here = i
        for before in range(i - 1, -1, -1):
            said = verdict(order[before], order[here])
            if said < 0:
                break
            if said > 0:
                order[before], order[here] = order[here], order[before]
                here = before
    order.reverse()
    return None if order == list(range(ndim)) else tuple(order)


def _broadcast_strides(array: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    lead = len(shape) - len(array.shape)
    own = [0 if n == 1 != m else step for n, m, step in zip(array.shape, shape[lead:], array.strides, strict=True)]
    return (*[0] * lead, *own)


def elementwise_strides(shape: tuple[int, ...], arrays: Sequence[Any]) -> tuple[int, ...]:
    """The strides, in elements, of what is computed element by element from arrays."""
    if all(array.shape == shape for array in arrays):
        if all(array.flags.c_contiguous for array in arrays):
            return strides_in(shape)
        if len(shape) in (4, 5) and all(map(channels_inside, arrays)):
            return strides_in(shape, (0, *range(2, len(shape)), 1))
        if is_dense(arrays[0]) and len({array.strides for array in arrays}) == 1:
            return preserved_strides(arrays[0])
    return strides_in(shape, memory_order(shape, arrays))


def preserved_strides(array: Any) -> tuple[int, ...]:
    """The strides, in elements, of what is to lie in memory like an array: its own, if it fills its memory."""
    if is_dense(array):
        return strides_in_elements(array.shape, array.strides, array.itemsize)
    return strides_in(array.shape, memory_order(array.shape, (array,)))


def is_dense(array: Any) -> bool:
    """Whether the elements fill a block of memory, each in a place of its own, in whatever order."""
    step = array.itemsize
    for stride, size in sorted([(stride, size) for stride, size in zip(array.strides, array.shape, strict=True) if size != 1]):
        if stride != step:
            return not array.size
        step *= size
    return True


@lru_cache(1024)
def strides_in_elements(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Where NumPy has none, for a dimension of size one that it made up or in an array of no elements, those of a dense array."""
    found: list[int] = []
    following = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        step = following if 0 in shape or (size == 1 and stride == 0) else stride // itemsize
        found.append(step)
        following = step * max(size, 1)
    return tuple(reversed(found))


@lru_cache(1024)
def strides_in(shape: tuple[int, ...], order: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """The strides, in elements, of an array without gaps whose dimensions are in some order in memory."""
    strides, step = [0] * len(shape), 1
    for dim in reversed(range(len(shape)) if order is None else order):
        strides[dim] = step
        step *= max(1, shape[dim])
    return tuple(strides)


def has_strides(array: Any) -> bool:
    """Whether this is an array of NumPy's or of the meta device."""
    return array.__class__ is np.ndarray or hasattr(array, "strided")


def laid_out(result: Any, arrays: Sequence[Any]) -> Any:
    """The result of an elementwise op on arrays, in memory as Note [Memory formats] says."""
    if result.__class__ is tuple:
        return tuple([laid_out(one, arrays) for one in result])
    if not has_strides(result) or not result.shape:
        return result
    found = [x for x in arrays if has_strides(x) and x.ndim]
    return with_strides(result, elementwise_strides(result.shape, found)) if found else result


def like_images(result: Any, inputs: Sequence[Any]) -> Any:
    """The result of an op on images, in memory as Note [Memory formats] says."""
    if result.__class__ is tuple:
        return tuple([like_images(one, inputs) for one in result])
    if not has_strides(result) or result.ndim not in (4, 5):
        return result
    last = False
    for x in inputs:
        last = last or (has_strides(x) and suggests_channels_last(x))
    if not last and result.__class__ is np.ndarray and result.flags.c_contiguous and (result.base is None or 1 not in result.shape):
        return result
    return with_strides(result, strides_in(result.shape, (0, *range(2, result.ndim), 1) if last else None))


def by_pixels(images: Any) -> Any:
    """Images with their channels as the last dimension, in order: without a copy if they lie in memory so."""
    return np.ascontiguousarray(images.transpose(0, *range(2, images.ndim), 1))


def as_images(pixels: Any) -> Any:
    """The inverse."""
    return pixels.transpose(0, pixels.ndim - 1, *range(1, pixels.ndim - 1))


def with_strides(array: Any, wanted: tuple[int, ...]) -> Any:
    """The array itself if it has these strides (in elements), otherwise a copy that has. Of a dimension with one element they are only a
    number, but one that PyTorch shows."""
    itemsize = array.itemsize
    strides = tuple([step * itemsize for step in wanted])
    if array.strides == strides or not array.size:
        return array
    if array.__class__ is not np.ndarray:
        return array.strided(array.shape, strides)
    made = np.ndarray(array.shape, array.dtype, strides=strides)
    made[...] = array
    return made


