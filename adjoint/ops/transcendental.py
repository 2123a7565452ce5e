"""Exponentials, logarithms, roots, and the trigonometric and hyperbolic functions with their inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._operands import is_complex, log_of, refuse
from ._registry import FLOAT, Array, elementwise
from ._rules import call

LOG_2, LOG_10 = math.log(2), math.log(10)


def unary(name: str, function: Any, rule: Any, **options: Any) -> Any:
    return elementwise(name, function, promote=FLOAT, input=rule, **options)


def analytic(name: str, function: Any, rule: Any, **options: Any) -> Any:
    """A unary function that has a derivative at complex numbers, by the same rule."""
    return unary(name, function, rule, holomorphic=True, **options)


# ---- exponentials and logarithms ----------------------------------------------------------------------------------------------------

exp = analytic("exp", np.exp, lambda g, out: g * out, doc="The exponential.")
exp2 = analytic("exp2", np.exp2, lambda g, out: g * (out * LOG_2), doc="Two to the power of each element.")
expm1 = analytic("expm1", np.expm1, lambda g, out: g * (out + 1), doc="The exponential minus one, exact near 0.")
log = analytic("log", np.log, lambda g, input: g / input, doc="The natural logarithm.")
log2 = analytic("log2", np.log2, lambda g, input: g / (input * LOG_2), doc="The logarithm to base 2.")
log10 = analytic("log10", np.log10, lambda g, input: g / (input * LOG_10), doc="The logarithm to base 10.")


def _log1p(input: Array) -> Array:
    """The logarithm of one plus the element, exact near 0."""
    if input.__class__ is not np.ndarray or input.dtype.kind != "c":
        return np.log1p(input)
    re, im = input.real, input.imag  # NumPy adds one to a complex number, and has lost its last digits then
    result = np.empty_like(input)
    result.imag = np.arctan2(im, re + 1)
    near = np.log1p(re * (re + 2) + im * im) / 2
    result.real = np.where(np.abs(input) < 0.5, np.where(near == 0, re, near), np.log(np.hypot(re + 1, im)))
    return result


log1p = analytic("log1p", _log1p, lambda g, input: g / (input + 1))

# ---- roots --------------------------------------------------------------------------------------------------------------------------

sqrt = analytic("sqrt", np.sqrt, lambda g, out: g / (out * 2), doc="The square root.")


def _rsqrt(input: Array) -> Array:
    """One over the square root."""
    return 1 / np.sqrt(input)


rsqrt = analytic("rsqrt", _rsqrt, lambda g, out: g * (out * out * out * -0.5))

# ---- trigonometric ------------------------------------------------------------------------------------------------------------------

sin = analytic("sin", np.sin, lambda g, input: g * np.cos(input), doc="The sine.")
cos = analytic("cos", np.cos, lambda g, input: g * -np.sin(input), doc="The cosine.")
tan = analytic("tan", np.tan, lambda g, out: g * (out * out + 1), doc="The tangent.")
asin = analytic("asin", np.arcsin, lambda g, input: g / np.sqrt(1 - input * input), aliases=("arcsin",), doc="The inverse sine.")
acos = analytic("acos", np.arccos, lambda g, input: -g / np.sqrt(1 - input * input), aliases=("arccos",), doc="The inverse cosine.")
atan = analytic("atan", np.arctan, lambda g, input: g / (input * input + 1), aliases=("arctan",), doc="The inverse tangent.")

# ---- hyperbolic ---------------------------------------------------------------------------------------------------------------------



def acosh_rule(g: Array, input: Array) -> Array:
    """The product of two roots is the root of the product only for real numbers."""
    return g / (np.sqrt(input - 1) * np.sqrt(input + 1)) if is_complex(input) else g / np.sqrt(input * input - 1)


sinh = analytic("sinh", np.sinh, lambda g, input: g * np.cosh(input), doc="The hyperbolic sine.")
cosh = analytic("cosh", np.cosh, lambda g, input: g * np.sinh(input), doc="The hyperbolic cosine.")
tanh = analytic("tanh", np.tanh, lambda g, out: call(tanh_backward, g, out), doc="The hyperbolic tangent.")
asinh = analytic(
    "asinh", np.arcsinh, lambda g, input: g / np.sqrt(input * input + 1), aliases=("arcsinh",),
    doc="The inverse hyperbolic sine.",
)  # fmt: skip
acosh = analytic("acosh", np.arccosh, acosh_rule, aliases=("arccosh",), doc="The inverse hyperbolic cosine.")
atanh = analytic("atanh", np.arctanh, lambda g, input: g / (1 - input * input), aliases=("arctanh",), doc="The inverse hyperbolic tangent.")

# ---- of two arguments ---------------------------------------------------------------------------------------------------------------


def atan2_factor(input: Array, other: Array) -> Array:
    """1 / (input² + other²), and 0 at the origin, where the angle has no derivative."""
    square = input * input + other * other
    return np.where(square == 0, 0, 1 / square)


atan2 = elementwise(
    "atan2", np.arctan2, promote=FLOAT, scalars=False, aliases=("arctan2",), check=refuse("c", "atan2"),
    input=lambda g, input, other: g * (other * atan2_factor(input, other)),
    other=lambda g, input, other: g * (-input * atan2_factor(input, other)),
    doc="The angle of the point `(other, input)`, in its own quadrant.",
)  # fmt: skip

hypot = elementwise(
    "hypot", np.hypot, scalars=False, check=refuse("biuc", "hypot"),
    input=lambda g, input, out: g * (input / out),
    other=lambda g, other, out: g * (other / out),
    doc="The length of the hypotenuse, `sqrt(input**2 + other**2)`.",
)  # fmt: skip

def _logaddexp(input: Array, other: Array) -> Array:
    """`log(exp(input) + exp(other))`, without overflow."""
    if input.dtype.kind != "c":
        return np.logaddexp(input, other)
    larger = input.real >= other.real
    top: Array = np.where(larger, input, other)
    low: Array = np.where(larger, other, input)
    apart = top + _log1p(np.exp(low - top))
    both = np.isinf(top.real) & (top.real == low.real)  # then there is no distance between them
    apart = np.where(both, np.where(top.real < 0, other, np.log(np.exp(low) + np.exp(top))), apart)
    return np.where(np.isnan(input) | np.isnan(other), complex(np.nan, np.nan), apart)


logaddexp = elementwise(
    "logaddexp", _logaddexp, holomorphic=True, scalars=False, inplace=False, check=refuse("biu", "logaddexp"),
    input=lambda g, input, other: g * call(sigmoid, input - other),
    other=lambda g, input, other: g * call(sigmoid, other - input),
)  # fmt: skip

logaddexp2 = elementwise(
    "logaddexp2", np.logaddexp2, scalars=False, inplace=False, check=refuse("biuc", "logaddexp2"),
    input=lambda g, input, other: g / (1 + np.exp2(other - input)),
    other=lambda g, input, other: g / (1 + np.exp2(input - other)),
    doc="`log2(2**input + 2**other)`, without overflow.",
)  # fmt: skip


def power_of_2(x: Array) -> Array:
    """`2**x`. That of complex numbers is a power like any other: its angle is NaN where the exponent is infinite."""
    return np.power(2, x) if is_complex(x) else np.exp2(x)


def _ldexp(input: Array, other: Array) -> Array:
    """`input * 2**other`."""
    return input * power_of_2(other)


ldexp = elementwise(
    "ldexp", _ldexp, holomorphic=True, promote=FLOAT, scalars=False,
    input=lambda g, other: g * power_of_2(other),
    other=lambda g, input, other: g * (input * power_of_2(other) * LOG_2),
)  # fmt: skip



def _xlogy(input: Array, other: Array) -> Array:
    """`input * log(other)`, and 0 where `input` is 0."""
    return np.where((input == 0) & ~np.isnan(other), 0, input * log_of(other))


def xlogy_rule(g: Array, input: Array, other: Array) -> Array:
    """No gradient makes nothing of any logarithm."""
    return np.where((input == 0) & (other <= 0), 0, call(xlogy, g, other))


xlogy = elementwise(
    "xlogy", _xlogy, promote=FLOAT, check=refuse("c", "xlogy"),
    nodes={"ST": "XlogyBackward1", "TS": "XlogyBackward2", "default": "XlogyBackward0"},
    input=xlogy_rule,
    other=lambda g, input, other: g * (input / other),
)  # fmt: skip


# ---- angles and odds ----------------------------------------------------------------------------------------------------------------


def _deg2rad(input: Array) -> Array:
    """Degrees to radians."""
    return input * (math.pi / 180)


def _rad2deg(input: Array) -> Array:
    """Radians to degrees."""
    return input * (180 / math.pi)


deg2rad = unary(
    "deg2rad", _deg2rad, lambda g: g * (math.pi / 180),
    check=refuse("c", "deg2rad", "deg2rad is not supported for complex tensors.", RuntimeError),
)  # fmt: skip
rad2deg = unary(
    "rad2deg", _rad2deg, lambda g: g * (180 / math.pi),
    check=refuse("c", "rad2deg", "rad2deg is not supported for complex tensors.", RuntimeError),
)  # fmt: skip


def _sinc(input: Array) -> Array:
    """`sin(pi * x) / (pi * x)`."""
    angle = input * math.pi
    return np.where(input == 0, 1, np.sin(angle) / angle)


def sinc_rule(g: Array, input: Array) -> Array:
    angle = input * math.pi
    return np.where(input == 0, 0, g * ((np.cos(angle) * angle - np.sin(angle)) / angle / input))


sinc = analytic("sinc", _sinc, sinc_rule)


def _logit(input: Array, eps: float | None = None) -> Array:
    """The logarithm of the odds, `log(x / (1 - x))`; `eps` keeps x away from 0 and 1."""
    if eps is not None and eps >= 0:
        input = np.minimum(np.maximum(input, eps), 1 - eps)
    return np.log(input / (1 - input))


def logit_rule(g: Array, input: Array, eps: float | None) -> Array:
    slope = g / (input * (1 - input))
    if eps is None or eps < 0:
        return np.where((input < 0) | (input > 1), np.nan, slope)
    return np.where((input >= eps) & (input <= 1 - eps), slope, 0)


logit = unary("logit", _logit, logit_rule, check=refuse("c", "logit"))


def _sigmoid(input: Array) -> Array:
    """`1 / (1 + exp(-x))`."""
    return 1 / (1 + np.exp(-input))


sigmoid: Any = analytic("sigmoid", _sigmoid, lambda g, out: call(sigmoid_backward, g, out))

# ---- rules that are ops -------------------------------------------------------------------------------------------------------------

# Networks with these functions are differentiated twice and more (physics-informed ones above all). As an op, the rule is one node there
# and one pass over memory, where its formula would be three.


def rule_op(name: str, formula: Any, slope: Any) -> Any:
    """`formula(grad, output)`, linear in `grad`, as an op; `slope` is its derivative by `output` times `g`."""
    rules = {"grad": lambda g, output: call(made, g, output), "output": slope}
    made: Any = elementwise(name, formula, holomorphic=True, scalars=False, inplace=False, method=False, function=False, **rules)
    return made


def _tanh_backward(grad: Array, output: Array) -> Array:
    """The gradient of the input of `tanh`."""
    return grad * (1 - output * output)


def _sigmoid_backward(grad: Array, output: Array) -> Array:
    """The gradient of the input of `sigmoid`."""
    return grad * (1 - output) * output


tanh_backward: Any = rule_op("tanh_backward", _tanh_backward, lambda g, grad, output: g * grad * output * -2)
sigmoid_backward: Any = rule_op("sigmoid_backward", _sigmoid_backward, lambda g, grad, output: g * grad * (1 - 2 * output))
