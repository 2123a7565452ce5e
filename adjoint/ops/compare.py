"""Comparison, logic, bits, and questions about values. Nothing here has a derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._operands import refuse
from ._registry import Array, composite, elementwise

# ---- comparison ---------------------------------------------------------------------------------------------------------------------


def comparison(name: str, function: np.ufunc, operator: str, alias: str, *, ordered: bool = True) -> Any:
    check = refuse("c", name) if ordered else None
    return elementwise(name, function, operators=(operator,), aliases=(alias,), check=check, differentiable=False)


eq = comparison("eq", np.equal, "__eq__", "eq", ordered=False)
ne = comparison("ne", np.not_equal, "__ne__", "not_equal", ordered=False)
lt = comparison("lt", np.less, "__lt__", "less")
le = comparison("le", np.less_equal, "__le__", "less_equal")
gt = comparison("gt", np.greater, "__gt__", "greater")
ge = comparison("ge", np.greater_equal, "__ge__", "greater_equal")


# ---- logic --------------------------------------------------------------------------------------------------------------------------

logical_and = elementwise("logical_and", np.logical_and, scalars=False, differentiable=False)
logical_or = elementwise("logical_or", np.logical_or, scalars=False, differentiable=False)
logical_xor = elementwise("logical_xor", np.logical_xor, scalars=False, differentiable=False)
logical_not = elementwise("logical_not", np.logical_not, differentiable=False)

# ---- bits ---------------------------------------------------------------------------------------------------------------------------


def bitwise(name: str, function: np.ufunc, *operators: str, inplace: str | None = None, refused: str = "fcV") -> Any:
    return elementwise(
        name, function, operators=operators, inplace_operator=inplace, check=refuse(refused, name), differentiable=False, floats=False
    )


bitwise_and = bitwise("bitwise_and", np.bitwise_and, "__and__", "__rand__", inplace="__iand__")
bitwise_or = bitwise("bitwise_or", np.bitwise_or, "__or__", "__ror__", inplace="__ior__")
bitwise_xor = bitwise("bitwise_xor", np.bitwise_xor, "__xor__", "__rxor__", inplace="__ixor__")
bitwise_not = bitwise("bitwise_not", np.invert, "__invert__")
bitwise_left_shift = bitwise("bitwise_left_shift", np.left_shift, "__lshift__", inplace="__ilshift__", refused="bfcV")
bitwise_right_shift = bitwise("bitwise_right_shift", np.right_shift, "__rshift__", inplace="__irshift__", refused="bfcV")
gcd = elementwise("gcd", np.gcd, scalars=False, check=refuse("bfcV", "gcd"), differentiable=False, floats=False)
lcm = elementwise("lcm", np.lcm, scalars=False, check=refuse("bfcV", "lcm"), differentiable=False, floats=False)


@composite("__rlshift__", function=False)
def rlshift(input: Array, other: Array) -> Array:
    """`other << input`."""
    return bitwise_left_shift(other, input)


@composite("__rrshift__", function=False)
def rrshift(input: Array, other: Array) -> Array:
    """`other >> input`."""
    return bitwise_right_shift(other, input)


# ---- questions ----------------------------------------------------------------------------------------------------------------------


def question(name: str, function: np.ufunc, check: Any = None) -> Any:
    return elementwise(name, function, scalars=False, inplace=False, check=check, differentiable=False)


isnan = question("isnan", np.isnan)
isinf = question("isinf", np.isinf)
isfinite = question("isfinite", np.isfinite)
