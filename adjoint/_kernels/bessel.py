"""The modified Bessel functions of the first kind, of the orders 0 and 1: a polynomial up to 8, and beyond it one in 1 / x for what
remains without exp(x) / sqrt(x). The scaled ones lack exp(|x|)."""

from __future__ import annotations

import math

from .code import Code, Value, in_double
from .exponential import exp, exp_minus_one_near_zero, power_of_two, root_and_rest, split_exponent
from .polynomials import BESSEL_0_FAR, BESSEL_0_NEAR, BESSEL_1_FAR, BESSEL_1_NEAR


def near_and_far(c: Code, x: Value, order: int) -> tuple[Value, Value, str]:
    """I(|x|) near 0, exp(-|x|) I(|x|) far from it, and whether x is near."""
    size = abs(x)
    near = c.polynomial(x * x, BESSEL_1_NEAR if order else BESSEL_0_NEAR)
    root, root_rest = root_and_rest(c, size, Value(c, c.number(0.0)))
    above = c.polynomial(16.0 / size - 1.0, BESSEL_1_FAR if order else BESSEL_0_FAR)
    quotient = above / root
    far = quotient + c.fma(-quotient, root_rest, c.fma(-quotient, root, above)) / root
    far = c.select(c.compare("oeq", size, math.inf), 0.0, far)
    return near * size if order else near, far, c.compare("ole", size, 8.0)


def plain(c: Code, x: Value, order: int) -> Value:
    near, far, is_near = near_and_far(c, x, order)
    size = abs(x)
    end = 716.0  # beyond, it is infinite
    n, r, lost = split_exponent(c, c.select(c.compare("ogt", size, end), end, size))
    # The power of two may be too large where its product is not.
    far = c.fma(far, exp_minus_one_near_zero(c, r) + lost, far) * 1024.0 * power_of_two(c, n, -10)
    far = c.select(c.compare("ogt", size, end), size * 0.0 + math.inf, far)  # NaN at infinity, as in PyTorch
    result = c.select(is_near, near, far)
    return c.copysign(result, x) if order else result


def without_exp(c: Code, x: Value, order: int) -> Value:
    near, far, is_near = near_and_far(c, x, order)
    result = c.select(is_near, near * exp(c, -abs(x)), far)
    return c.copysign(result, x) if order else result


@in_double
def i0(c: Code, x: Value) -> Value:
    return plain(c, x, 0)


@in_double
def i0e(c: Code, x: Value) -> Value:
    return without_exp(c, x, 0)


@in_double
def i1(c: Code, x: Value) -> Value:
    return plain(c, x, 1)


@in_double
def i1e(c: Code, x: Value) -> Value:
    return without_exp(c, x, 1)
