"""Orthogonal polynomials, each by the recurrence of its family. PyTorch has them in `torch.special` only and without derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._operands import NUMBERS, refuse
from ._registry import FLOAT, Array, elementwise
from ._special_math import Floats, blockwise

# The polynomial of degree k + 1 from k, the argument, and the polynomials of degree k and k - 1. That of degree -1 is zero.
Recurrence = Callable[[int, Any, Any, Any], Any]

WRITTEN_OUT = 9  # degrees below this one get kernels of their own


def evaluated(recurrence: Recurrence, x: Floats, degree: Floats) -> Floats:
    """The polynomials of these degrees; zero for negative ones."""
    degree = np.trunc(degree)
    before, value = np.zeros_like(x), np.ones_like(x)
    result = np.where(degree == 0, value, before)
    for k in range(int(np.max(degree, initial=0))):
        before, value = value, recurrence(k, x, value, before)
        result = np.where(degree == k + 1, value, result)
    return result


def of_degree(recurrence: Recurrence, x: Array, degree: Any) -> Array:
    """The polynomial of one degree."""
    known = next((k for k in range(WRITTEN_OUT) if degree == k), None)
    steps = int(degree) if known is None else known
    if steps < 1:
        return np.zeros_like(x) if steps < 0 else np.ones_like(x)
    before, value = 0, 1
    for k in range(steps):
        before, value = value, recurrence(k, x, value, before)
    return value


def family(name: str, recurrence: Recurrence, doc: str, argument: Callable[[Any], Any] = np.positive) -> Any:
    def values_vector(x: Floats, degree: Floats) -> Floats:
        return evaluated(recurrence, argument(x), degree)

    values = blockwise(values_vector)

    def forward(input: Array, n: Array) -> Array:
        return of_degree(recurrence, argument(input), n) if isinstance(n, NUMBERS) else values(input, n)

    forward.__doc__ = doc
    return elementwise(
        name, forward, promote=FLOAT, check=refuse("c", name), differentiable=False, method=False, function=False, inplace=False
    )


def chebyshev(first: Callable[[Floats], Floats]) -> Recurrence:
    """The four kinds differ in their polynomial of degree one only."""
    return lambda k, x, value, before: 2 * x * value - before if k else first(x)


def shifted(x: Floats) -> Floats:
    """The interval from 0 to 1 on that from -1 to 1."""
    return 2 * x - 1


T, U = chebyshev(lambda x: x), chebyshev(lambda x: 2 * x)
V, W = chebyshev(lambda x: 2 * x - 1), chebyshev(lambda x: 2 * x + 1)

chebyshev_polynomial_t = family("chebyshev_polynomial_t", T, "Chebyshev polynomials of the first kind.")
chebyshev_polynomial_u = family("chebyshev_polynomial_u", U, "Chebyshev polynomials of the second kind.")
chebyshev_polynomial_v = family("chebyshev_polynomial_v", V, "Chebyshev polynomials of the third kind.")
chebyshev_polynomial_w = family("chebyshev_polynomial_w", W, "Chebyshev polynomials of the fourth kind.")
shifted_chebyshev_polynomial_t = family("shifted_chebyshev_polynomial_t", T, "The first kind at `2 * input - 1`.", shifted)
shifted_chebyshev_polynomial_u = family("shifted_chebyshev_polynomial_u", U, "The second kind at `2 * input - 1`.", shifted)
shifted_chebyshev_polynomial_v = family("shifted_chebyshev_polynomial_v", V, "The third kind at `2 * input - 1`.", shifted)
shifted_chebyshev_polynomial_w = family("shifted_chebyshev_polynomial_w", W, "The fourth kind at `2 * input - 1`.", shifted)
hermite_polynomial_h = family(
    "hermite_polynomial_h", lambda k, x, value, before: 2 * x * value - 2 * k * before, "Hermite polynomials, as physicists define them."
)
hermite_polynomial_he = family(
    "hermite_polynomial_he", lambda k, x, value, before: x * value - k * before, "Hermite polynomials, as probabilists define them."
)
laguerre_polynomial_l = family(
    "laguerre_polynomial_l", lambda k, x, value, before: ((2 * k + 1 - x) * value - k * before) / (k + 1), "Laguerre polynomials."
)
legendre_polynomial_p = family(
    "legendre_polynomial_p", lambda k, x, value, before: ((2 * k + 1) * x * value - k * before) / (k + 1), "Legendre polynomials."
)
