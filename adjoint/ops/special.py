"""Special functions: error function, gamma function, Bessel functions and their relatives. The numerics are in `_special_math.py`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _special_math as numerics
from ._operands import refuse
from ._registry import FLOAT, Array, elementwise, op
from ._rules import call
from .transcendental import ldexp

ROOT_PI, ROOT_2 = math.sqrt(math.pi), math.sqrt(2)


def special(name: str, impl: Any, rule: Any, **options: Any) -> Any:
    return elementwise(name, impl, promote=FLOAT, check=refuse("c", name), input=rule, **options)


# ---- the error function -------------------------------------------------------------------------------------------------------------


def _erf(input: Array) -> Array:
    return numerics.erf(input)


def _erfc(input: Array) -> Array:
    return numerics.erfc(input)


def _erfinv(input: Array) -> Array:
    return numerics.erfinv(input)


def _erfcx(input: Array) -> Array:
    return numerics.erfcx(input)


def _ndtri(input: Array) -> Array:
    return numerics.ndtri(input)


def _log_ndtr(input: Array) -> Array:
    return numerics.log_ndtr(input)


def _ndtr(input: Array) -> Array:
    return numerics.erfc(input * (-1 / ROOT_2)) * 0.5


def erfinv_rule(g: Array, input: Array) -> Array:
    out = call(erfinv, input)
    return g * (np.exp(out * out) * (ROOT_PI / 2))


def ndtri_rule(g: Array, input: Array) -> Array:
    out = call(ndtri, input)
    return g * (np.exp(out * out / 2) * math.sqrt(2 * math.pi))


def log_ndtr_rule(g: Array, input: Array) -> Array:
    return g / call(erfcx, input * (-1 / ROOT_2)) * math.sqrt(2 / math.pi)


erf = special("erf", _erf, lambda g, input: g * (np.exp(-input * input) * (2 / ROOT_PI)))
erfc = special("erfc", _erfc, lambda g, input: g * (np.exp(-input * input) * (-2 / ROOT_PI)))
erfinv = special("erfinv", _erfinv, erfinv_rule)
hidden: dict[str, Any] = {"method": False, "function": False, "inplace": False}  # the names that PyTorch has in torch.special only
erfcx = special(
    "erfcx", _erfcx, lambda g, input, out: g * (input * out * 2 - 2 / ROOT_PI), nodes="SpecialErfcxBackward0", **hidden
)
ndtr = special(
    "ndtr", _ndtr, lambda g, input: g * (np.exp(input * input * -0.5) * (1 / math.sqrt(2 * math.pi))), nodes="SpecialNdtrBackward0", **hidden
)
ndtri = special("ndtri", _ndtri, ndtri_rule, nodes="SpecialNdtriBackward0", **hidden)
log_ndtr = special("log_ndtr", _log_ndtr, log_ndtr_rule, nodes="SpecialLogNdtrBackward0", **hidden)

# ---- the gamma function -------------------------------------------------------------------------------------------------------------


def _lgamma(input: Array) -> Array:
    return numerics.lgamma(input)


def _digamma(input: Array) -> Array:
    return numerics.digamma(input)


def _zeta(input: Array, other: Array) -> Array:
    return numerics.zeta(input, other)


def _polygamma(n: int, input: Array) -> Array:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return numerics.digamma(input)
    sign = 1.0 if n % 2 else -1.0
    return numerics.zeta(np.asarray(n + 1.0, input.dtype), input) * (sign * math.factorial(n))


def zeta_rule_other(g: Array, input: Array, other: Array) -> Array:
    return g * (-input * call(zeta, input + 1, other))
