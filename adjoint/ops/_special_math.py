"""Special functions in vectorised NumPy, to a few units in the last place of float64; other dtypes are computed in float64.

The polynomials were fitted here, in 60 digits, at Chebyshev nodes; each table says to what. Everything else is a textbook series, a
recurrence or a reflection. Arrays are worked off in blocks that fit into the cache, because a polynomial reads its argument many times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._kernels.polynomials import DIGAMMA_FAR, DIGAMMA_NEAR
from .._kernels.special_tables import ERFCX, TEMME, TEMME_ROW, ZETA

Floats = Any  # a vector of float64
BLOCK = 8192

# fmt: off
# erf(x) / x, in powers of x², for |x| < 1
ERF = (
    1.1283791670955126, -0.3761263890318375, 0.11283791670954879, -0.026866170645076792,
    0.0052239776248180145, -0.000854832698083379, 0.0001205533111164271, -1.4925595266831182e-05,
    1.6461000484121368e-06, -1.6350312701054695e-07, 1.4659775274047436e-08, -1.1372848856791674e-09,
    5.957176147748911e-11,
)
# log(Gamma(2 + z)) / z, in powers of z, for |z| <= 0.5
LOG_GAMMA = (
    0.42278433509846713, 0.3224670334241132, -0.06735230105319563, 0.02058080842778338,
    -0.007385551028935545, 0.002890510330865901, -0.0011927539009983087, 0.0005096695196526673,
    -0.00022315497746292723, 9.945761692157133e-05, -4.4923727564247656e-05, 2.050601970174762e-05,
    -9.45628851510172e-06, 4.3828545383846665e-06, -1.9743106888421067e-06, 9.242852225162277e-07,
    -5.811277768921246e-07, 2.7475390051909663e-07,
)
# sqrt(x) exp(-x) I_0(x), in powers of 16 / x - 1, for x >= 8
BESSEL_0 = (
    0.4021765094450081, 0.0033605519836678913, 0.00013621607438951463, 1.114303378845176e-05,
    1.4838476780922646e-06, 2.9735992084667734e-07, 8.872014585661555e-08, 3.932512321137824e-08,
    2.156780676115673e-08, 7.559364098665437e-09, -6.856484545962442e-09, -1.3427511481900905e-08,
    -5.0175940345046716e-09, 7.600254486433509e-09, 6.522264862032271e-09, -3.5862834111582305e-09,
    -4.5305710768621196e-09, 1.6084886155781772e-09, 2.163681278413876e-09, -6.327909921997027e-10,
    -6.494591114401118e-10, 1.7698085539456536e-10, 9.114760157514253e-11, -2.4421972688131832e-11,
)
# sqrt(x) exp(-x) I_1(x), likewise
BESSEL_1 = (
    0.38939845902587233, -0.009749577193235765, -0.00021923576383137776, -1.5038547198221758e-05,
    -1.8349102493990178e-06, -3.4838563464253135e-07, -1.0001075046243961e-07, -4.3128498031006734e-08,
    -2.3394122958362557e-08, -8.432168972932417e-09, 6.84757829926934e-09, 1.4051746928735543e-08,
    5.5720183980930355e-09, -7.687251308765992e-09, -6.9444186339873875e-09, 3.501765193290176e-09,
    4.763780078020254e-09, -1.5218214060680734e-09, -2.2624401109204446e-09, 5.870664618471487e-10,
    6.7727478454462e-10, -1.6283264322621244e-10, -9.491890392992048e-11, 2.2421768596847442e-11,
)
# Bernoulli's numbers B_2k: over 2k (2k - 1), and by themselves
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400, 43867 / 244188)
TRIGAMMA = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798)
DIGAMMA_ROOT = (1.4616321449683622, 9.549995429965697e-17)  # the positive root, and what rounding it lost
# fmt: on


def blockwise(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of float64 vectors work on arrays of any shape, layout and floating dtype.

    Arrays of other classes answer for themselves, as they do to NumPy's own functions.
    """

    def apply(*arrays: Any) -> Any:
        for array in arrays:
            if not isinstance(array, np.ndarray | np.generic | float | int):
                return array.__array_function__(apply, (type(array),), arrays, {})
        operands = np.broadcast_arrays(*arrays)
        shape, dtype = operands[0].shape, np.result_type(*arrays)
        vectors = [np.ascontiguousarray(a).reshape(-1) for a in operands]
        out = np.empty(vectors[0].size, dtype)
        for start in range(0, out.size, BLOCK):
            block = slice(start, start + BLOCK)
            out[block] = kernel(*(v[block].astype(np.float64) for v in vectors))
        return out.reshape(shape)

    apply.__name__ = kernel.__name__.removesuffix("_vector")
    apply.__doc__ = kernel.__doc__
    return apply


