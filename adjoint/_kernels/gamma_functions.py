"""The logarithm of the gamma function, and its first two derivatives.

Each is a polynomial for small x, brought to where that holds by a recurrence, and a series in 1 / x for large x; negative numbers are
reflected. A float32 is computed in double precision.
"""

from __future__ import annotations

import math
from fractions import Fraction

from .code import LN2, Code, Pair, Value, in_double, nearest, ordered_sum, product, with_short_head
from .exponential import log, log_parts, normalised
from .polynomials import COTANGENT, DIGAMMA_FAR, DIGAMMA_NEAR, LOG_GAMMA, SINC, STIRLING, TRIGAMMA_FAR, TRIGAMMA_NEAR

DIGAMMA_ROOT = Fraction("1.4616321449683623412626595423257213284681962040064463512959884")


def log_and_rest(c: Code, x: Value, correction: Value | float) -> Pair:
    """log(x) + correction for positive x, and what rounding it lost."""
    high, low = with_short_head(LN2, c.kind)
    n, f = normalised(c, x)
    half, s, rest = log_parts(c, f)
    return ordered_sum(n * high, f - (half - c.fma(s, rest, c.fma(n, low, correction))))


def positive_lgamma(c: Code, x: Value) -> Value:
    tiny, small, large = c.compare("olt", x, 0.5), c.compare("olt", x, 1.5), c.compare("oge", x, 4.5)
    unmoved, once = c.compare("olt", x, 2.5), c.compare("olt", x, 3.5)
    # log(Gamma(x)) = log(Gamma(2 + z)) -+ log(factor), with |z| <= 1/2.
    z = c.select(tiny, x, c.select(small, x - 1.0, c.select(unmoved, x - 2.0, c.select(once, x - 3.0, x - 4.0))))
    up = x + 1.0
    raised, raised_lost = product(c, x, up)
    below = x - 1.0
    lowered = c.select(unmoved, 1.0, c.select(once, below, below * (x - 2.0)))
    factor = c.select(large, x, c.select(tiny, raised, c.select(small, x, lowered)))
    correction = c.select(c.both(tiny, c.compare("ogt", x, 2.0**-60)), c.fma(x, x - (up - 1.0), raised_lost) / raised, 0.0)
    log, lost = log_and_rest(c, factor, correction)
    sign = c.select(small, -1.0, 1.0)
    near = c.fma(log, sign, c.fma(z, c.polynomial(z, LOG_GAMMA), lost * sign))
    inverse = 1.0 / x
    most, more = product(c, x - 0.5, log - 1.0)
    series = c.fma(inverse, c.polynomial(inverse * inverse, STIRLING), 0.5 * math.log(2 * math.pi) - 0.5)
    far = most + (c.fma(x - 0.5, lost, more) + series)
    far = c.select(c.compare("oeq", most, math.inf), math.inf, far)
    return c.select(c.compare("olt", x, 4.5), near, far)


@in_double
def lgamma(c: Code, x: Value) -> Value:
    """For x < 0: log(pi / |sin(pi x)|) - lgamma(1 - x), where lgamma(1 - x) is log(-x) + lgamma(-x)."""
    negative, far = c.compare("olt", x, 0.0), c.compare("olt", x, -1.0)
    positive = positive_lgamma(c, c.select(far, -x, c.select(negative, 1.0 - x, x)))
    whole = c.rint(x)
    f = abs(x - whole)
    reflected = -log(c, f * c.polynomial(f * f, SINC) * c.select(far, -x, 1.0)) - positive
    pole = c.both(c.compare("ole", x, 0.0), c.compare("oeq", x, whole))
    return c.select(pole, math.inf, c.select(negative, reflected, positive))


@in_double
def digamma(c: Code, x: Value) -> Value:
    """For x < 0: digamma(1 - x) - pi cot(pi x)."""
    size = abs(x)
    negative, small = c.compare("olt", x, 0.0), c.compare("olt", x, 1.0)
    y = c.select(small, size + 1.0, x)
    lost = c.select(small, size - (y - 1.0), 0.0)
    unmoved, once = c.compare("olt", y, 2.0), c.compare("olt", y, 3.0)
    # digamma(y) = digamma(base) + a sum of 1 / (y - 1) and 1 / (y - 2), with the base between 1 and 2.
    below, further = y - 1.0, y - 2.0
    base = c.select(unmoved, y, c.select(once, below, further))
    root, root_rest = nearest(DIGAMMA_ROOT, c.kind)
    above = c.select(unmoved, 0.0, c.select(once, 1.0, below + further))
    added = above / c.select(once, below, below * further)
    near = c.fma((base - root) + (lost - root_rest), c.polynomial(base - 1.5, DIGAMMA_NEAR), c.select(unmoved, 0.0, added))
    inverse = 1.0 / y
    square = inverse * inverse
    far = log(c, y) - c.fma(square, c.polynomial(square, DIGAMMA_FAR), inverse * 0.5)
    result = c.select(c.compare("olt", y, 4.0), near, far)
    f = c.select(negative, x - c.rint(x), x)
    turn = c.select(negative, f * c.polynomial(f * f, COTANGENT), 0.0)
    result = c.select(small, result - (1.0 / f - turn), result)
    return c.select(c.both(negative, c.compare("oeq", f, 0.0)), math.nan, result)


@in_double
def trigamma(c: Code, x: Value) -> Value:
    """For x < 0: (pi / sin(pi x))² - trigamma(1 - x)."""
    size = abs(x)
    negative, small = c.compare("olt", x, 0.0), c.compare("olt", x, 1.0)
    y = c.select(small, size + 1.0, x)
    inverse = 1.0 / y
    square = inverse * inverse
    # trigamma(y) = trigamma(y + 1) + 1 / y²
    low = c.compare("olt", y, 2.0)
    near = c.polynomial(c.select(low, y - 2.0, y - 3.0), TRIGAMMA_NEAR) + c.select(low, square, 0.0)
    far = c.fma(inverse * square, c.polynomial(square, TRIGAMMA_FAR), c.fma(square, 0.5, inverse))
    result = c.select(c.compare("olt", y, 4.0), near, far)
    f = x - c.rint(x)
    divisor = c.select(negative, c.fma(f * (f * f), c.polynomial(f * f, SINC, 1), f), x)
    pole = 1.0 / divisor
    rest = c.select(negative, -result, result)
    if c.exact:  # what rounding the quotient lost, where its square is a number
        lost = c.select(c.compare("olt", abs(pole), 1e100), c.fma(-pole, divisor, 1.0) * pole * pole, 0.0)
        rest = c.fma(lost, 2.0, rest)
    return c.select(small, c.fma(pole, pole, rest), result)
