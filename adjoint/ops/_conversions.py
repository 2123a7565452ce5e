"""Conversions of arrays from one dtype to another: by a kernel for each dtype, or by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._dtype import NARROW
from .._quiet import mute, unmute
from .._serving import compiles

KERNELS: dict[np.dtype[Any], Callable[[Any], Any]] = {}  # what makes an array one of the dtype, whatever its own


def converted(array: Any, dtype: np.dtype[Any]) -> Any:
    """A converted copy of an array, or of what behaves like one."""
    if array.__class__ is not np.ndarray:
        return array.astype(dtype)
    kernel = KERNELS.get(dtype)
    if kernel is None:
        kernel = KERNELS[dtype] = kernel_for(dtype)
    return kernel(array)


def by_numpy(array: Any, dtype: np.dtype[Any]) -> Any:
    """As silently as C converts: what does not fit becomes infinite, or wraps around."""
    if NARROW.get(array.dtype) is False:
        from .._narrow import refuse_packed

        refuse_packed(array.dtype)
    token = mute()
    try:
        if array.dtype.kind == "f" and dtype.kind in "iu" and dtype.itemsize < 4:
            array = array.astype(np.int32)  # as the processor does it: too large numbers wrap around
        return array.astype(dtype)
    finally:
        unmute(token)


def kernel_for(dtype: np.dtype[Any]) -> Callable[[Any], Any]:
    if dtype in NARROW:
        from .._narrow import narrowed

        return partial(narrowed, dtype=dtype)
    fallback = partial(by_numpy, dtype=dtype)
    if not compiles():
        return fallback
    from .._kernels.builtin_conversions import conversion
    from .._kernels.copy_loops import complex_of

    if dtype.kind == "c":
        return partial(complex_of, dtype=dtype, otherwise=fallback)
    return conversion(dtype, fallback) or fallback