def polynomial(coefficients: Sequence[float], x: Floats) -> Floats:
    """Horner's scheme; the constant comes first."""
    total = np.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total *= x
        total += c
    return total


def on(mask: Any, function: Callable[[Floats], Floats], x: Floats, out: Floats) -> None:
    """Fill `out` with the function's values where the mask is set."""
    if np.all(mask):
        out[...] = function(x)
    elif np.any(mask):
        out[mask] = function(x[mask])


def sin_pi(x: Floats) -> Floats:
    """The sine of pi times x, exact at integers."""
    nearest = np.rint(x)
    sine = np.sin(np.pi * (x - nearest))
    return np.where(np.remainder(nearest, 2) == 0, sine, -sine)


# ---- the error function -------------------------------------------------------------------------------------------------------------


def exp_minus_square(x: Floats, factor: float = 1.0) -> Floats:
    """exp(-x²), or that of a power of 2 times x², without the error of rounding x²: the leading half of x is squared exactly."""
    x = np.clip(x, -40, 40)  # beyond, it is 0
    high = (x * 134217729.0) - (x * 134217729.0 - x)  # Dekker's splitting
    return np.exp(-factor * high * high) * np.exp(-factor * (x - high) * (x + high))


def erfcx_positive(x: Floats) -> Floats:
    """exp(x²) erfc(x) for x >= 0."""
    return polynomial(ERFCX, 1 - 7.5 / (x + 3.75)) / (1 + 2 * x)


def erf_small(x: Floats) -> Floats:
    return x * polynomial(ERF, x * x)


def erf_large(x: Floats) -> Floats:
    size = np.abs(x)
    return np.copysign(1 - np.exp(-size * size) * erfcx_positive(size), x)


def erf_vector(x: Floats) -> Floats:
    out = np.array(x)
    size = np.abs(x)
    on(size < 1, erf_small, x, out)
    on(size >= 1, erf_large, x, out)
    return out


def erfc_vector(x: Floats) -> Floats:
    out = np.array(x)
    on(np.abs(x) < 0.5, lambda v: 1 - erf_small(v), x, out)
    on(x >= 0.5, lambda v: exp_minus_square(v) * erfcx_positive(v), x, out)
    on(x <= -0.5, lambda v: 2 - exp_minus_square(v) * erfcx_positive(-v), x, out)
    return out


def erfcx_vector(x: Floats) -> Floats:
    out = np.array(x)
    on(x >= 0, erfcx_positive, x, out)
    on(x < 0, lambda v: 2 / exp_minus_square(v) - erfcx_positive(-v), x, out)
    return out


def gelu_share_vector(x: Floats) -> Floats:
    """The normal distribution function."""
    return erfc_vector(x * -math.sqrt(0.5)) * 0.5


def gelu_slope_vector(x: Floats) -> Floats:
    return gelu_share_vector(x) + x * np.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))


gelu_share = blockwise(gelu_share_vector)
gelu_slope = blockwise(gelu_slope_vector)
erf = blockwise(erf_vector)
erfc = blockwise(erfc_vector)
erfcx = blockwise(erfcx_vector)


