"""Fit the polynomials of the kernels' mathematical functions: `python tools/fit_polynomials.py` writes adjoint/_kernels/polynomials.py.

Every polynomial is the best one of its degree in the sense of the largest weighted error (Remez' exchange, in 60 digits), before its
coefficients are rounded. Needs mpmath.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

mp: Any = importlib.import_module("mpmath").mp
mp.dps = 60

TARGET = Path(__file__).resolve().parent.parent / "adjoint" / "_kernels" / "polynomials.py"
GRID = 40  # points per term of a polynomial at which its error is looked at


class Fit(NamedTuple):
    """A function to be fitted on an interval, what its error is multiplied with, and how many terms each type gets."""

    name: str
    what: str
    function: Callable[[Any], Any]
    low: Any
    high: Any
    weight: Callable[[Any], Any]
    terms: dict[str, int]


def grid(fit: Fit, count: int) -> list[Any]:
    """Points that are dense at the ends of the interval, as the extrema of the error are."""
    middle, reach = (fit.low + fit.high) / 2, (fit.high - fit.low) / 2
    return [middle - reach * mp.cos(mp.pi * k / (count - 1)) for k in range(count)]


def remez(fit: Fit, terms: int) -> tuple[list[Any], Any]:
    """The best polynomial, the constant first, and its largest weighted error."""
    points = grid(fit, GRID * terms)
    values = [fit.function(x) for x in points]
    weights = [fit.weight(x) for x in points]
    reference = [round(k * (len(points) - 1) / terms) for k in range(terms + 1)]
    for _ in range(30):
        system = mp.matrix(terms + 1, terms + 1)
        right = mp.matrix(terms + 1, 1)
        for row, place in enumerate(reference):
            for power in range(terms):
                system[row, power] = points[place] ** power
            system[row, terms] = (-1) ** row / weights[place]
            right[row] = values[place]
        *coefficients, level = mp.lu_solve(system, right)
        errors = [(mp.polyval(coefficients[::-1], x) - f) * w for x, f, w in zip(points, values, weights, strict=True)]
        worst = max(map(abs, errors))
        if worst < abs(level) * mp.mpf("1.001"):
            break
        reference = alternating(errors, terms + 1)
    return coefficients, worst


def alternating(errors: list[Any], count: int) -> list[int]:
    """The places of the largest errors of alternating sign."""
    peaks: list[int] = []
    for place, error in enumerate(errors):
        if peaks and (errors[peaks[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[peaks[-1]]):
                peaks[-1] = place
        else:
            peaks.append(place)
    while len(peaks) > count:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    return peaks


def odd(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """(f(x) / x - 1) / x² as a function of x², for an odd f with slope 1."""
    return lambda z: (function(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z else odd(function)(mp.mpf(10) ** -20)


def even(function: Callable[[Any], Any], second: float) -> Callable[[Any], Any]:
    """(f(x) - 1 - second x²) / x⁴ as a function of x²."""
    return lambda z: (function(mp.sqrt(z)) - 1 - second * z) / z**2 if z else even(function, second)(mp.mpf(10) ** -12)


def erf_slope(z: Any) -> Any:
    return mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1 if z else 2 / mp.sqrt(mp.pi) - 1


def at_zero(function: Callable[[Any], Any], least: str = "1e-12") -> Callable[[Any], Any]:
    """The function, continued to 0, where its formula has none: by its value at a number that is not so small that nothing remains."""
    return lambda x: function(x if abs(x) > mp.mpf(least) else mp.mpf(least))


def scaled_erfc(t: Any) -> Any:
    x = (1 + t) / (1 - t)
    return (x + 1) * mp.exp(x * x) * mp.erfc(x)


def log_erfc(x: Any) -> Any:
    return mp.log(mp.erfc(x))


def normal_tail(x: Any) -> Any:
    return mp.erfc(x / mp.sqrt(2)) / 2


def turned(x: float) -> Any:
    """The variable of `scaled_erfc`."""
    return (mp.mpf(x) - 1) / (mp.mpf(x) + 1)


def erfinv_slope(w: Any) -> Any:
    """erfinv(x) / x, where w = -log(1 - x²)."""
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x


def erfinv_rest(v: Any) -> Any:
    root = v + mp.mpf("3.5")
    return erfinv_slope(root * root) - root


def stirling_rest(u: Any) -> Any:
    x = 1 / mp.sqrt(u)
    return x * (mp.loggamma(x) - (x - mp.mpf("0.5")) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def log_gamma_slope(z: Any) -> Any:
    b = z + mp.mpf("1.6")
    roots = (b - 1) * (b - 2)
    return mp.loggamma(b) / roots if abs(roots) > mp.mpf(10) ** -25 else -mp.digamma(b) if b < mp.mpf("1.5") else mp.digamma(b)


def digamma_rest(u: Any) -> Any:
    x = 1 / mp.sqrt(u)
    return x * x * (mp.log(x) - 1 / (2 * x) - mp.digamma(x))


def digamma_slope(z: Any) -> Any:
    y = z + mp.mpf("1.5")
    return mp.digamma(y) / (y - DIGAMMA_ROOT) if abs(y - DIGAMMA_ROOT) > mp.mpf(10) ** -20 else mp.psi(1, y)


def trigamma_rest(u: Any) -> Any:
    x = 1 / mp.sqrt(u)
    return x * x * x * (mp.psi(1, x) - 1 / x - 1 / (2 * x * x))


def bessel_rest(order: int) -> Callable[[Any], Any]:
    """sqrt(x) exp(-x) I(x), in 0.725 - 16 / (x + 8)."""

    def rest(t: Any) -> Any:
        x = 16 / (mp.mpf("0.725") - t) - 8
        return mp.sqrt(x) * mp.exp(-x) * mp.besseli(order, x)

    return rest


def bessel_near(order: int) -> Callable[[Any], Any]:
    """I(x) / x**order, in x²."""
    return at_zero(lambda z: mp.besseli(order, mp.sqrt(z)) / mp.sqrt(z) ** order, "1e-25")


DIGAMMA_ROOT = mp.findroot(mp.digamma, mp.mpf("1.4616"))
LN2_HALF = mp.log(2) / 2 * mp.mpf("1.0001")
EIGHTH = mp.pi / 4 * mp.mpf("1.0001")
ROOT_MANTISSA = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.0001")

ZERO = mp.mpf(0)


def weighted(power: int, least: str) -> Callable[[Any], Any]:
    """Errors of a polynomial that is multiplied with that power of its variable; near 0 they count a little more."""
    return lambda x: abs(x) ** power + mp.mpf(least)


FITS = [
    Fit("EXP", "(exp(r) - 1 - r) / r², |r| <= ln(2) / 2",
        at_zero(lambda r: (mp.expm1(r) - r) / r**2), -LN2_HALF, LN2_HALF, weighted(2, "1e-3"), {"f32": 5, "f64": 10}),
    Fit("EXP2", "(2**r - 1) / r, |r| <= 1/2",
        at_zero(lambda r: (mp.mpf(2) ** r - 1) / r), -mp.mpf("0.5001"), mp.mpf("0.5001"), weighted(1, "1e-2"), {"f32": 6, "f64": 11}),
    Fit("SINH", "(sinh(r) / r - 1) / r², in r², |r| <= ln(2) / 2",
        odd(mp.sinh), ZERO, LN2_HALF**2, weighted(1, "1e-3"), {"f32": 3, "f64": 5}),
    Fit("COSH", "(cosh(r) - 1 - r²/2) / r⁴, in r², likewise",
        even(mp.cosh, 0.5), ZERO, LN2_HALF**2, weighted(2, "1e-4"), {"f32": 2, "f64": 5}),
    Fit("LOG", "2 (atanh(s) / s - 1) / s², in s², where (1 + s) / (1 - s) is between sqrt(1/2) and sqrt(2)",
        lambda z: 2 * odd(mp.atanh)(z), ZERO, ROOT_MANTISSA, weighted(1, "1e-3"), {"f32": 3, "f64": 7}),
    Fit("LOG_TAIL", "(atanh(s) / s - 1 - s²/3) / s⁴, in s², likewise",
        lambda z: (odd(mp.atanh)(z) - mp.mpf(1) / 3) / z if z else mp.mpf(1) / 5, ZERO, ROOT_MANTISSA, weighted(2, "1e-4"), {"f64": 7}),
    Fit("ATANH", "(atanh(s) / s - 1) / s², in s², |s| <= 0.26",
        odd(mp.atanh), ZERO, mp.mpf("0.0676"), weighted(1, "1e-3"), {"f32": 4, "f64": 9}),
    Fit("SIN", "(sin(r) / r - 1) / r², in r², |r| <= pi / 4", odd(mp.sin), ZERO, EIGHTH**2, weighted(1, "1e-3"), {"f32": 3, "f64": 6}),
    Fit("COS", "(cos(r) - 1 + r²/2) / r⁴, in r², likewise",
        even(mp.cos, -0.5), ZERO, EIGHTH**2, weighted(2, "1e-3"), {"f32": 3, "f64": 6}),
    Fit("ATAN", "(atan(t) / t - 1) / t², in t², |t| <= tan(pi / 8)",
        odd(mp.atan), ZERO, mp.tan(mp.pi / 8) ** 2 * mp.mpf("1.0001"), weighted(1, "1e-3"), {"f32": 5, "f64": 11}),
    Fit("ASIN", "(asin(y) / y - 1) / y², in y², |y| <= 1/2",
        odd(mp.asin), ZERO, mp.mpf("0.25"), weighted(1, "1e-3"), {"f32": 6, "f64": 13}),
    Fit("ERF", "erf(x) / x - 1, in x², |x| <= 1", erf_slope, ZERO, mp.mpf(1), lambda z: 1 / (1 + erf_slope(z)), {"f32": 7, "f64": 13}),
    Fit("LOG_ERFC", "log(erfc(x)), from 1 to where 1 - erfc(x) rounds to 1", log_erfc, mp.mpf("0.99"), mp.mpf("4.01"), mp.erfc, {"f32": 7}),
    Fit("LOG_ERFC", "", log_erfc, mp.mpf("0.99"), mp.mpf("5.96"), mp.erfc, {"f64": 18}),
    Fit("LOG_TAIL_OF_NORMAL", "log2 of the normal distribution at -x, from 0 to where its product with x does not matter beside 1",
        lambda x: mp.log(normal_tail(x), 2), ZERO, mp.mpf("5.7"), lambda x: 2 * normal_tail(x) + mp.mpf("1e-4"), {"f32": 10}),
    Fit("LOG_TAIL_OF_NORMAL", "", lambda x: mp.log(normal_tail(x), 2), ZERO, mp.mpf("8.4"), lambda x: 2 * normal_tail(x) + mp.mpf("1e-8"),
        {"f64": 26}),
    Fit("ERFC", "(x + 1) exp(x²) erfc(x), in (x - 1) / (x + 1), from 0.9 to where erfc(x) rounds to 0",
        scaled_erfc, turned(0.9), turned(10.2), lambda t: 1 / scaled_erfc(t), {"f32": 9}),
    Fit("ERFC", "", scaled_erfc, turned(0.9), turned(27.3), lambda t: 1 / scaled_erfc(t), {"f64": 24}),
    Fit("ERFINV_NEAR", "(erfinv(x) / x - sqrt(pi) / 2) / w, in w - 2.5, where w = -log(1 - x²), w <= 5",
        lambda v: at_zero(lambda w: (erfinv_slope(w) - mp.sqrt(mp.pi) / 2) / w, "1e-20")(v + mp.mpf("2.5")), mp.mpf("-2.5"), mp.mpf("2.5"),
        lambda v: v + mp.mpf("2.51"), {"f32": 10, "f64": 22}),
    Fit("ERFINV_FAR", "erfinv(x) / x - sqrt(w), in sqrt(w) - 3.5, for greater w",
        erfinv_rest, mp.sqrt(5) - mp.mpf("3.5"), mp.mpf("0.58"), lambda v: mp.mpf(1), {"f32": 11}),
    Fit("ERFINV_FAR", "", erfinv_rest, mp.sqrt(5) - mp.mpf("3.5"), mp.mpf("2.51"), lambda v: mp.mpf(1), {"f64": 34}),
    Fit("LOG_GAMMA", "log(Gamma(2 + z)) / z, |z| <= 1/2; and log(Gamma(b)) / ((b - 1) (b - 2)), in b - 1.6, 0.7 <= b <= 2.5",
        at_zero(lambda z: mp.loggamma(2 + z) / z, "1e-25"), -mp.mpf("0.5"), mp.mpf("0.5"), lambda z: mp.mpf(1), {"f32": 10}),
    Fit("LOG_GAMMA", "", log_gamma_slope, -mp.mpf("0.9"), mp.mpf("0.9"), lambda z: mp.mpf(1), {"f64": 31}),
    Fit("STIRLING", "x (log(Gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2), in 1 / x², x >= 4.5",
        at_zero(stirling_rest), ZERO, mp.mpf("4.5") ** -2, weighted(1, "1e-3"), {"f32": 4, "f64": 8}),
    Fit("SINC", "sin(pi f) / (pi f), in f², |f| <= 1/2",
        at_zero(lambda z: mp.sinc(mp.pi * mp.sqrt(z)), "1e-25"), ZERO, mp.mpf("0.25"), lambda z: mp.mpf(1), {"f32": 6, "f64": 11}),
    Fit("DIGAMMA_NEAR", "digamma(y) / (y - its root), in y - 3/2, 1 <= y <= 2",
        digamma_slope, -mp.mpf("0.5"), mp.mpf("0.5"), lambda z: mp.mpf(1), {"f32": 11, "f64": 22}),
    Fit("DIGAMMA_FAR", "x² (log(x) - 1 / (2 x) - digamma(x)), in 1 / x², x >= 3",
        at_zero(digamma_rest), ZERO, mp.mpf(3) ** -2, weighted(1, "1e-3"), {"f32": 5, "f64": 14}),
    Fit("COTANGENT", "(1 / f - pi cot(pi f)) / f, in f², |f| <= 1/2",
        at_zero(lambda z: 1 / z - mp.pi * mp.cot(mp.pi * mp.sqrt(z)) / mp.sqrt(z), "1e-25"), ZERO, mp.mpf("0.25"), lambda z: mp.mpf(1),
        {"f32": 8, "f64": 15}),
    Fit("TRIGAMMA_NEAR", "trigamma(y), in y - 3, 2 <= y <= 4",
        lambda z: mp.psi(1, z + 3), -mp.mpf(1), mp.mpf(1), lambda z: 1 / mp.psi(1, z + 3), {"f32": 12, "f64": 24}),
    Fit("TRIGAMMA_FAR", "x³ (trigamma(x) - 1 / x - 1 / (2 x²)), in 1 / x², x >= 4",
        at_zero(trigamma_rest), ZERO, mp.mpf(4) ** -2, weighted(1, "1e-3"), {"f32": 4, "f64": 11}),
    Fit("BESSEL_0_NEAR", "I0(x), in x², |x| <= 2.75",
        bessel_near(0), ZERO, mp.mpf(8), lambda z: 1 / bessel_near(0)(z), {"f32": 7, "f64": 11}),
    Fit("BESSEL_0_FAR", "sqrt(x) exp(-x) I0(x), in 0.725 - 16 / (x + 8), x >= 2.75",
        bessel_rest(0), -mp.mpf("0.77"), mp.mpf("0.724999"), lambda t: mp.mpf(1), {"f32": 15, "f64": 36}),
    Fit("BESSEL_1_NEAR", "I1(x) / x, in x², |x| <= 2.75",
        bessel_near(1), ZERO, mp.mpf(8), lambda z: 1 / bessel_near(1)(z), {"f32": 7, "f64": 11}),
    Fit("BESSEL_1_FAR", "sqrt(x) exp(-x) I1(x), in 0.725 - 16 / (x + 8), x >= 2.75",
        bessel_rest(1), -mp.mpf("0.77"), mp.mpf("0.724999"), lambda t: mp.mpf(1), {"f32": 16, "f64": 36}),
]  # fmt: skip


def table(coefficients: list[Any]) -> str:
    numbers = [repr(float(c)) for c in coefficients]
    lines = [", ".join(numbers[start : start + 5]) for start in range(0, len(numbers), 5)]
    return "(" + ",\n           ".join(lines) + "),"


def main() -> None:
    lines = [
        '"""Coefficients of polynomials, made by tools/fit_polynomials.py: the constant first, one set for each precision."""',
        "",
        "Table = dict[str, tuple[float, ...]]",
        "",
        "# fmt: off",
    ]
    for name, fits in groupby(FITS, lambda fit: fit.name):
        whole = list(fits)
        lines += [f"# {whole[0].what}", f"{name}: Table = {{"]
        for kind, terms, own in [(*item, fit) for fit in whole for item in fit.terms.items()]:
            coefficients, error = remez(own, terms)
            print(f"{name:10} {kind} {terms:3} terms, error 2**{float(mp.log(error, 2)):.1f}")
            lines.append(f'    "{kind}": {table(coefficients)}')
        lines.append("}")
    TARGET.write_text("\n".join([*lines, "# fmt: on", ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
