"""The error function, its complement and its inverse."""

from __future__ import annotations

import math
from fractions import Fraction

from .code import Code, Value, in_double, nearest, ordered_sum, product
from .exponential import exp_minus_one_near_zero, log, may_be_subnormal, power_of_two, root_and_rest, scaled, split_exponent
from .polynomials import ERF, ERFC, ERFINV_FAR, ERFINV_NEAR, EXP, LOG_ERFC

HALF_ROOT_PI = Fraction("0.88622692545275801364908374167057259139877472806119356410690")


def erfc_of(c: Code, x: Value) -> Value:
    """For x > 0.9."""
    end = 27.3 if c.goal == "f64" else 10.2  # beyond, it is 0
    x = c.select(c.compare("ogt", x, end), end, x)
    square, square_lost = product(c, -x, x)
    n, r, lost = split_exponent(c, square)
    t = (x - 3.0) / (x + 3.0)
    below = x + 0.5
    near, near_lost = ordered_sum(r, r * r * c.polynomial(r, EXP))
    near_lost = near_lost + (lost + square_lost)
    above, above_lost = ordered_sum(ERFC[c.goal][0], t * c.polynomial(t, ERFC, 1))
    inverse = 1.0 / below
    quotient = above * inverse
    below_lost = x - (below - 0.5)
    rest = (c.fma(-quotient, below, above) + (above_lost - quotient * below_lost)) * inverse
    value = quotient + c.fma(quotient, near, (near + 1.0) * c.fma(quotient, near_lost, rest))
    return scaled(c, value + value, n, may_be_subnormal(c, square))


def erf(c: Code, x: Value) -> Value:
    size = abs(x)
    end = 5.95 if c.kind == "f64" else 4.0  # beyond, it is 1
    n, r, _ = split_exponent(c, c.polynomial(c.select(c.compare("ogt", size, end), end, size), LOG_ERFC))
    power = power_of_two(c, n)
    complement = c.fma(power, exp_minus_one_near_zero(c, r), power)
    far = c.copysign(1.0 - complement, x)
    return c.select(c.compare("olt", size, 1.0), c.fma(x, c.polynomial(x * x, ERF), x), far)


def erfc(c: Code, x: Value) -> Value:
    far = erfc_of(c, abs(x))
    far = c.select(c.compare("olt", x, 0.0), 2.0 - far, far)
    near = c.fma(-x, c.polynomial(x * x, ERF), 1.0 - x)
    return c.select(c.compare("olt", abs(x), 0.92), near, far)


@in_double
def erfinv(c: Code, x: Value) -> Value:
    """x times a polynomial in w = -log(1 - x²), or in its root."""
    size = abs(x)
    w = -log(c, (1.0 - size) * (size + 1.0))
    slope, slope_rest = nearest(HALF_ROOT_PI, c.kind)
    near = c.fma(x, slope, x * c.fma(w, c.polynomial(w, ERFINV_NEAR), slope_rest))
    root, root_rest = root_and_rest(c, w, Value(c, c.number(0.0))) if c.exact else (c.sqrt(w), 0.0)
    factor = c.polynomial((root - 4.25) + root_rest, ERFINV_FAR)
    factor = c.select(c.compare("oeq", size, 1.0), math.inf, factor)
    return c.copysign(c.select(c.compare("olt", w, 6.0), near, x * factor), x)
