"""Conversions of arrays from one dtype to another: by NumPy at first, by kernels once enough has been converted."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .._warm import WARM, compiles, heat

LARGE = 1 << 14  # elements whose conversion is worth several threads
_heat = 0
_kernels: dict[np.dtype[Any], Callable[[Any], Any]] = {}


def converted(array: Any, dtype: np.dtype[Any]) -> Any:
    """A converted copy of an array, or of what behaves like one."""
    if array.__class__ is not np.ndarray or (array.itemsize != 2 and dtype.itemsize != 2 and array.size < LARGE):
        return array.astype(dtype)
    if dtype.kind == "c" and array.dtype.kind == "f" and dtype.itemsize == 2 * array.itemsize:
        found = import_module(".._kernels.copy_loops", __package__).complex_of(array, dtype)
        return array.astype(dtype) if found is None else found
    kernel = _kernels.get(dtype)
    if kernel is None:
        warm_up(array, dtype)
        return array.astype(dtype)
    return kernel(array)


def warm_up(array: Any, dtype: np.dtype[Any]) -> None:
    """Count what is converted, and compile after enough of it."""
    global _heat
    _heat += heat(array.size)
    if _heat > WARM and compiles():
        from .._kernels.builtin_conversions import conversion

        _kernels[dtype] = conversion(dtype) or (lambda array: array.astype(dtype))
