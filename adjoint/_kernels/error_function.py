"""The error function, its complement and its inverse, and what GELU makes of it."""

from __future__ import annotations

import math
from fractions import Fraction

from .code import Code, Value, nearest, ordered_sum, product
from .exponential import exp_minus_one_near_zero, log_and_rest, normalised, power_of_two, split_exponent
from .polynomials import ERF, ERFC, ERFINV_FAR, ERFINV_NEAR, EXP, EXP2, LOG_ERFC, LOG_TAIL_OF_NORMAL

ROOT_PI = Fraction("1.7724538509055160272981674833411451827975494561223871282138077898529112845910321813749506567385446654")


def erfc_of(c: Code, x: Value) -> Value:
    """For x > 0.9: a polynomial in t = (x - 1) / (x + 1), times exp(-x²) / (x + 1)."""
    end = 27.3 if c.goal == "f64" else 10.2  # beyond, it is 0
    x = c.select(c.compare("ogt", x, end), end, x)
    square, square_lost = product(c, -x, x)
    n, r, lost = split_exponent(c, square)
    near, near_lost = ordered_sum(r, r * r * c.polynomial(r, EXP))
    near_lost = near_lost + (lost + square_lost)
    below = x + 1.0
    inverse = 1.0 / below
    t = c.fma(inverse, -2.0, 1.0)
    above, above_lost = ordered_sum(ERFC[c.goal][0], t * c.polynomial(t, ERFC, 1))
    quotient = above * inverse
    below_lost = x - (below - 1.0)
    rest = (c.fma(-quotient, below, above) + (above_lost - quotient * below_lost)) * inverse
    value = quotient + c.fma(quotient, near, (near + 1.0) * c.fma(quotient, near_lost, rest))
    # The power of two may be too small where its product is not.
    raised = c.facts.bias // 2
    return value * power_of_two(c, n, raised) * 2.0**-raised


def erf(c: Code, x: Value) -> Value:
    size = abs(x)
    end = 5.95 if c.kind == "f64" else 4.0  # beyond, it is 1
    n, r, _ = split_exponent(c, c.polynomial(c.select(c.compare("ogt", size, end), end, size), LOG_ERFC))
    power = power_of_two(c, n)
    complement = c.fma(power, exp_minus_one_near_zero(c, r), power)
    far = c.copysign(1.0 - complement, x)
    return c.select(c.compare("olt", size, 1.0), c.fma(x, c.polynomial(x * x, ERF), x), far)


def power_near(c: Code, exponent: Value) -> Value:
    """2**exponent, where it is a normal number."""
    shifted = exponent + c.facts.magic
    r = exponent - (shifted - c.facts.magic)
    power = power_of_two(c, c.bits(shifted))
    return c.fma(r * c.polynomial(r, EXP2), power, power)


def gelu_share(c: Code, x: Value) -> Value:
    """The normal distribution, by which GELU multiplies x: its small values are as precise as they have to be beside 1."""
    size = abs(x)
    tail = power_near(c, c.polynomial(size, LOG_TAIL_OF_NORMAL))
    tail = c.select(c.compare("ogt", size, 8.4 if c.goal == "f64" else 5.7), 0.0, tail)
    return c.select(c.compare("olt", x, 0.0), tail, 1.0 - tail)


def gelu_slope(c: Code, x: Value) -> Value:
    """The derivative of x times that share: the share, and x times the density."""
    least = 2.0 - c.facts.bias
    exponent = c.fma(x * x, -0.5 / math.log(2), -0.5 * math.log2(2 * math.pi))
    density = c.select(c.compare("olt", exponent, least), 0.0, power_near(c, exponent))
    return c.fma(x, density, gelu_share(c, x))


def erfc(c: Code, x: Value) -> Value:
    far = erfc_of(c, abs(x))
    far = c.select(c.compare("olt", x, 0.0), 2.0 - far, far)
    near = c.fma(-x, c.polynomial(x * x, ERF), 1.0 - x)
    return c.select(c.compare("olt", abs(x), 0.92), near, far)


def erfinv(c: Code, x: Value) -> Value:
    """x times a polynomial in w = -log(1 - x²), or x times the root of w and a polynomial in it."""
    size = abs(x)
    log, log_lost = log_and_rest(c, *normalised(c, c.fma(-x, x, 1.0), may_be_subnormal=False), 0.0)
    w = -log
    slope, slope_rest = nearest(ROOT_PI / 2, c.kind)
    near = c.fma(size, slope, size * c.fma(w, c.polynomial(w - 2.5, ERFINV_NEAR), c.fma(log_lost, -0.245, slope_rest)))
    root = c.sqrt(w)
    # size (root + polynomial), rounded once.
    far = root + c.fma(size - 1.0, root, size * c.polynomial(root - 3.5, ERFINV_FAR))
    result = c.select(c.compare("olt", w, 5.0), near, far)
    result = c.select(c.compare("oeq", size, 1.0), math.inf, result)
    return c.copysign(c.select(c.compare("ole", size, 1.0), result, math.nan), x)
