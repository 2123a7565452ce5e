"""Half precision: stored in 16 bits, computed in 32, as PyTorch does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._dtype import as_numpy_dtype
from ._rules import cast

INT64, UINT8, FLOAT32 = np.dtype("int64"), np.dtype("uint8"), np.dtype("float32")


def is_half(dtype: Any) -> bool:
    return dtype.itemsize == 2 and dtype.name in ("float16", "bfloat16")


def compute_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which values of `dtype` are accumulated."""
    return FLOAT32 if is_half(dtype) else dtype


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the real and imaginary parts; the dtype itself where it is real."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def wide(x: Any) -> Any:
    """`x` in the dtype in which it is computed with."""
    return cast(x, FLOAT32) if is_half(x.dtype) else x


def in_single(function: Callable[..., Any], widens: bool = True) -> Callable[..., Any]:
    """A function of arrays that computes half precision in single precision, and rounds what it returns; other arrays as they are."""
    if not widens:
        return function

    def widened(*values: Any) -> Any:
        dtypes = {x.dtype for x in values if isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "fV"}
        narrow = next(iter(dtypes)) if len(dtypes) == 1 else FLOAT32
        if not is_half(narrow):  # nor do single and half precision together need it
            return function(*values)
        result = function(*(wide(x) if isinstance(x, np.ndarray | np.generic) else x for x in values))
        return [narrowed(x, narrow) for x in result] if isinstance(result, list | tuple) else narrowed(result, narrow)

    return widened


def narrowed(x: Any, dtype: np.dtype[Any]) -> Any:
    """What was computed in single precision, rounded."""
    return cast(x, dtype) if x is not None and x.dtype == FLOAT32 else x


def with_dtype(x: Any, dtype: Any) -> Any:
    """`x` as the `dtype=` argument of a reduction asks; unchanged for None."""
    return x if dtype is None else cast(x, as_numpy_dtype(dtype))
