"""`layout` and `memory_format`: how the elements of a tensor lie in memory."""

from __future__ import annotations

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
    """How elements are stored. `strided` is the one that tensors have."""

    __slots__ = ()


class memory_format(_Name):
    """The order of the dimensions in memory."""

    __slots__ = ()


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
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


def copy_in_format(array: Any, dtype: np.dtype[Any], wanted: memory_format | None) -> Any:
    """A converted copy; `preserve_format` and None keep the order of the dimensions in memory."""
    if inner_channels(wanted, len(array.shape)):
        return np.moveaxis(np.moveaxis(array, 1, -1).astype(dtype, order="C"), -1, 1)
    keeps = wanted is not contiguous_format and 0 not in array.strides  # repeated elements have no order
    return array.astype(dtype, order="K" if keeps else "C")


def is_in_format(array: Any, wanted: memory_format) -> bool:
    """Whether a copy in that format would look the same: what is not channels last counts as contiguous."""
    if inner_channels(wanted, len(array.shape)):
        return channels_inside(array)
    if wanted is contiguous_format and len(array.shape) in (4, 5) and not array.flags.c_contiguous:
        return not channels_inside(array)
    return True


def channels_inside(array: Any) -> bool:
    """Whether the elements lie one after the other with those of a pixel together."""
    expected = array.itemsize
    for dim in (1, *range(len(array.shape) - 1, 1, -1), 0):
        if array.shape[dim] != 1 and array.strides[dim] != expected:
            return not array.size
        expected *= array.shape[dim]
    return True