def erfc_inverse_tail(q: Floats) -> Floats:
    """The y with erfc(y) = q for 0 < q <= 0.5: a closed formula good to 0.2 % (Winitzki's), and three steps of Halley's method."""
    a = 0.147
    log_q = np.log(q)
    log = log_q + np.log1p(1 - q)  # log(1 - x²) where x = 1 - q
    half = 2 / (np.pi * a) + log / 2
    y = np.sqrt(np.sqrt(half * half - log / a) - half)
    for _ in range(3):
        # The quotient of erfc(y) - q and its derivative, scaled by exp(y²) so that nothing underflows.
        step = (erfcx_positive(y) - np.exp(y * y + log_q)) * (math.sqrt(math.pi) / 2)
        y = y + step / (1 - y * step)
    return y


def erfinv_centre(x: Floats) -> Floats:
    """The y with erf(y) = x for |x| < 0.5, by Halley's method from the tangent at 0."""
    y = x * (math.sqrt(math.pi) / 2) * (1 + (math.pi / 12) * x * x)
    for _ in range(3):
        step = (erf_small(y) - x) * (math.sqrt(math.pi) / 2) * np.exp(y * y)
        y = y - step / (1 + y * step)
    return y


def erfinv_vector(x: Floats) -> Floats:
    out = np.full_like(x, np.nan)
    size = np.abs(x)
    on(size <= 0.5, erfinv_centre, x, out)
    on((size > 0.5) & (size < 1), lambda v: np.copysign(erfc_inverse_tail(1 - np.abs(v)), v), x, out)
    on(size == 1, lambda v: np.copysign(np.inf, v), x, out)
    return out


def ndtri_vector(p: Floats) -> Floats:
    """The quantile function of the normal distribution."""
    out = np.full_like(p, np.nan)
    root = math.sqrt(2)
    on((p > 0) & (p <= 0.25), lambda v: -root * erfc_inverse_tail(2 * v), p, out)
    on((p > 0.25) & (p < 0.75), lambda v: root * erfinv_centre(2 * v - 1), p, out)
    on((p >= 0.75) & (p < 1), lambda v: root * erfc_inverse_tail(2 * (1 - v)), p, out)
    on(p == 0, lambda v: np.full_like(v, -np.inf), p, out)
    on(p == 1, lambda v: np.full_like(v, np.inf), p, out)
    return out


def log_ndtr_vector(x: Floats) -> Floats:
    """The logarithm of the normal distribution function."""
    out = np.array(x)
    root = math.sqrt(2)
    on(x < -1, lambda v: np.log(erfcx_vector(-v / root) / 2) - v * v / 2, x, out)
    on((x >= -1) & (x < 1), lambda v: np.log1p(-erfc_vector(v / root) / 2), x, out)
    on(x >= 1, lambda v: np.log1p(-erfcx_positive(v / root) * exp_minus_square(v, 0.5) / 2), x, out)
    return out


erfinv = blockwise(erfinv_vector)
ndtri = blockwise(ndtri_vector)
log_ndtr = blockwise(log_ndtr_vector)

# ---- the gamma function -------------------------------------------------------------------------------------------------------------


def log_gamma_near_two(x: Floats) -> Floats:
    """For x in [1.5, 2.5]; the root at 2 is a factor."""
    z = x - 2
    return z * polynomial(LOG_GAMMA, z)


def log_gamma_small(x: Floats) -> Floats:
    """For x in (0, 1.5), from [1.5, 2.5) by x Gamma(x) = Gamma(x + 1)."""
    up = np.where(x < 0.5, x + 2, x + 1)
    z = np.where(x < 0.5, x, x - 1)
    shift = np.where(x < 0.5, np.log(x) + np.log1p(x), np.log1p(z))
    return z * polynomial(LOG_GAMMA, up - 2) - shift


def brought_down(x: Floats) -> tuple[Floats, Floats]:
    """A number below 2.5, and the product by which their gamma functions differ."""
    product = np.ones_like(x)
    while (high := x >= 2.5).any():
        x = np.where(high, x - 1, x)
        product *= np.where(high, x, 1.0)
    return x, product


def log_gamma_medium(x: Floats) -> Floats:
    """For x in [2.5, 10), likewise from above."""
    base, product = brought_down(x)
    return log_gamma_near_two(base) + np.log(product)


