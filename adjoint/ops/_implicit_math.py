"""How a gamma or beta distributed sample moves when its distribution does.

A sample x with distribution function F(x; a) that keeps its rank, F(x; a) = const, moves by dx/da = -(dF/da) / p(x), p being the
density. In both families d(log p)/da is log t minus its mean, so that

    dx/da = integral of (mean - log t) p(t) / p(x) over t < x = integral of (log t - mean) p(t) / p(x) over t > x.

The side on which x lies has no cancellation, and becomes a smooth integral with t = x exp(-s) there. Where a small parameter stretches that
out, a series of positive terms is short. Everything is computed in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._special_math import digamma

Array = np.ndarray[Any, np.dtype[Any]]

SMALL = 10.0  # parameters below it go by the series
TERMS = 1000  # of a series at most; it ends as soon as they do not matter
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
# With s = reach * u**2 nodes are close to s = 0, where the integrand changes fastest.
_STEPS, _STEP_WEIGHTS = ((_NODES + 1) / 2) ** 2, (_NODES + 1) / 2 * _WEIGHTS


def _tail(exponent: Callable[[Array], Array], factor: Callable[[Array], Array], scale: Array) -> Array:
    """The integral of factor(s) exp(exponent(s)) over s > 0. The exponent falls from 0; `scale` is smaller than what it needs to."""
    reach = scale[:, None]
    while np.any(more := exponent(reach) > -38.0):
        reach = np.where(more, 2 * reach, reach)
    s = reach * _STEPS
    integral: Array = reach[:, 0] * np.sum(_STEP_WEIGHTS * factor(s) * np.exp(exponent(s)), axis=1)
    return integral


def _series(ratio: Callable[[int], Array], factor: Callable[[int], Array], first: Array) -> Array:
    """The sum of factor(n) times the product of `first` and the ratios up to n."""
    term, total, size = first, first * factor(0), np.abs(first)
    for n in range(1, TERMS):
        term = term * ratio(n)
        size = size + term
        total = total + term * factor(n)
        if np.all(term <= 1e-17 * size):
            break
    return total


def _pieces(choices: list[tuple[Array, Callable[..., Array]]], *arguments: Array) -> Array:
    """Each function where its condition is the first to hold. NaN where none does."""
    result = np.full(arguments[0].shape, np.nan)
    left = np.ones(arguments[0].shape, np.bool_)
    for condition, function in choices:
        chosen = condition & left
        left &= ~chosen
        if chosen.any():
            result[chosen] = function(*(argument[chosen] for argument in arguments))
    return result


# ---- gamma --------------------------------------------------------------------------------------------------------------------------


def _gamma_series(a: Array, x: Array) -> Array:
    log_x, slopes = np.log(x), [digamma(a + 1)]

    def factor(n: int) -> Array:
        if n:
            slopes[0] = slopes[0] + 1 / (a + n)
        slope: Array = slopes[0] - log_x
        return slope

    return _series(lambda n: x / (a + n), factor, x / a)


def _gamma_below(a: Array, x: Array) -> Array:
    a, x = a[:, None], x[:, None]
    start = digamma(a) - np.log(x)
    return x[:, 0] * _tail(lambda s: -a * s - x * np.expm1(-s), lambda s: start + s, 1 / (a + 1)[:, 0])


def _gamma_above(a: Array, x: Array) -> Array:
    a, x = a[:, None], x[:, None]
    start = np.log(x) - digamma(a)
    return x[:, 0] * _tail(lambda s: a * s - x * np.expm1(s), lambda s: start + s, 1 / (x + 1)[:, 0])


def gamma_slope(a: Array, x: Array) -> Array:
    """The derivative of a gamma distributed sample `x` by its shape parameter `a`. Both have the same shape."""
    flat_a, flat_x = (np.asarray(values, np.float64).reshape(-1) for values in (a, x))
    with np.errstate(all="ignore"):
        usual = (flat_a > 0) & (flat_x > 0) & np.isfinite(flat_a) & np.isfinite(flat_x)
        choices = [
            (usual & (flat_a < SMALL) & (flat_x <= np.maximum(flat_a, 1)), _gamma_series),
            (usual & (flat_x <= flat_a), _gamma_below),
            (usual, _gamma_above),
            (flat_x == 0, lambda a, x: np.zeros_like(x)),
        ]  # fmt: skip
        return _pieces(choices, flat_a, flat_x).reshape(np.shape(a))


# ---- beta ---------------------------------------------------------------------------------------------------------------------------


def _beta_series_below(a: Array, b: Array, x: Array) -> Array:
    log_x, slopes = np.log(x), [digamma(a + 1) - digamma(a + b)]

    def factor(n: int) -> Array:
        if n:
            slopes[0] = slopes[0] + 1 / (a + n) - 1 / (a + b + n - 1)
        slope: Array = slopes[0] - log_x
        return slope

    return _series(lambda n: x * (a + b + n - 1) / (a + n), factor, x * (1 - x) / a)


def _beta_series_above(a: Array, b: Array, x: Array) -> Array:
    log_x, slopes = np.log(x), [digamma(a + b) - digamma(a)]

    def factor(n: int) -> Array:
        if n:
            slopes[0] = slopes[0] + 1 / (a + b + n - 1)
        slope: Array = slopes[0] + log_x
        return slope

    return _series(lambda n: (1 - x) * (a + b + n - 1) / (b + n), factor, x * (1 - x) / b)


def _beta_below(a: Array, b: Array, x: Array) -> Array:
    a, b, x = a[:, None], b[:, None], x[:, None]
    start = digamma(a) - digamma(a + b) - np.log(x)
    odds = x / (1 - x)

    def exponent(s: Array) -> Array:
        fall: Array = -a * s + (b - 1) * np.log1p(-odds * np.expm1(-s))
        return fall

    return x[:, 0] * _tail(exponent, lambda s: start + s, 1 / (a + b + 1)[:, 0])


def _beta_above(a: Array, b: Array, x: Array) -> Array:
    a, b, x = a[:, None], b[:, None], x[:, None]
    start = digamma(a + b) - digamma(a) + np.log(x)
    odds = (1 - x) / x

    def growth(s: Array) -> Array:
        logarithm: Array = np.log1p(-odds * np.expm1(-s))
        return logarithm

    return (1 - x)[:, 0] * _tail(lambda s: -b * s + (a - 1) * growth(s), lambda s: start + growth(s), 1 / (a + b + 1)[:, 0])


def beta_slope(a: Array, b: Array, x: Array) -> Array:
    """The derivative of a beta distributed sample `x` by its first parameter `a`. All have the same shape."""
    flat_a, flat_b, flat_x = (np.asarray(values, np.float64).reshape(-1) for values in (a, b, x))
    with np.errstate(all="ignore"):
        usual = (flat_a > 0) & (flat_b > 0) & (flat_x > 0) & (flat_x < 1)
        total = flat_a + flat_b
        below = np.log(flat_x) < digamma(flat_a) - digamma(total)
        choices = [
            (usual & (flat_a < SMALL) & (flat_x <= 0.5) & (flat_x * total <= np.maximum(flat_a, 3)), _beta_series_below),
            (usual & (flat_b < SMALL) & (flat_x > 0.5) & ((1 - flat_x) * total <= np.maximum(flat_b, 3)), _beta_series_above),
            (usual & below & (flat_a >= SMALL), _beta_below),
            (usual & ~below & (flat_b >= SMALL), _beta_above),
            (usual & (flat_x <= 0.5), _beta_series_below),
            (usual, _beta_series_above),
            ((flat_x == 0) | (flat_x == 1), lambda a, b, x: np.zeros_like(x)),
        ]  # fmt: skip
        return _pieces(choices, flat_a, flat_b, flat_x).reshape(np.shape(x))
