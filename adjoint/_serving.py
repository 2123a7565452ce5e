"""Who computes: kernels from the first call on, or NumPy for as long as the process lives.

Both are right, but they round differently. If a kernel took over in the middle of a program, equal calls would give unequal bits, and
comparing results computed before and after would find differences that are none. So whoever serves first serves always: a kernel is
compiled, or read from disk, when it is first asked for, and the same arguments never reach NumPy before it nor after it.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np

KINDS = {"f": "f32", "d": "f64"}  # the dtypes that most kernels are made for, by NumPy's letters

# What makes a program faster without computing anything is used after a few calls if it is on disk, and compiled after many.
SOON, OFTEN = 16, 2000


@cache
def wanted() -> bool:
    """Whether kernels are to be used at all, by `ADJOINT_KERNELS`."""
    setting = os.environ.get("ADJOINT_KERNELS", "")
    if setting not in ("", "0", "1", "now"):
        raise ValueError(f"ADJOINT_KERNELS={setting}: 0 is for NumPy alone, 1 (or nothing) for kernels")
    return setting != "0"


@cache
def compiles() -> bool:
    """Whether anything can be compiled here."""
    if not wanted():
        return False
    from ._kernels import calls, jit

    return jit.available() and calls.supported()


def serves(array: Any, *others: Any) -> bool:
    """Whether kernels for float32 and float64 take these: arrays, all of one of the two dtypes."""
    dtype = array.dtype
    if array.__class__ is not np.ndarray or dtype.char not in KINDS:
        return False
    for other in others:
        if other.__class__ is not np.ndarray or other.dtype is not dtype:
            return False
    return compiles()