def log_gamma_large(x: Floats) -> Floats:
    """Stirling's series."""
    inverse = 1 / x
    series = inverse * polynomial(STIRLING, inverse * inverse)
    return (x - 0.5) * (np.log(x) - 1) - 0.5 + 0.5 * math.log(2 * math.pi) + series


def lgamma_positive(x: Floats) -> Floats:
    out = np.array(x)
    on(x < 1.5, log_gamma_small, x, out)
    on((x >= 1.5) & (x < 2.5), log_gamma_near_two, x, out)
    on((x >= 2.5) & (x < 10), log_gamma_medium, x, out)
    on((x >= 10) & (x < np.inf), log_gamma_large, x, out)
    return out


def lgamma_reflected(x: Floats) -> Floats:
    """For x <= 0: log(pi / |x sin(pi x)|) - lgamma(-x)."""
    size = -x
    poles = x == np.floor(x)
    value = math.log(math.pi) - np.log(np.abs(sin_pi(size)) * size) - lgamma_positive(np.where(poles, 1.0, size))
    return np.where(poles, np.inf, value)


def lgamma_vector(x: Floats) -> Floats:
    out = np.array(x)
    on(x > 0, lgamma_positive, x, out)
    on(x <= 0, lgamma_reflected, x, out)
    return out


def digamma_near(x: Floats) -> Floats:
    """For x in (0, 3), from [1, 2), where the root is a factor, by digamma(x + 1) = digamma(x) + 1 / x."""
    low, high = x < 1, x >= 2
    base = np.where(low, x + 1, np.where(high, x - 1, x))
    lost = np.where(low, x - (base - 1), 0.0)
    value = ((base - DIGAMMA_ROOT[0]) + (lost - DIGAMMA_ROOT[1])) * polynomial(DIGAMMA_NEAR["f64"], base - 1.5)
    return value - np.where(low, 1 / x, 0.0) + np.where(high, 1 / base, 0.0)


def digamma_far(x: Floats) -> Floats:
    inverse = 1 / x
    square = inverse * inverse
    return np.log(x) - (square * polynomial(DIGAMMA_FAR["f64"], square) + 0.5 * inverse)


def digamma_positive(x: Floats) -> Floats:
    out = np.array(x)
    on(x < 3, digamma_near, x, out)
    on(x >= 3, digamma_far, x, out)
    return out


def digamma_vector(x: Floats) -> Floats:
    out = np.array(x)
    whole = x == np.floor(x)
    on((x > 0) & (x < np.inf), digamma_positive, x, out)
    on((x < 0) & whole, lambda v: np.full_like(v, np.nan), x, out)
    on((x < 0) & ~whole, lambda v: digamma_positive(1 - v) - np.pi / np.tan(np.pi * (v - np.rint(v))), x, out)
    on(x == 0, lambda v: np.copysign(np.inf, -v), x, out)
    return out


def trigamma_positive(x: Floats) -> Floats:
    total = np.zeros_like(x)
    while (low := x < 10).any():
        total += np.where(low, 1 / (x * x), 0.0)
        x = np.where(low, x + 1, x)
    inverse = 1 / (x * x)
    return total + (1 / x + inverse * (0.5 + polynomial(TRIGAMMA, inverse) / x))


def trigamma_vector(x: Floats) -> Floats:
    out = np.array(x)
    on((x > 0) & (x < np.inf), trigamma_positive, x, out)
    on(x <= 0, lambda v: (np.pi / sin_pi(v)) ** 2 - trigamma_positive(1 - v), x, out)
    on(x == np.inf, np.zeros_like, x, out)
    return out


def zeta_sum(s: Floats, q: Floats) -> Floats:
    """Hurwitz's zeta function for s > 1: the first terms of its sum, and Euler's and Maclaurin's formula for the rest."""
    total = np.zeros_like(q)
    enough = 10 + np.minimum(s, 50.0)
    while (low := q < enough).any():
        total += np.where(low, q**-s, 0.0)
        q = np.where(low, q + 1, q)
    power = q**-s
    total += power * (q / (s - 1) + 0.5)
    term = power * s / q
    inverse = 1 / (q * q)
    for k, coefficient in enumerate(ZETA):
        total += coefficient * term
        term = term * (s + 2 * k + 1) * (s + 2 * k + 2) * inverse
    return total


