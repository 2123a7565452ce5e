"""The modified Bessel functions of the first kind, of the orders 0 and 1: a polynomial up to 2.75, and beyond it one in 16 / (x + 8) for
what remains without exp(x) / sqrt(x). The scaled ones lack exp(|x|)."""

from __future__ import annotations

import math

from .code import Code, Pair, Value, ordered_sum, product
from .exponential import clamped, exp_minus_one_near_zero, power_of_two, root_and_rest, split_exponent
from .polynomials import BESSEL_0_FAR, BESSEL_0_NEAR, BESSEL_1_FAR, BESSEL_1_NEAR


def near_zero(c: Code, size: Value, order: int) -> Pair:
    """I(x) for 0 <= x <= 2.75, and what rounding lost."""
    table = BESSEL_1_NEAR if order else BESSEL_0_NEAR
    square, square_lost = product(c, size, size)
    value, value_lost = ordered_sum(table[c.goal][0], square * c.polynomial(square, table, 1))
    # The derivative of the logarithm, roughly, times what the square lost.
    slope = c.fma(square, -0.004, 0.125) if order else c.fma(square, -0.0128, 0.25)
    rest = c.fma(value * square_lost, slope, value_lost)
    if not order:
        return value, rest
    value, more = product(c, value, size)
    return value, c.fma(rest, size, more)


def without_exp(c: Code, size: Value, order: int) -> Pair:
    """exp(-x) I(x) for x >= 2.75, and what rounding lost."""
    table = BESSEL_1_FAR if order else BESSEL_0_FAR
    below = size + 8.0
    quotient = 16.0 / below
    rest = c.fma(-quotient, below, 16.0) - quotient * (size - (below - 8.0))
    t = c.fma(rest * -0.0625, quotient, 0.725 - quotient)
    above, above_lost = ordered_sum(table[c.goal][0], t * c.polynomial(t, table, 1))
    root, root_rest = root_and_rest(c, size, Value(c, c.number(0.0)))
    quotient = above / root
    return quotient, c.fma(-quotient, root_rest, c.fma(-quotient, root, above) + above_lost) / root


def times_exp(c: Code, value: Value, rest: Value, x: Value) -> Value:
    """(value + rest) exp(x), where the power of two may be too large and its product is not."""
    n, r, lost = split_exponent(c, x)
    near = exp_minus_one_near_zero(c, r)
    result = value + c.fma(value, near, c.fma(value, lost, c.fma(rest, near, rest)))
    return result * 1024.0 * power_of_two(c, n, -10)


def plain(c: Code, x: Value, order: int) -> Value:
    size = abs(x)
    near, near_rest = near_zero(c, size, order)
    end = 716.0 if c.kind == "f64" else 93.0  # beyond, it is infinite
    far = times_exp(c, *without_exp(c, size, order), clamped(c, size, 0.0, end))
    far = c.select(c.compare("ogt", size, end), size * 0.0 + math.inf, far)  # NaN at infinity, as in PyTorch
    result = c.select(c.compare("ole", size, 2.75), near + near_rest, far)
    return c.copysign(result, x) if order else result


def scaled(c: Code, x: Value, order: int) -> Value:
    size = abs(x)
    near = times_exp(c, *near_zero(c, size, order), -clamped(c, size, 0.0, 2.75))
    far, far_rest = without_exp(c, size, order)
    result = c.select(c.compare("ole", size, 2.75), near, far + far_rest)
    result = c.select(c.compare("oeq", size, math.inf), 0.0, result)
    return c.copysign(result, x) if order else result


def i0(c: Code, x: Value) -> Value:
    return plain(c, x, 0)


def i0e(c: Code, x: Value) -> Value:
    return scaled(c, x, 0)


def i1(c: Code, x: Value) -> Value:
    return plain(c, x, 1)


def i1e(c: Code, x: Value) -> Value:
    return scaled(c, x, 1)
