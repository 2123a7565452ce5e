"""Conversions of arrays from one dtype to another: by NumPy at first, by kernels once enough has been converted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._warm import compiles

WARM = 100
LARGE = 1 << 14  # elements whose conversion is worth several threads
_heat = 0


def converted(array: Any, dtype: np.dtype[Any]) -> Any:
    """A converted copy of an array, or of what behaves like one."""
    global _heat
    if array.__class__ is not np.ndarray or (array.size < LARGE and array.itemsize != 2 and dtype.itemsize != 2):
        return array.astype(dtype)
    _heat += 1 + (array.size >> 12)
    if _heat <= WARM or not compiles() or not array.flags.c_contiguous or array.dtype == dtype:
        return array.astype(dtype)
    from .._kernels.builtin_conversions import conversion

    kernel = conversion(dtype)
    return array.astype(dtype) if kernel is None else kernel(array)
