"""The error function, its complement and its inverse."""

from __future__ import annotations

import math

from .code import Code, Value, ordered_sum, product
from .exponential import (
    exp_minus_one_near_zero,
    log_one_plus,
    may_be_subnormal,
    normalised,
    power_of_two,
    root_and_rest,
    scaled,
    special_logs,
    split_exponent,
)
from .polynomials import ERF, ERFC, ERFINV_FAR, ERFINV_NEAR, EXP, LOG_ERFC


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


def erfinv(c: Code, x: Value) -> Value:
    """x times a polynomial in w = -log(1 - x²), or in its root. (In float32 the error reaches 2.03 units.)"""
    size = abs(x)
    down, up = 1.0 - size, size + 1.0
    square, lost = product(c, down, up)
    lost = c.fma(down, size - (up - 1.0), lost) / square
    n, f = normalised(c, square, may_be_subnormal=False)
    w = -special_logs(c, log_one_plus(c, n, f, lost), square, 0.0)
    near = x * c.fma(w, c.polynomial(w - 3.0, ERFINV_NEAR), math.sqrt(math.pi) / 2)
    root, root_rest = root_and_rest(c, w, Value(c, c.number(0.0)))
    factor = c.polynomial((root - 4.25) + root_rest, ERFINV_FAR)
    factor = c.select(c.compare("oeq", size, 1.0), math.inf, factor)
    return c.copysign(c.select(c.compare("olt", w, 6.0), near, x * factor), x)
