"""Special functions: error function, gamma function, Bessel functions and their relatives. The numerics are in `_special_math.py`."""

from __future__ import annotations

import math
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from .._errors import spelled
from ._operands import NUMBERS, no_rule, refuse
from ._registry import FLOAT, Array, composite, elementwise
from ._rules import call

ROOT_PI, ROOT_2 = math.sqrt(math.pi), math.sqrt(2)


@cache
def numerics() -> Any:
    """The module that computes them, imported when it is first needed."""
    return import_module("._special_math", __package__)


def special(name: str, impl: Any, rule: Any, **options: Any) -> Any:
    return elementwise(name, impl, promote=FLOAT, check=refuse("c", name), input=rule, **options)


# ---- the error function -------------------------------------------------------------------------------------------------------------


def _erf(input: Array) -> Array:
    """The error function."""
    return numerics().erf(input)


def _erfc(input: Array) -> Array:
    """One minus the error function, without its rounding."""
    return numerics().erfc(input)


def _erfinv(input: Array) -> Array:
    """The inverse of the error function."""
    return numerics().erfinv(input)


def _erfcx(input: Array) -> Array:
    return numerics().erfcx(input)


def _ndtri(input: Array) -> Array:
    return numerics().ndtri(input)


def _log_ndtr(input: Array) -> Array:
    return numerics().log_ndtr(input)


def _ndtr(input: Array) -> Array:
    return numerics().erfc(input * (-1 / ROOT_2)) * 0.5


def erfinv_rule(g: Array, input: Array) -> Array:
    out = call(erfinv, input)
    return g * (np.exp(out * out) * (ROOT_PI / 2))


def ndtri_rule(g: Array, out: Array) -> Array:
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
    "ndtr", _ndtr, lambda g, input: g * (np.exp(input * input * -0.5) / math.sqrt(2 * math.pi)), nodes="SpecialNdtrBackward0", **hidden
)
ndtri = special("ndtri", _ndtri, ndtri_rule, nodes="SpecialNdtriBackward0", **hidden)
log_ndtr = special("log_ndtr", _log_ndtr, log_ndtr_rule, nodes="SpecialLogNdtrBackward0", **hidden)

# ---- the gamma function -------------------------------------------------------------------------------------------------------------


def _lgamma(input: Array) -> Array:
    """The logarithm of the absolute value of the gamma function."""
    return numerics().lgamma(input)


def _digamma(input: Array) -> Array:
    """The logarithmic derivative of the gamma function."""
    return numerics().digamma(input)


def _zeta(input: Array, other: Array) -> Array:
    return numerics().zeta(input, other)


def _polygamma(n: int, input: Array) -> Array:
    """The derivative number `n` of `digamma`."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n < 2:
        return numerics().trigamma(input) if n else numerics().digamma(input)
    return numerics().polygamma(n, input)


lgamma: Any = special("lgamma", _lgamma, lambda g, input: g * call(digamma, input))
digamma: Any = special("digamma", _digamma, lambda g, input: g * call(polygamma, 1, input))
polygamma: Any = special("polygamma", _polygamma, lambda g, n, input: g * call(polygamma, n + 1, input), method=False, inplace=False)


@composite("polygamma", function=False)
def polygamma_method(input: Array, n: int) -> Array:
    """`torch.polygamma(n, input)`."""
    return polygamma(n, input)


@composite("polygamma_", function=False)
def polygamma_(input: Array, n: int) -> Array:
    """In-place form of `polygamma`."""
    if not input.is_floating_point():
        raise RuntimeError(
            spelled(f"result type Float can't be cast to the desired output type {input.dtype.scalar_name}\n  fix: torch.polygamma(n, x)")
        )
    return input.copy_(polygamma(n, input.clone()))  # the derivative asks for the old values


def _mvlgamma(input: Array, p: int) -> Array:
    """The logarithm of the multivariate gamma function of dimension `p`."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    total = p * (p - 1) / 4 * math.log(math.pi)
    for k in range(written_out(p)):
        total = total + numerics().lgamma(input - k / 2)
    return total


