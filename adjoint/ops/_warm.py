"""When to compile what is not compiled op by op: a family of kernels starts on NumPy, and is compiled once it has done enough work.

As in `_compiled.py` that is at a fixed call, so that a program computes the same numbers every time it runs.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ._registry import Array

KINDS = {"f": "f32", "d": "f64"}  # the dtypes that kernels are made for, by NumPy's letters


@cache
def compiles() -> bool:
    from .._kernels import calls, jit

    return jit.available() and calls.supported()


class Heat:
    """How much a family has worked. True when called means: use the compiled form."""

    def __init__(self, warm: float) -> None:
        self.warm = warm
        self.total = 0.0

    def __call__(self, work: float, array: Array, *others: Array) -> bool:
        dtype = array.dtype
        if array.__class__ is not np.ndarray or dtype.char not in KINDS:
            return False
        for other in others:
            if other.__class__ is not np.ndarray or other.dtype is not dtype:
                return False
        self.total += work
        return self.total > self.warm and compiles()
