"""What is used of PyTorch's `torch._prims_common`."""

from __future__ import annotations

from ._dtype import dtype
from ._tensor import Tensor


def is_contiguous(a: Tensor) -> bool:
    return a.is_contiguous()


def is_contiguous_or_false(a: Tensor) -> bool:
    """The same: sizes are always known."""
    return a.is_contiguous()


def is_float_dtype(dtype: dtype) -> bool:
    return dtype.is_floating_point


def is_complex_dtype(dtype: dtype) -> bool:
    return dtype.is_complex


def is_boolean_dtype(dtype: dtype) -> bool:
    return dtype.name == "bool"


def is_integer_dtype(dtype: dtype) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex or dtype.name == "bool")