def written_out(p: int) -> int:
    """How many terms there are; asked so that a small number of them gets a kernel of its own."""
    return next((count for count in range(1, 5) if p == count), p)


def mvlgamma_rule(g: Array, input: Array, p: int) -> Array:
    slopes = [call(digamma, input - k / 2) for k in range(written_out(p))]
    return g * sum(slopes[1:], slopes[0])


mvlgamma = special("mvlgamma", _mvlgamma, mvlgamma_rule)


def _igamma(input: Array, other: Array) -> Array:
    """The lower incomplete gamma function, regularised."""
    return numerics().igamma(input, other)


def _igammac(input: Array, other: Array) -> Array:
    """The upper incomplete gamma function, regularised."""
    return numerics().igammac(input, other)


def gamma_density(input: Array, other: Array) -> Array:
    return np.exp((input - 1) * np.log(other) - other - call(lgamma, input))


igamma = elementwise(
    "igamma", _igamma, scalars=False, check=refuse("biuc", "igamma"), holomorphic=False, input=no_rule("igamma: input"),
    other=lambda g, input, other: g * gamma_density(input, other),
)  # fmt: skip
igammac = elementwise(
    "igammac", _igammac, scalars=False, check=refuse("biuc", "igammac"), holomorphic=False, input=no_rule("igammac: input"),
    other=lambda g, input, other: -g * gamma_density(input, other),
)  # fmt: skip


zeta: Any = elementwise(
    "zeta", _zeta, promote=FLOAT, check=refuse("c", "zeta"), nodes="SpecialZetaBackward0", **hidden,
    holomorphic=False, input=no_rule("zeta"),
    other=lambda g, input, other: g * (call(zeta, input + 1, other) * -input),
)  # fmt: skip

# ---- modified Bessel functions ------------------------------------------------------------------------------------------------------


def _i0(input: Array) -> Array:
    """The modified Bessel function of the first kind of order 0."""
    return numerics().i0(input)


def _i0e(input: Array) -> Array:
    return numerics().i0e(input)


def _i1(input: Array) -> Array:
    return numerics().i1(input)


def _i1e(input: Array) -> Array:
    return numerics().i1e(input)


def i1_rule(g: Array, input: Array, out: Array) -> Array:
    zero = input == 0
    return g * np.where(zero, 0.5, call(i0, input) - out / np.where(zero, 1, input))


def i1e_rule(g: Array, input: Array, out: Array) -> Array:
    zero = input == 0
    return g * np.where(zero, 0.5, call(i0e, input) - out * (np.sign(input) + 1 / np.where(zero, 1, input)))


i0: Any = special("i0", _i0, lambda g, input: g * call(i1, input))
i0e: Any = special("i0e", _i0e, lambda g, input, out: g * (call(i1e, input) - np.sign(input) * out), nodes="SpecialI0EBackward0", **hidden)
i1: Any = special("i1", _i1, i1_rule, nodes="SpecialI1Backward0", **hidden)
i1e: Any = special("i1e", _i1e, i1e_rule, nodes="SpecialI1EBackward0", **hidden)

# ---- products with logarithms -------------------------------------------------------------------------------------------------------


def _entr(input: Array) -> Array:
    return np.where(input < 0, -np.inf, np.where(input == 0, 0, -input * np.log(input)))


def _xlog1py(input: Array, other: Array) -> Array:
    return np.where((input == 0) & ~np.isnan(other), 0, input * log1p_of(other))


entr = special("entr", _entr, lambda g, input: g * (-np.log(input) - 1), nodes="SpecialEntrBackward0", **hidden)


def xlog1py_rule(g: Array, input: Array, other: Array) -> Array:
    return np.where((input == 0) & (other <= -1), 0, call(xlog1py, g, other))


xlog1py = elementwise(
    "xlog1py", _xlog1py, promote=FLOAT, check=refuse("c", "xlog1py"), nodes="SpecialXlog1PyBackward0", **hidden,
    input=xlog1py_rule,
    other=lambda g, input, other: g * (input / (other + 1)),
)  # fmt: skip


def log1p_of(x: Array) -> Any:
    return np.log1p(x).item() if isinstance(x, NUMBERS) else np.log1p(x)

