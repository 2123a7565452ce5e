"""Small things that elementwise ops share: what kind of operands they got, and refusing some of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype, result_numpy_dtype
from .._methods import OpMethods
from ._registry import Array

NUMBERS = (int, float, complex)
OPERANDS = (OpMethods, np.ndarray, np.generic, *NUMBERS)


def kinds_of(*operands: Array) -> str:
    """The NumPy kind letters of the operands that are arrays."""
    return "".join(x.dtype.kind for x in operands if hasattr(x, "dtype"))


def is_complex(x: Array) -> bool:
    """Whether an array or a Tensor is complex."""
    dtype = x.dtype
    return dtype.kind == "c" if isinstance(dtype, np.dtype) else bool(dtype.is_complex)


def highest_kind(operands: Sequence[Array]) -> str:
    """The kind that promotion gives the operands, Python numbers included: "b", "i" (or "u"), "f" (or "V" for bfloat16), "c"."""
    kinds = [x.dtype.kind if hasattr(x, "dtype") else np.min_scalar_type(x).kind for x in operands if x is not None]
    return max(kinds, key="biufVc".index)


def number_like(value: float, x: Array) -> Any:
    """A number for an array: a floating one takes it as it is, another gets it converted."""
    return value if x.dtype.kind == "f" else np.asarray(value).astype(x.dtype)


def refuse(kinds: str, name: str, message: str | None = None, error: type[Exception] = NotImplementedError) -> Callable[..., None]:
    """A check for an op that does not compute with the given NumPy kinds ("b" bool, "iu" integers, "c" complex)."""

    def check(*operands: Array) -> None:
        if highest_kind(operands) in kinds:
            dtype = from_numpy_dtype(result_numpy_dtype([x for x in operands if x is not None]))
            raise error(message or f"\"{name}\" not implemented for '{dtype.scalar_name}'; convert the tensor to another dtype first")

    return check


def no_derivative(name: str) -> Any:
    """The rule of an op for which PyTorch has none either: the result requires grad, and backward says what is missing."""

    def rule(g: Array) -> Array:
        raise RuntimeError(
            f"derivative for aten::{name} is not implemented; call detach() on its input if a constant is meant"
        )

    return rule


def no_rule(what: str) -> Any:
    """The same where PyTorch says so with another class of error."""

    def rule(g: Array) -> Array:
        raise NotImplementedError(f"the derivative for '{what}' is not implemented; call detach() on its input if a constant is meant")

    return rule


def no_tangent(name: str) -> Any:
    """Forward mode of such an op."""

    def rule(out: Any) -> Any:
        raise NotImplementedError(
            f"Trying to use forward AD with {name} that does not support it because it has not been implemented yet; "
            "call detach() on its input if a constant is meant"
        )

    return rule


def zero(g: Array) -> Array:
    """The rule of a function that is constant between its jumps."""
    return np.zeros(g.shape, g.dtype) if g.__class__ is np.ndarray else np.zeros_like(g)  # the system has zeros at hand


def inplace_of(fn: Any) -> Callable[..., Any]:
    """The in-place form of an op, for composites that choose among ops."""
    form: Callable[..., Any] = fn.inplace
    return form


def log_of(x: Array, as_complex: bool = False) -> Any:
    """The logarithm; that of a Python number stays one, so that it does not decide the dtype of the result."""
    if not isinstance(x, NUMBERS):
        return np.log(x)
    if isinstance(x, complex) or as_complex:
        return np.log(complex(x)).item() if x else complex(-math.inf)
    return np.log(x).item() if x > 0 else -math.inf if x == 0 else math.nan


def raised(x: Array, *numbers: Any) -> Array:
    """A tensor in the dtype that arithmetic with these Python numbers gives it; a None among them stands for nothing."""
    dtype = x._data.dtype
    if dtype.kind == "c" or (dtype.kind == "f" and complex not in [number.__class__ for number in numbers]):
        return x
    result = result_numpy_dtype([x._data, *(number for number in numbers if number is not None)])
    return x if result == dtype else x.to(from_numpy_dtype(result))


def unraised(x: Array, *numbers: Any) -> Array:
    """The tensor itself, which is to be written in place and must have that dtype already."""
    result = raised(x, *numbers)
    if result is not x:
        raise RuntimeError(
            f"result type {result.dtype.scalar_name} can't be cast to the desired output type {x.dtype.scalar_name}\n"
            f"  fix: use the out-of-place form, or convert the tensor first: x = x.to({result.dtype})"
        )
    return x
