"""The error function and its complement."""

from __future__ import annotations

from .code import Code, Value, in_double, product
from .exponential import exp_minus_one_near_zero, may_be_subnormal, power_of_two, scaled, split_exponent
from .polynomials import ERF, ERFC_ABOVE, ERFC_BELOW, LOG_ERFC


def erf_near_zero(c: Code, x: Value) -> Value:
    """For |x| <= 1."""
    return c.fma(x, c.polynomial(x * x, ERF), x)


def erfc_of(c: Code, x: Value) -> Value:
    """erfc(x) = exp(-x²) above / below for x >= 1/2."""
    end = 27.3 if c.goal == "f64" else 10.2  # beyond, it is 0
    x = c.select(c.compare("ogt", x, end), end, x)
    square, lost = product(c, -x, x)
    n, r, _ = split_exponent(c, square)
    near = exp_minus_one_near_zero(c, r + lost)
    above, below = c.polynomial(x, ERFC_ABOVE), c.polynomial(x, ERFC_BELOW)
    quotient = above / below
    if not c.exact:
        return c.fma(quotient, near, quotient) * power_of_two(c, n)
    rest = c.fma(-quotient, below, above) / below
    value = quotient + c.fma(quotient, near, rest)
    return scaled(c, value + value, n, may_be_subnormal(c, square))


def erf(c: Code, x: Value) -> Value:
    size = abs(x)
    if c.kind == "f64":
        complement = erfc_of(c, size)
    else:
        n, r, _ = split_exponent(c, c.polynomial(c.select(c.compare("ogt", size, 4.0), 4.0, size), LOG_ERFC))
        power = power_of_two(c, n)
        complement = c.fma(power, exp_minus_one_near_zero(c, r), power)
    far = c.copysign(1.0 - complement, x)
    return c.select(c.compare("olt", size, 1.0), erf_near_zero(c, x), far)


@in_double
def erfc(c: Code, x: Value) -> Value:
    far = erfc_of(c, abs(x))
    far = c.select(c.compare("olt", x, 0.0), 2.0 - far, far)
    return c.select(c.compare("olt", abs(x), 0.5), 1.0 - erf_near_zero(c, x), far)
