"""Small things that elementwise ops share: what kind of operands they got, and refusing some of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from ._registry import Array

NUMBERS = (int, float, complex)


def kinds_of(*operands: Array) -> str:
    """The NumPy kind letters of the operands that are arrays."""
    return "".join(x.dtype.kind for x in operands if hasattr(x, "dtype"))


def is_complex(x: Array) -> bool:
    """Whether an array or a Tensor is complex."""
    dtype = x.dtype
    return dtype.kind == "c" if isinstance(dtype, np.dtype) else bool(dtype.is_complex)


def refuse(kinds: str, name: str, message: str | None = None, error: type[Exception] = NotImplementedError) -> Callable[..., None]:
    """A check for an op that does not know arrays of the given NumPy kinds ("b" bool, "iu" integers, "c" complex)."""

    def check(*operands: Array) -> None:
        for x in operands:
            if hasattr(x, "dtype") and x.dtype.kind in kinds:
                dtype = from_numpy_dtype(x.dtype)
                raise error(message or f"\"{name}\" not implemented for '{dtype.scalar_name}'")

    return check


def no_derivative(name: str) -> Any:
    """The rule of an op for which PyTorch has none either: the result requires grad, and backward says what is missing."""

    def rule(g: Array) -> Array:
        raise RuntimeError(
            f"derivative for aten::{name} is not implemented; call detach() on its input if a constant is meant"
        )

    return rule


def zero(g: Array) -> Array:
    """The rule of a function that is constant between its jumps."""
    return np.zeros_like(g)


def inplace(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """The in-place form of an op, for composites that choose among ops."""
    return fn.inplace(*args, **kwargs)


def log_of(x: Array) -> Any:
    """The logarithm; that of a Python number stays one, so that it does not decide the dtype of the result."""
    return np.log(x).item() if isinstance(x, NUMBERS) else np.log(x)
