"""When a kernel is worth having: one rule for all of them.

Everything starts on NumPy. Whatever has a kernel counts how much it is used: a call is one, and so is a certain amount of work. Past `WARM`
the kernel is compiled, or read from the cache. So a script that uses an op now and then compiles nothing and never imports LLVM, while one
that repeats itself has its kernels before it has lost a millisecond. What is counted is work and not time, and nobody asks what is in the
cache: a program computes the same numbers every time it runs.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np

WARM = -1 if os.environ.get("ADJOINT_KERNELS") == "now" else 16  # calls after which a kernel pays, if the next ones are as many
BITS = 16  # 2**BITS elements, or multiplications, count as much as a call;
COSTLY_BITS = 11  # of what takes NumPy dozens of nanoseconds for each, 2**COSTLY_BITS

KINDS = {"f": "f32", "d": "f64"}  # the dtypes that most kernels are made for, by NumPy's letters


def heat(work: int, bits: int = BITS) -> int:
    """What a call counts that computes so many elements."""
    return 1 + (work >> bits)


class Heat:
    """How much a family of kernels has worked that are compiled together. True when called means: use the compiled form."""

    def __init__(self) -> None:
        self.total = 0

    def __call__(self, work: int, array: Any, *others: Any) -> bool:
        dtype = array.dtype
        if array.__class__ is not np.ndarray or dtype.char not in KINDS:
            return False
        for other in others:
            if other.__class__ is not np.ndarray or other.dtype is not dtype:
                return False
        self.total += heat(work)
        return self.total > WARM and compiles()


@cache
def compiles() -> bool:
    """Whether anything can be compiled here."""
    from ._kernels import calls, jit

    return jit.available() and calls.supported()
