"""The logarithm of the gamma function, and its first two derivatives.

Each is a polynomial for small x, brought to where that holds by a recurrence, and a series in 1 / x for large x; negative numbers are
reflected. A float32 is computed in double precision.
"""

from __future__ import annotations

import math
from fractions import Fraction

from .code import PI, Code, Pair, Value, in_double, nearest, ordered_sum, product
from .exponential import exp, log, log_and_rest, log_one_plus, normalised
from .polynomials import COTANGENT, DIGAMMA_FAR, DIGAMMA_NEAR, LOG_GAMMA, SINC, STIRLING, TRIGAMMA_FAR, TRIGAMMA_NEAR

DIGAMMA_ROOT = Fraction("1.4616321449683623412626595423257213284681962040064463512959884")


def positive_lgamma(c: Code, x: Value) -> Value:
    """For small x from (b - 1) (b - 2) times a polynomial, with a base b between 0.7 and 2.5, or from one around 2, which is shorter, and
    precise enough for a float32; and the logarithm of the factors by which the values differ."""
    raised, large = c.compare("olt", x, 0.7 if c.exact else 1.5), c.compare("oge", x, 4.5)
    unmoved, once = c.compare("ole", x, 2.5), c.compare("olt", x, 3.5)
    below, further = x - 1.0, x - 2.0
    factor = c.select(unmoved, 1.0, c.select(once, below, below * further))
    sign = c.select(raised, -1.0, 1.0)
    if c.exact:
        factor = c.select(c.either(raised, large), x, factor)
        log, log_lost = log_and_rest(c, *normalised(c, factor), 0.0)
        base = c.select(raised, x + 1.0, c.select(unmoved, x, c.select(once, below, further)))
        roots, roots_lost = product(c, c.select(raised, x, base - 1.0), c.select(raised, below, base - 2.0))
        slope = c.polynomial(base - 1.6, LOG_GAMMA)
        near = c.fma(log, sign, c.fma(roots, slope, c.fma(roots_lost, slope, log_lost * sign)))
    else:
        twice = c.select(c.compare("ole", x, 0.5), c.fma(x, x, x), x)
        log, log_lost = log_and_rest(c, *normalised(c, c.select(c.either(raised, large), twice, factor), may_be_subnormal=False), 0.0)
        z = x - c.rint(x)
        near = c.fma(log, sign, z * c.polynomial(z, LOG_GAMMA))
    inverse = 1.0 / x
    most, more = product(c, x - 0.5, log - 1.0)
    series = c.fma(inverse, c.polynomial(inverse * inverse, STIRLING), 0.5 * math.log(2 * math.pi) - 0.5)
    far = most + (c.fma(x - 0.5, log_lost, more) + series)
    far = c.select(c.compare("oeq", most, math.inf), math.inf, far)
    return c.select(c.compare("olt", x, 4.5), near, far)


@in_double
def lgamma(c: Code, x: Value) -> Value:
    """For x < 0: log(pi / |sin(pi x)|) - lgamma(1 - x), where lgamma(1 - x) is log(-x) + lgamma(-x)."""
    negative, far = c.compare("olt", x, 0.0), c.compare("olt", x, -1.0)
    positive = positive_lgamma(c, c.select(far, -x, c.select(negative, 1.0 - x, x)))
    whole = c.rint(x)
    f = abs(x - whole)
    sine = f * c.polynomial(f * f, SINC) * c.select(far, -x, 1.0)
    reflected = -log_one_plus(c, *normalised(c, sine, may_be_subnormal=c.exact), 0.0) - positive
    pole = c.both(c.compare("ole", x, 0.0), c.compare("oeq", x, whole))
    return c.select(pole, math.inf, c.select(negative, reflected, positive))


usual_lgamma = in_double(positive_lgamma)


def not_positive(c: Code, x: Value) -> str:
    return c.compare("ole", x, 0.0)


TERMS = 44  # of the series below, which for x <= 10 leave out less than a double loses by rounding


