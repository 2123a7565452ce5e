"""The special functions against the standard library, and against identities where it has none."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjoint.ops import _special_math as numerics

RANDOM = np.random.default_rng(0)


def ulps(computed: Any, exact: Any) -> float:
    """The largest difference, in units in the last place of the exact value."""
    return float(np.max(np.abs(computed - exact) / np.spacing(np.abs(exact))))


@pytest.mark.parametrize(
    ("function", "exact", "low", "high", "allowed"),
    [
        (numerics.erf, math.erf, -6, 6, 3),
        (numerics.erf, math.erf, -1e-6, 1e-6, 2),
        (numerics.erfc, math.erfc, -5, 26, 6),
        (numerics.lgamma, math.lgamma, 1e-3, 0.6, 24),
        (numerics.lgamma, math.lgamma, 2.5, 4, 32),  # terms cancel towards the root at 2
        (numerics.lgamma, math.lgamma, 4, 200, 8),
        (numerics.lgamma, math.lgamma, 1e3, 1e12, 4),
    ],
)
def test_against_the_standard_library(
    function: Callable[[Any], Any], exact: Callable[[float], float], low: float, high: float, allowed: float
) -> None:
    x = RANDOM.uniform(low, high, 2000)
    assert ulps(function(x), np.array([exact(v) for v in x])) <= allowed


def test_log_gamma_near_its_roots() -> None:
    """The standard library is no help there. The series: log(Gamma(2 + z)) = (1 - gamma) z + sum of zeta(k) - 1 over k times (-z)^k."""
    z = (2 + RANDOM.uniform(-0.05, 0.05, 500)) - 2
    exact = (1 - 0.5772156649015329) * z
    for k in range(2, 12):
        exact = exact + (float(numerics.zeta(float(k), 2.0)) / k) * (-z) ** k
    np.testing.assert_allclose(numerics.lgamma(2 + z), exact, rtol=1e-13)
    np.testing.assert_allclose(numerics.lgamma(1 + z), exact - np.log1p(z), rtol=1e-13)


def test_inverse_of_the_error_function() -> None:
    x = np.concatenate([RANDOM.uniform(-1, 1, 1000), 1 - 10.0 ** RANDOM.uniform(-15, -1, 500)])
    y = numerics.erfinv(x)
    # Near 1 the complement tells more: erf(y) is 1 - q.
    np.testing.assert_allclose(numerics.erfc(np.abs(y)), 1 - np.abs(x), rtol=1e-13)
    np.testing.assert_allclose(numerics.erf(y), x, rtol=1e-15)


def test_quantiles_of_the_normal_distribution() -> None:
    p = 10.0 ** RANDOM.uniform(-300, -0.01, 1000)
    np.testing.assert_allclose(numerics.erfc(-numerics.ndtri(p) / math.sqrt(2)) / 2, p, rtol=1e-11)


def test_digamma_and_zeta_recur() -> None:
    x = RANDOM.uniform(0.1, 30, 1000)
    np.testing.assert_allclose(numerics.digamma(x + 1), numerics.digamma(x) + 1 / x, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(numerics.digamma(-x), numerics.digamma(x) + 1 / x + np.pi / np.tan(np.pi * x), rtol=1e-9, atol=1e-9)
    for s in (1.5, 2.0, 7.0):
        np.testing.assert_allclose(numerics.zeta(s, x), numerics.zeta(s, x + 1) + x**-s, rtol=1e-14)
    assert abs(numerics.zeta(2.0, 1.0) - math.pi**2 / 6) < 4e-16
    assert abs(numerics.digamma(np.array(1.0)) + 0.57721566490153286) < 2e-16


def test_bessel_functions_are_continuous_and_satisfy_their_equation() -> None:
    """The derivative of x I_1(x) is x I_0(x), by differences; and the two formulas meet at 8."""
    x, h = RANDOM.uniform(0.5, 30, 500), 1e-5
    slope = ((x + h) * numerics.i1(x + h) - (x - h) * numerics.i1(x - h)) / (2 * h)
    np.testing.assert_allclose(slope, x * numerics.i0(x), rtol=1e-8)
    for f in (numerics.i0, numerics.i1, numerics.i0e, numerics.i1e):
        below, above = f(np.array([8.0, np.nextafter(8.0, 9)]))
        assert abs(below - above) <= 32 * np.spacing(above)
    np.testing.assert_allclose(numerics.i0(np.array([0.0, 1.0])), [1.0, 1.2660658777520083], rtol=1e-15)
    assert np.isfinite(numerics.i0(np.array(713.0)))


def test_incomplete_gamma_functions() -> None:
    x = RANDOM.uniform(0, 40, 500)
    np.testing.assert_allclose(numerics.igamma(1.0, x), -np.expm1(-x), rtol=1e-13)
    np.testing.assert_allclose(numerics.igammac(0.5, x), numerics.erfc(np.sqrt(x)), rtol=1e-12)
    a = RANDOM.uniform(0.1, 50, 500)
    np.testing.assert_allclose(numerics.igamma(a, x) + numerics.igammac(a, x), 1, rtol=1e-12)


def test_other_arrays_answer_for_themselves() -> None:
    """The kernel maker's formulas take part, like in NumPy's functions."""
    from adjoint._kernels.expr import Expr

    x: Any = Expr.inputs(1)[0]
    assert repr(numerics.erf(x)) == "erf(x0)"
    assert repr(numerics.erfc(x * 2)) == "erfc(multiply(x0, 2))"


def test_shapes_layouts_and_dtypes() -> None:
    x = RANDOM.uniform(-2, 2, (3, 4, 5))
    expected = numerics.erf(x)
    np.testing.assert_array_equal(numerics.erf(x.T), expected.T)
    np.testing.assert_array_equal(numerics.erf(x[:, ::2]), expected[:, ::2])
    assert numerics.erf(np.array(0.5)).shape == ()
    assert numerics.erf(np.zeros((0, 3))).shape == (0, 3)
    for dtype in (np.float16, np.float32):
        got = numerics.erf(x.astype(dtype))
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=2 * float(np.finfo(dtype).eps), atol=float(np.finfo(dtype).eps))
    large = RANDOM.uniform(-2, 2, 3 * numerics.BLOCK + 1)
    np.testing.assert_array_equal(numerics.erf(large)[-5:], numerics.erf(large[-5:]))


# In 60 digits: a, x, and the regularised integrals below and above x.
INCOMPLETE = [
    (0.3, 0.2, 0.6575067242697218, 0.34249327573027827),
    (0.05, 1.02, 0.988846988009286, 0.011153011990713993),
    (0.5, 2.5, 0.9746526813225317, 0.025347318677468263),
    (3.5, 1.25, 0.07290293498652624, 0.9270970650134738),
    (8.25, 9.5, 0.701930871278657, 0.2980691287213429),
    (30.0, 12.5, 1.877414718183592e-05, 0.9999812258528181),
    (30.0, 70.0, 0.9999999756717983, 2.4328201698573227e-08),
    (150.0, 149.0, 0.4782302571374064, 0.5217697428625936),
    (199.5, 260.0, 0.9999587236915871, 4.127630841292133e-05),
    (200.0, 200.0, 0.5094034180072363, 0.4905965819927637),
    (250.0, 190.0, 1.8299147249727906e-05, 0.9999817008527503),
    (1000.0, 1290.0, 1.0, 1.8894810311347838e-17),
    (1000.0, 600.0, 2.324060057960917e-50, 1.0),
    (5000.0, 5100.0, 0.9206711189223811, 0.07932888107761897),
]
# For huge a the distribution is normal around a: at a + t sqrt(a), that of t.
HUGE = [
    (1e30, 0.0, 0.5), (1e30, -1e300, 0.0), (1e30, 1e300, 1.0), (1e200, 0.0, 0.5), (2.0**60, 3.0, 0.9986501019683699),
    (2.0**60, -2.0, 0.02275013194817921),
]  # fmt: skip


@pytest.mark.parametrize(("a", "x", "below", "above"), INCOMPLETE)
def test_incomplete_gamma_functions_to_the_last_digits(a: float, x: float, below: float, above: float) -> None:
    eps = np.finfo(float).eps
    for found, exact in ((numerics.igamma(a, x), below), (numerics.igammac(a, x), above)):
        exponent = abs(math.log(exact)) if exact else 0.0  # whose rounding is an error of the power
        np.testing.assert_allclose(found, exact, rtol=(64 + 4 * exponent) * eps)


@pytest.mark.parametrize(("a", "distance", "below"), HUGE)
def test_incomplete_gamma_functions_of_huge_numbers(a: float, distance: float, below: float) -> None:
    x = np.maximum(a + distance * math.sqrt(a), 1.0)
    np.testing.assert_allclose(numerics.igamma(np.array(a), x), below, rtol=1e-8, atol=1e-300)
    np.testing.assert_allclose(numerics.igammac(np.array(a), x), 1 - below, rtol=1e-6, atol=1e-300)
