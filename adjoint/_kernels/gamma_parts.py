"""The zeta function of Hurwitz, its relative polygamma, and the incomplete gamma functions: sums with as many terms as their arguments ask
for."""

from __future__ import annotations

from math import inf, nan, pi
from typing import Any

from .loops import copysign, erfc, exp, expm1, floor, lgamma, log, minimum, part, power, precision, sqrt
from .special_tables import TEMME, TEMME_ROW, ZETA

LARGE = 200.0  # from which on Temme's expansion serves
TEMME_ROWS = 7


@part
def zeta_sum(s: Any, q: Any) -> Any:
    """For s > 1: the first terms of the sum, four at a time, and Euler's and Maclaurin's formula for the rest."""
    fine = precision() < 1e-12
    enough = (10.0 if fine else 4.0) + minimum(s, 50.0) * (1.0 if fine else 0.5)
    total = 0.0
    last = inf
    while q < enough and (q < 1.0 or last > total * precision()):
        last = power(q + 3.0, -s)
        total += power(q, -s) + power(q + 1.0, -s) + power(q + 2.0, -s) + last
        q += 4.0
    if q >= enough and s < 1000.0:  # otherwise the rest is 0
        integral = power(q, 1.0 - s)
        term = integral / q
        total += integral / (s - 1.0) + term * 0.5
        term *= s / q
        inverse = 1.0 / (q * q)
        for k in range(10 if fine else 5):
            total += ZETA[k] * term
            term *= (s + (2.0 * k + 1.0)) * (s + (2.0 * k + 2.0)) * inverse
    return total


@part
def zeta(s: Any, q: Any) -> Any:
    value = nan
    whole = q == floor(q)
    if s == 1.0:
        value = inf
    elif s > 1.0 and q == q:
        if q <= 0.0 and whole:
            value = inf
        elif q < 0.0 and s != floor(s):
            value = nan
        elif q == inf:
            value = 0.0
        elif s == inf:
            value = 0.0 if q > 1.0 else (1.0 if q == 1.0 else inf)
        else:
            value = zeta_sum(s, q)
    return value


@part
def polygamma(n: Any, x: Any) -> Any:
    """For n > 1: the derivative number n of the logarithmic derivative of the gamma function."""
    factor = -1.0
    for k in range(int(n)):
        factor *= -1.0 - k
    return factor * zeta(n + 1.0, x)


@part
def lower_series(a: Any, x: Any) -> Any:
    """A power series, for x < a + 1."""
    term = 1.0 / a
    total = term
    n = 0
    while term > total * precision() and n < 1000000:
        n += 1
        a += 1.0
        term *= x / a
        total += term
    return total


@part
def upper_fraction(a: Any, x: Any) -> Any:
    """A continued fraction, for x >= a + 1, by its numerators and denominators; both are made smaller before they overflow."""
    b = x + 1.0 - a
    above = 1.0
    below = b
    above_before = 0.0
    below_before = 1.0
    value = 1.0 / b
    change = inf
    n = 0.0
    while change > precision() * 2.0 and n < 10000.0:
        n += 1.0
        step = n * (a - n)
        b += 2.0
        above, above_before = b * above + step * above_before, above
        below, below_before = b * below + step * below_before, below
        if abs(below) > 1e150:
            above *= 1e-150
            below *= 1e-150
            above_before *= 1e-150
            below_before *= 1e-150
        before = value
        value = above / below
        change = abs(1.0 - before / value)
    return value


@part
def upper_of_small(a: Any, x: Any) -> Any:
    """The regularised integral above x for small a and x, where it is far from 1."""
    growth = expm1(a * log(x) - lgamma(a + 1.0))
    term = -1.0
    total = 0.0
    n = 0.0
    while abs(term) > precision():
        n += 1.0
        term *= -x / n
        total += term / (a + n)
    return (growth + 1.0) * a * total - growth


@part
def departure(a: Any, x: Any) -> Any:
    """mu - log(1 + mu), where 1 + mu = x / a; by the series of the logarithm in mu / (2 + mu) where the terms would cancel."""
    mu = (x - a) / a
    value = 0.0
    if abs(mu) < 0.4:
        r = mu / (2.0 + mu)
        square = r * r
        tail = 0.0
        for k in range(13, 0, -1):
            tail = tail * square + 2.0 / (2.0 * k + 1.0)
        value = r * (mu - square * tail)
    else:
        value = mu - log(x / a)
    return value


@part
def gamma_factor(a: Any, x: Any) -> Any:
    """x**a exp(-x) / gamma(a), for large a by Stirling's series, so that no large numbers cancel in the exponent."""
    value = 0.0
    if a < 10.0:
        value = power(minimum(x, 2000.0), a) * exp(-x - lgamma(a))
    else:
        inverse = 1.0 / a
        square = inverse * inverse
        series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square * (1 / 1188)))))
        value = sqrt(a / (2.0 * pi)) * exp(-a * departure(a, x) - series)
    return value


@part
def near_large(a: Any, x: Any, upper: Any) -> Any:
    """Temme's expansion, for large a and x between 0.7 a and 1.3 a."""
    exponent = departure(a, x)
    eta = copysign(sqrt(2.0 * exponent), x - a)
    series = 0.0
    for k in range(TEMME_ROWS - 1, -1, -1):
        row = 0.0
        for n in range(TEMME_ROW - 1, -1, -1):
            row = row * eta + TEMME[k * TEMME_ROW + n]
        series = series / a + row
    side = 2.0 * upper - 1.0
    return 0.5 * erfc(side * eta * sqrt(0.5 * a)) + side * exp(-a * exponent) / sqrt(2.0 * pi * a) * series


@part
def incomplete(a: Any, x: Any, upper: Any) -> Any:
    """The regularised integral below x; above x, where that is asked for."""
    value = nan
    everything = 1.0 - upper
    if a >= 0.0 and x >= 0.0:
        if x == 0.0 or a == inf:
            if a > 0.0 and x < inf:
                value = upper
        elif a == 0.0 or x == inf:
            value = everything
        elif upper == 1.0 and a < 0.5 and x < 1.0:
            value = upper_of_small(a, x)
        elif a >= LARGE and abs(x - a) < 0.3 * a:
            value = near_large(a, x, upper)
        else:
            value = gamma_factor(a, x)
            if x < a + 1.0 and (upper == 0.0 or a >= 0.5):
                if value > 0.0:
                    value *= lower_series(a, x)
                if upper == 1.0:
                    value = 1.0 - value
            else:
                if value > 0.0:
                    value *= upper_fraction(a, x)
                if upper == 0.0:
                    value = 1.0 - value
    return value


@part
def igamma(a: Any, x: Any) -> Any:
    return incomplete(a, x, 0.0)


@part
def igammac(a: Any, x: Any) -> Any:
    return incomplete(a, x, 1.0)