def lower_series(c: Code, a: Value, x: Value) -> tuple[Code, Value]:
    """The integral of the incomplete gamma function below x as a double, and the code that has it: x**a exp(-x) / gamma(a + 1) times
    1 + x / (a + 1) (1 + x / (a + 2) (1 + ...)), a quotient whose parts are computed without dividing."""
    wide = Code("f64", within=c)
    a, x = (Value(wide, c.let(f"fpext float {value.register} to double")) for value in (a, x))
    above: Value | float = 1.0
    below: Value | float = 1.0
    for n in range(TERMS, 0, -1):
        below = (a + float(n)) * below
        above = wide.fma(x, above, below)
    factor = exp(wide, wide.fma(a, log(wide, x), -x) - positive_lgamma(wide, a + 1.0))
    return wide, factor * (above / below)


def usual_igamma(c: Code, a: Value, x: Value) -> Value:
    return c.narrowed(lower_series(c, a, x)[1])


def usual_igammac(c: Code, a: Value, x: Value) -> Value:
    return c.narrowed(1.0 - lower_series(c, a, x)[1])


def not_of_usual_size(c: Code, a: Value, x: Value) -> str:
    usual = c.both(c.compare("oge", a, 0.01), c.compare("ole", a, 100.0))
    usual = c.both(usual, c.both(c.compare("oge", x, 0.0), c.compare("ole", x, 10.0)))
    return c.let(f"xor i1 {usual}, true")


@in_double
def digamma(c: Code, x: Value) -> Value:
    """For x < 0: digamma(1 - x) - pi cot(pi x)."""
    size = abs(x)
    negative, small = c.compare("olt", x, 0.0), c.compare("olt", x, 1.0)
    y = c.select(small, size + 1.0, x)
    lost = c.select(small, size - (y - 1.0), 0.0)
    moved = c.compare("oge", y, 2.0)
    # digamma(y) = digamma(y - 1) + 1 / (y - 1), for a base between 1 and 2.
    below = y - 1.0
    base = c.select(moved, below, y)
    added = c.select(moved, 1.0 / below, 0.0)
    root, root_rest = nearest(DIGAMMA_ROOT, c.kind)
    slope = c.polynomial(base - 1.5, DIGAMMA_NEAR)
    most, more = product(c, base - root, slope)
    near, near_lost = ordered_sum(added, most)
    near = near + (near_lost + c.fma(lost - root_rest, slope, c.fma(c.fma(-added, below, 1.0), added, more)))
    inverse = 1.0 / y
    square = inverse * inverse
    log, log_lost = log_and_rest(c, *normalised(c, y, may_be_subnormal=False), 0.0)
    far = log + (log_lost - c.fma(square, c.polynomial(square, DIGAMMA_FAR), inverse * 0.5))
    far = c.select(c.compare("oeq", y, math.inf), math.inf, far)
    result = c.select(c.compare("olt", y, 3.0), near, far)
    f = c.select(negative, x - c.rint(x), x)
    turn = c.select(negative, f * c.polynomial(f * f, COTANGENT), 0.0)
    pole = 1.0 / f
    if c.exact:  # what rounding the quotient lost, where it is a number
        turn = turn - c.select(c.compare("olt", abs(pole), 1e100), c.fma(-pole, f, 1.0) * pole, 0.0)
    result = c.select(small, (result - pole) + turn, result)
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
    sine, sine_lost = sine_over_pi(c, f)
    divisor = c.select(negative, sine, x)
    pole = 1.0 / divisor
    rest = c.select(negative, -result, result)
    if c.exact:  # what rounding the quotient lost, where its square is a number
        lost = c.fma(-pole, c.select(negative, sine_lost, 0.0), c.fma(-pole, divisor, 1.0)) * pole * pole
        rest = c.fma(c.select(c.compare("olt", abs(pole), 1e100), lost, 0.0), 2.0, rest)
    return c.select(small, c.fma(pole, pole, rest), result)


def sine_over_pi(c: Code, f: Value) -> Pair:
    """sin(pi f) / pi for |f| <= 1/2, and what rounding lost: f + f z (slope + z tail), where z = f²."""
    z, z_lost = product(c, f, f)
    slope, slope_rest = nearest(-PI * PI / 6, c.kind)
    head, head_lost = ordered_sum(slope, z * c.polynomial(z, SINC, 2))
    part, part_lost = product(c, z, head)
    part_lost = c.fma(z, head_lost + slope_rest, c.fma(z_lost, head, part_lost))
    more, more_lost = product(c, f, part)
    result, lost = ordered_sum(f, more)
    return result, lost + c.fma(f, part_lost, more_lost)