def zeta_vector(s: Floats, q: Floats) -> Floats:
    pole = (q <= 0) & (q == np.floor(q))
    regular = ~pole & np.isfinite(q) & (s > 1) & np.isfinite(s)
    value = zeta_sum(np.where(regular, s, 2.0), np.where(regular, q, 10.0))
    value = np.where(q == np.inf, 0.0, np.where(s == np.inf, np.where(q > 1, 0.0, np.where(q == 1, 1.0, np.inf)), value))
    value = np.where(pole, np.inf, np.where((q < 0) & (s != np.floor(s)), np.nan, value))
    value = np.where(np.isnan(q) | np.isnan(s) | (s < 1), np.nan, value)
    return np.where(s == 1, np.inf, value)


def polygamma_vector(n: Floats, x: Floats) -> Floats:
    """The derivative number n > 1 of digamma; n is the same number everywhere."""
    order = int(n[0])
    return float(math.factorial(order) * (-1) ** (order + 1)) * zeta_vector(n + 1, x)


# The incomplete gamma functions: the power series for small x, the continued fraction (Lentz's way) for large x, and Temme's expansion
# around x = a for large a, for which both would take too many terms.


def departure(a: Floats, x: Floats) -> Floats:
    """mu - log(1 + mu), where 1 + mu = x / a; by the series of the logarithm in mu / (2 + mu) where the terms would cancel."""
    mu = (x - a) / a
    r = mu / (2 + mu)
    near = r * (mu - r * r * polynomial([2 / (2 * k + 1) for k in range(1, 14)], r * r))
    return np.where(np.abs(mu) < 0.4, near, mu - np.log(x / a))


def gamma_factor(a: Floats, x: Floats) -> Floats:
    """x**a exp(-x) / gamma(a), for large a by Stirling's series, so that no large numbers cancel in the exponent."""
    out = np.empty_like(a)
    small, large = a < 10, a >= 10
    if small.any():
        base, product = brought_down(a[small])
        factor = np.minimum(x[small], 2000.0) ** a[small] / product
        out[small] = factor * np.exp(-x[small] - np.where(base < 1.5, log_gamma_small(base), log_gamma_near_two(base)))
    if large.any():
        a, x, inverse = a[large], x[large], 1 / a[large]
        series = inverse * polynomial(STIRLING, inverse * inverse)
        out[large] = np.sqrt(a / (2 * np.pi)) * np.exp(-a * departure(a, x) - series)
    return out


def near_large(a: Floats, x: Floats, upper: bool) -> Floats:
    """Temme's expansion, for a >= 200 and x between 0.7 a and 1.3 a."""
    exponent = departure(a, x)
    eta = np.copysign(np.sqrt(2 * exponent), x - a)
    series = np.zeros_like(a)
    for start in reversed(range(0, len(TEMME), TEMME_ROW)):
        series = series / a + polynomial(TEMME[start : start + TEMME_ROW], eta)
    side = 1 if upper else -1
    return 0.5 * erfc_vector(side * eta * np.sqrt(0.5 * a)) + side * np.exp(-a * exponent) / np.sqrt(2 * np.pi * a) * series


def lower_series(a: Floats, x: Floats) -> Floats:
    term = 1 / a
    total = term
    n = 0
    while n < 1_000_000 and np.any(np.abs(term) > np.abs(total) * 1e-17):
        n += 1
        a = a + 1
        term = term * x / a
        total = total + term
    return total


def upper_of_small(a: Floats, x: Floats) -> Floats:
    """The regularised integral above x for a < 0.5 and x < 1, where it is far from 1."""
    growth = np.expm1(a * np.log(x) - lgamma_positive(a + 1))
    term = -np.ones_like(x)
    total = np.zeros_like(x)
    for n in range(1, 20):
        term = term * (-x / n)
        total = total + term / (a + n)
    return (growth + 1) * a * total - growth


