"""LAPACK, in the library that NumPy has loaded for its own linear algebra."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from .objects import address

LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}  # dtypes, as LAPACK calls them
NAMES = ("scipy_{}_64_", "{}_64_")  # of functions whose integers have 64 bits; those of others would be misunderstood


@cache
def library() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(np.linalg._umath_linalg.__file__)
    except (AttributeError, OSError):
        return None


@cache
def function(name: str, char: str) -> int:
    """The address of a function for a dtype, 0 if there is none."""
    found = (getattr(library(), pattern.format(LETTERS[char] + name), None) for pattern in NAMES)
    return next((address(function) for function in found if function is not None), 0)
