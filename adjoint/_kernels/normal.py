"""Functions of the normal distribution where the error function would lose precision: the scaled complement, logarithm and quantiles."""

from __future__ import annotations

import math

from .code import Code, Value, in_double, nearest, product
from .error_function import ROOT_PI
from .exponential import exp_minus_one_near_zero, log_and_rest, log_one_plus, normalised, power_of_two, split_exponent
from .polynomials import ERFINV_NEAR
from .special_tables import ERFCX, NDTRI_TAIL, both


def erfcx_of(c: Code, size: Value) -> Value:
    """exp(x²) erfc(x) for x >= 0."""
    return c.polynomial(1.0 - 7.5 / (size + 3.75), both(ERFCX)) / c.fma(size, 2.0, 1.0)


def times_exp(c: Code, value: Value, exponent: Value, rest: Value, more: int) -> Value:
    """value exp(exponent + rest); the power of two is made larger by so much where it may be too small, or smaller where too large."""
    n, r, lost = split_exponent(c, exponent)
    near = exp_minus_one_near_zero(c, r)
    result = value + value * c.fma(near + 1.0, lost + rest, near)
    return result * power_of_two(c, n, more) * 2.0**-more


@in_double
def erfcx(c: Code, x: Value) -> Value:
    """For x < 0: 2 exp(x²) - erfcx(-x)."""
    size = abs(x)
    right = erfcx_of(c, size)
    end = c.select(c.compare("ogt", size, 26.75), 26.75, size)  # beyond, it is infinite
    square, lost = product(c, end, end)
    left = times_exp(c, Value(c, c.number(2.0)), square, lost, -10) - right
    return c.select(negative(c, x), left, right)


@in_double
def usual_erfcx(c: Code, x: Value) -> Value:
    return erfcx_of(c, x)


def negative(c: Code, x: Value) -> str:
    return c.compare("olt", x, 0.0)


@in_double
def log_ndtr(c: Code, x: Value) -> Value:
    """With e = erfcx(|x| / sqrt(2)): log(e / 2) - x²/2 for x < 0, and log(1 - q) for x > 0, where q = e exp(-x²/2) / 2."""
    size = abs(x)
    half = erfcx_of(c, size * math.sqrt(0.5)) * 0.5
    end = c.select(c.compare("ogt", size, 38.6), 38.6, size)  # beyond, q is 0
    square, lost = product(c, end * -0.5, end)
    q = times_exp(c, half, square, lost, 512)
    u = 1.0 - q
    left = negative(c, x)
    n, f = normalised(c, c.select(left, half, u), may_be_subnormal=False)
    value = log_one_plus(c, n, f, c.select(left, 0.0, ((1.0 - u) - q) / u))
    return c.select(left, c.fma(x * -0.5, x, value), -abs(value))


def logarithm(c: Code, p: Value) -> tuple[Value, Value]:
    """w = -log(4p (1 - p)), and what rounding lost in -w."""
    log, lost = log_and_rest(c, *normalised(c, p * 4.0 * (1.0 - p)), 0.0)
    return -log, lost


def central(c: Code, p: Value, w: Value, lost: Value) -> Value:
    """erfinv(1 - 2p) where w < 5."""
    size = c.fma(p, -2.0, 1.0)
    slope, slope_rest = nearest(ROOT_PI / 2, c.kind)
    return c.fma(size, slope, size * c.fma(w, c.polynomial(w - 2.5, ERFINV_NEAR), c.fma(lost, -0.245, slope_rest)))


@in_double
def ndtri(c: Code, p: Value) -> Value:
    """sqrt(2) erfinv(2p - 1), by functions of w, which no small p spoils."""
    right = c.compare("ogt", p, 0.5)
    q = c.select(right, 1.0 - p, p)
    w, lost = logarithm(c, q)
    root = c.sqrt(w)
    far = root + c.polynomial(1.2969773721600872 - 8.555918091932114 / (root + 1.5), both(NDTRI_TAIL))
    result = c.select(c.compare("olt", w, 5.0), central(c, q, w, lost), far) * math.sqrt(2)
    result = c.select(c.compare("oeq", q, 0.0), math.inf, c.select(c.compare("oge", q, 0.0), result, math.nan))
    return c.select(right, result, 0.0 - result)


@in_double
def usual_ndtri(c: Code, p: Value) -> Value:
    return central(c, p, *logarithm(c, p)) * -math.sqrt(2) + 0.0


def in_the_tails(c: Code, p: Value) -> str:
    return c.compare("ogt", abs(p - 0.5), 0.498)