def upper_fraction(a: Floats, x: Floats) -> Floats:
    b = x + 1 - a
    c = np.full_like(x, 1e300)
    d = 1 / b
    value = d
    n = 0
    going = np.ones(x.shape, bool)
    while going.any() and n < 10_000:
        n += 1
        step = n * (a - n)
        b = b + 2
        d = 1 / (step * d + b)
        c = b + step / c
        change = c * d
        going &= np.abs(change - 1) > 1e-15
        value = np.where(going, value * change, value)  # what has converged gathers no more errors
    return value


def incomplete_gamma(a: Floats, x: Floats, upper: bool) -> Floats:
    regular = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    large = regular & (a >= 200) & (np.abs(x - a) < 0.3 * a)
    a_, x_ = np.where(regular & ~large, a, 1.0), np.where(regular & ~large, x, 1.0)
    factor = gamma_factor(a_, x_)
    small = regular & (a < 0.5) & (x < 1) & upper
    series, some = (x_ < a_ + 1) & ((a_ >= 0.5) | (not upper)), (factor > 0) & ~small
    below, above = series & some, ~series & some
    lower = factor * lower_series(np.where(below, a_, 1.0), np.where(below, x_, 1.0))
    rest = factor * upper_fraction(np.where(above, a_, 1.0), np.where(above, x_, 2.0))
    value = np.where(series, 1 - lower, rest) if upper else np.where(series, lower, 1 - rest)
    if large.any():
        value[large] = near_large(a[large], x[large], upper)
    if small.any():
        value[small] = upper_of_small(a[small], x[small])
    nothing, everything = (1.0, 0.0) if upper else (0.0, 1.0)
    value = np.where((x == np.inf) | ((a == 0) & (x > 0)), everything, np.where((x == 0) | (a == np.inf), nothing, value))
    undefined = (a < 0) | (x < 0) | ((a == 0) & (x == 0)) | ((a == np.inf) & (x == np.inf)) | np.isnan(a) | np.isnan(x)
    return np.where(undefined, np.nan, value)


def igamma_vector(a: Floats, x: Floats) -> Floats:
    return incomplete_gamma(a, x, upper=False)


def igammac_vector(a: Floats, x: Floats) -> Floats:
    return incomplete_gamma(a, x, upper=True)


igamma = blockwise(igamma_vector)
igammac = blockwise(igammac_vector)
lgamma = blockwise(lgamma_vector)
digamma = blockwise(digamma_vector)
trigamma = blockwise(trigamma_vector)
zeta = blockwise(zeta_vector)
polygamma = blockwise(polygamma_vector)

# ---- modified Bessel functions ------------------------------------------------------------------------------------------------------


def bessel_series(order: int, x: Floats) -> Floats:
    """The power series of I_0 or I_1, for |x| <= 8; all its terms are positive."""
    terms = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(26)]
    half = x / 2
    total = polynomial(terms, half * half)
    return total * half if order else total


def bessel_tail(order: int, x: Floats) -> Floats:
    """exp(-|x|) I(x) for |x| > 8."""
    size = np.abs(x)
    value = polynomial(BESSEL_1 if order else BESSEL_0, 16 / size - 1) / np.sqrt(size)
    return np.copysign(value, x) if order else value


def bessel(order: int, scaled: bool) -> Callable[..., Any]:
    def vector(x: Floats) -> Floats:
        out = np.array(x)
        near = np.abs(x) <= 8
        if scaled:
            on(near, lambda v: bessel_series(order, v) * np.exp(-np.abs(v)), x, out)
            on(np.abs(x) > 8, lambda v: bessel_tail(order, v), x, out)
        else:
            on(near, lambda v: bessel_series(order, v), x, out)
            # exp(x) overflows before exp(x) / sqrt(x) does.
            on(np.abs(x) > 8, lambda v: bessel_tail(order, v) * np.exp(np.abs(v) / 2) * np.exp(np.abs(v) / 2), x, out)
        return out

    vector.__name__ = f"i{order}e" if scaled else f"i{order}"
    return blockwise(vector)


i0, i0e = bessel(0, scaled=False), bessel(0, scaled=True)
i1, i1e = bessel(1, scaled=False), bessel(1, scaled=True)
