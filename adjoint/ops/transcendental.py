"""Exponentials, logarithms, roots, and the trigonometric and hyperbolic functions with their inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._operands import refuse
from ._registry import FLOAT, Array, elementwise
from ._rules import call

LOG_2, LOG_10 = math.log(2), math.log(10)


def unary(name: str, function: Any, rule: Any, **options: Any) -> Any:
    return elementwise(name, function, promote=FLOAT, input=rule, **options)


# ---- exponentials and logarithms ----------------------------------------------------------------------------------------------------

exp = unary("exp", np.exp, lambda g, out: g * out)
exp2 = unary("exp2", np.exp2, lambda g, out: g * (out * LOG_2))
expm1 = unary("expm1", np.expm1, lambda g, out: g * (out + 1))
log = unary("log", np.log, lambda g, input: g / input)
log2 = unary("log2", np.log2, lambda g, input: g / (input * LOG_2))
log10 = unary("log10", np.log10, lambda g, input: g / (input * LOG_10))
log1p = unary("log1p", np.log1p, lambda g, input: g / (input + 1))

# ---- roots --------------------------------------------------------------------------------------------------------------------------

sqrt = unary("sqrt", np.sqrt, lambda g, out: g / (out * 2))


def _rsqrt(input: Array) -> Array:
    return 1 / np.sqrt(input)


rsqrt = unary("rsqrt", _rsqrt, lambda g, out: g * (out * out * out * -0.5))

# ---- trigonometric ------------------------------------------------------------------------------------------------------------------

sin = unary("sin", np.sin, lambda g, input: g * np.cos(input))
cos = unary("cos", np.cos, lambda g, input: g * -np.sin(input))
tan = unary("tan", np.tan, lambda g, out: g * (out * out + 1))
asin = unary("asin", np.arcsin, lambda g, input: g / np.sqrt(1 - input * input), aliases=("arcsin",))
acos = unary("acos", np.arccos, lambda g, input: -g / np.sqrt(1 - input * input), aliases=("arccos",))
atan = unary("atan", np.arctan, lambda g, input: g / (input * input + 1), aliases=("arctan",))

# ---- hyperbolic ---------------------------------------------------------------------------------------------------------------------

sinh = unary("sinh", np.sinh, lambda g, input: g * np.cosh(input))
cosh = unary("cosh", np.cosh, lambda g, input: g * np.sinh(input))
tanh = unary("tanh", np.tanh, lambda g, out: g * (1 - out * out))
asinh = unary("asinh", np.arcsinh, lambda g, input: g / np.sqrt(input * input + 1), aliases=("arcsinh",))
acosh = unary("acosh", np.arccosh, lambda g, input: g / (np.sqrt(input - 1) * np.sqrt(input + 1)), aliases=("arccosh",))
atanh = unary("atanh", np.arctanh, lambda g, input: g / (1 - input * input), aliases=("arctanh",))
