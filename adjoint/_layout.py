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

_CHANNELS_LAST_NDIM = {channels_last: 4, channels_last_3d: 5}


def empty_in_format(shape: tuple[int, ...], dtype: np.dtype[Any], wanted: memory_format | None) -> Any:
    """An uninitialised array laid out in `wanted`; None and `preserve_format` mean the last dimension varies fastest."""
    ndim = _CHANNELS_LAST_NDIM.get(wanted) if wanted is not None else None
    if ndim is None:
        return np.empty(shape, dtype)
    if len(shape) != ndim:
        raise RuntimeError(f"required rank {ndim} tensor to use {_Name.__repr__(wanted).removeprefix('torch.')} format")
    first, channels, *others = shape
    return np.moveaxis(np.empty((first, *others, channels), dtype), -1, 1)


def copy_in_format(array: Any, dtype: np.dtype[Any], wanted: memory_format | None) -> Any:
    """A copy of `array`; `preserve_format` and None keep the order of its dimensions in memory."""
    if wanted in _CHANNELS_LAST_NDIM:
        copy = empty_in_format(array.shape, dtype, wanted)
        copy[...] = array
        return copy
    return array.astype(dtype, order="C" if wanted is contiguous_format else "K", copy=True)
