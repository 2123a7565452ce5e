"""Half precision: stored in 16 bits, computed in 32, as PyTorch does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._dtype import as_numpy_dtype
from .._quiet import mute, unmute
from ._rules import ARRAYS, cast

INT64, UINT8, FLOAT32 = np.dtype("int64"), np.dtype("uint8"), np.dtype("float32")
PASSES_ON = (lambda g: g).__code__.co_code  # of a rule that computes nothing


def is_half(dtype: Any) -> bool:
    """Whether a dtype, NumPy's or a Tensor's, is float16 or bfloat16."""
    if dtype.itemsize != 2:
        return False
    # "e" is NumPy's letter for float16, "E" that of ml_dtypes for bfloat16.
    return dtype.char in "eE" if isinstance(dtype, np.dtype) else bool(dtype.is_floating_point)


def compute_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which values of `dtype` are accumulated."""
    return FLOAT32 if is_half(dtype) else dtype


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the real and imaginary parts; the dtype itself where it is real."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def wide(x: Any) -> Any:
    """`x` in the dtype in which it is computed with."""
    return cast(x, FLOAT32) if is_half(x.dtype) else x


def rounded(x: Any, dtype: np.dtype[Any]) -> Any:
    """A number, or an array of another dtype, as half precision has it: what stands beside tensors of that dtype is one of them."""
    if x is None or (hasattr(x, "dtype") and x.dtype == dtype):
        return x
    token = mute()
    try:
        return cast(x, dtype) if isinstance(x, ARRAYS) else float(dtype.type(x)) if not isinstance(x, complex) else x
    finally:
        unmute(token)


def in_single(function: Callable[..., Any], widens: bool = True) -> Callable[..., Any]:
    """A function of arrays that computes half precision in single precision, and rounds what it returns; other arrays as they are."""
    if not widens or getattr(getattr(function, "__code__", None), "co_code", b"") == PASSES_ON:
        return function

    def widened(*values: Any) -> Any:
        narrow = None
        for x in values:
            if isinstance(x, ARRAYS) and x.dtype.kind in "fV":
                if not is_half(x.dtype):  # single and half precision together come out right as they are
                    return function(*values)
                narrow = x.dtype
        if narrow is None:
            return function(*values)
        token = mute()
        try:
            result = function(*(wide(x) if isinstance(x, ARRAYS) else x for x in values))
            return [narrowed(x, narrow) for x in result] if isinstance(result, list | tuple) else narrowed(result, narrow)
        finally:
            unmute(token)

    return widened


def narrowed(x: Any, dtype: np.dtype[Any]) -> Any:
    """What was computed in single precision, rounded."""
    return cast(x, dtype) if x is not None and x.dtype == FLOAT32 else x


def with_dtype(x: Any, dtype: Any) -> Any:
    """`x` as the `dtype=` argument of a reduction asks; unchanged for None."""
    return x if dtype is None else cast(x, as_numpy_dtype(dtype))
