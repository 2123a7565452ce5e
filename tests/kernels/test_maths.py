"""The mathematical functions of the kernels, against a higher precision, over the whole range."""

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from adjoint._kernels import builtin, entry
from adjoint._kernels.expr import Expr, function
from adjoint._kernels.maths import FUNCTIONS, OUTSIDE
from adjoint._kernels.trigonometric import LARGEST
from adjoint.ops import _special_math as numerics

WIDER = {"float32": np.float64, "float64": np.longdouble}
PASSED = object()
TWO = ("arctan2", "fmod", "hypot", "power")
OWN = ("digamma", "erf", "erfc", "erfinv", "i0", "i0e", "i1", "i1e", "lgamma", "trigamma")  # references that are written here
NAMES = sorted(name for name in FUNCTIONS if name in OWN or (hasattr(np, name) and name != "nextafter"))
# Where a long double is no longer than a double (it is on some systems), the reference has an error of its own.
ALLOWED = {"float32": 2, "float64": 2 if np.finfo(np.longdouble).eps < np.finfo(np.float64).eps else 4}


@pytest.fixture(scope="module")
def kernels():
    formulas = []
    for name in NAMES:
        symbols = Expr.inputs(2 if name in TWO else 1)
        formulas.append(builtin.Formula(f"test_{name}", function(name, *symbols), "T" * len(symbols)))
    return dict(zip(NAMES, builtin.load(formulas, [lambda *args: PASSED] * len(NAMES)), strict=True))


# ---- references ---------------------------------------------------------------------------------------------------------------------


PI = np.longdouble("3.14159265358979323846264338327950288")


def exp_minus_square(x):
    head = np.round(x * 2**20) / 2**20
    return np.exp(-head * head) * np.exp(-(x - head) * (x + head))


def erf_series(x):
    """A series of terms of one sign, for |x| < 3."""
    term = total = x
    for n in range(1, 80):
        term = term * (2 * x * x) / (2 * n + 1)
        total = total + term
    return total * exp_minus_square(x) * (2 / np.sqrt(PI.astype(x.dtype)))


def erfc_fraction(x):
    """A continued fraction, for x > 1.5."""
    tail = np.zeros_like(x)
    for k in range(300, 0, -1):
        tail = k / (2 * (x + tail))
    return exp_minus_square(x) / ((x + tail) * np.sqrt(PI.astype(x.dtype)))


def erf(x):
    inner = np.where(np.abs(x) < 1.5, x, 0)
    outer = np.minimum(np.where(np.abs(x) < 1.5, 2, np.abs(x)), 40)
    result = np.where(np.abs(x) < 1.5, erf_series(inner), np.copysign(1 - erfc_fraction(outer), x))
    return np.where(np.isnan(x), x, result)


def erfc(x):
    inner = np.where(np.abs(x) < 1.5, x, 0)
    outer = np.minimum(np.where(np.abs(x) < 1.5, 2, np.abs(x)), 40)
    far = erfc_fraction(outer)
    result = np.where(np.abs(x) < 1.5, 1 - erf_series(inner), np.where(x < 0, 2 - far, far))
    return np.where(np.isnan(x), x, result)


def erfinv(x):
    """Newton's steps from a good approximation; with the complement where it tells more."""
    inside = np.where(np.abs(x) < 1, x, 0)
    size = np.abs(inside)
    y = numerics.erfinv(size.astype(float)).astype(x.dtype)
    for _ in range(2):
        error = np.where(size < 0.5, erf(y) - size, (1 - size) - erfc(y))
        y = y - error * np.exp(y * y) * (np.sqrt(PI.astype(x.dtype)) / 2)
    return np.where(np.abs(x) < 1, np.copysign(y, x), np.where(np.abs(x) == 1, np.copysign(np.inf, x), np.nan))


BERNOULLI = [(1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798), (-174611, 330)]


def raised(x):
    """Positive numbers, raised by whole numbers to more than 20, and the numbers on the way."""
    steps = []
    for _ in range(20):
        low = x < 20
        steps.append((low, x))
        x = np.where(low, x + 1, x)
    return x, steps


def positive_lgamma(x):
    big, steps = raised(x)
    total = (big - 0.5) * np.log(big) - big + np.log(2 * PI.astype(x.dtype)) / 2
    for k, (a, b) in enumerate(BERNOULLI, 1):
        total = total + a / (b * 2 * k * (2 * k - 1) * big ** (2 * k - 1))
    product = np.ones_like(x)
    for low, value in steps:
        product = np.where(low, product * value, product)
    return np.where(x == np.inf, x, total - np.log(product))


def positive_digamma(x):
    big, steps = raised(x)
    total = np.log(big) - 0.5 / big
    for k, (a, b) in enumerate(BERNOULLI, 1):
        total = total - a / (b * 2 * k * big ** (2 * k))
    for low, value in steps[::-1]:
        total = np.where(low, total - 1 / value, total)
    return total


def positive_trigamma(x):
    big, steps = raised(x)
    total = np.where(x == np.inf, 0, 1 / big + 0.5 / (big * big))
    for k, (a, b) in enumerate(BERNOULLI, 1):
        total = total + a / (b * big ** (2 * k + 1))
    for low, value in steps[::-1]:
        total = np.where(low, total + 1 / (value * value), total)
    return total


def reflected(function, rest, pole):
    """A function of positive numbers, continued to negative ones; the rest is a function of what lies beyond the nearest whole number."""

    def continued(x):
        negative, whole = x < 0, x == np.rint(x)
        beyond = np.where(negative & ~whole, x - np.rint(x), 0.5).astype(x.dtype)
        value = function(np.where(negative, 1 - x, np.where(x == 0, 1, x)))
        value = np.where(negative, rest(beyond) - (-value if function is positive_digamma else value), value)
        return np.where(whole & (x <= 0), pole(x), value)

    return continued


lgamma = reflected(positive_lgamma, lambda f: np.log(PI.astype(f.dtype) / np.abs(np.sin(PI.astype(f.dtype) * f))), lambda x: np.inf)
digamma = reflected(
    positive_digamma,
    lambda f: -PI.astype(f.dtype) / np.tan(PI.astype(f.dtype) * f),
    lambda x: np.where(x == 0, np.copysign(np.inf, -x), np.nan),
)
trigamma = reflected(
    positive_trigamma,
    lambda f: (PI.astype(f.dtype) / np.sin(PI.astype(f.dtype) * f)) ** 2,
    lambda x: np.where(x == -np.inf, np.nan, np.inf),
)


def bessel(order, scaled):
    """The power series, whose terms are all positive, and the asymptotic one."""

    def value(x):
        size = np.abs(x)
        near = np.where(size < 40, size, 0)
        term = total = (near / 2) ** order
        for k in range(1, 120):
            term = term * (near * near / (4 * k * (k + order)))
            total = total + term
        far = np.where(size < 40, 40, size)
        tail = rest = np.ones_like(far)
        for k in range(1, 30):
            rest = rest * ((2 * k - 1) ** 2 - 4 * order) / (8 * k * far)
            tail = tail + rest
        tail = tail / np.sqrt(2 * PI.astype(x.dtype) * far)
        tail = tail if scaled else tail * np.exp(far / 2) * np.exp(far / 2)
        near = total * np.exp(-near) if scaled else total
        result = np.where(size < 40, near, np.where(size == np.inf, 0 if scaled else np.nan, tail))
        return np.where(np.isnan(x), x, np.copysign(result, x) if order else result)

    return value


REFERENCES = {name: getattr(np, name) for name in NAMES if name not in OWN} | {
    "erf": erf, "erfc": erfc, "erfinv": erfinv, "lgamma": lgamma, "digamma": digamma, "trigamma": trigamma,
    "i0": bessel(0, False), "i0e": bessel(0, True), "i1": bessel(1, False), "i1e": bessel(1, True),
}  # fmt: skip


def terms(function, rest, *roots):
    """The sizes of the terms whose sum a function of a negative number is: near its roots the error is small in relation to these. Near the
    positive roots it is the reference that has such an error (see `DIGITS`)."""

    def size(x):
        negative = (x < 0) & (x != np.rint(x))
        reflected = np.abs(function(np.where(negative, 1 - x, 1))) + rest(np.where(negative, np.abs(x - np.rint(x)), 1))
        near = np.any([np.abs(x - root) < 0.2 for root in roots], axis=0)
        return np.where(negative, reflected, np.where(near, 0.5, 0))

    return size


TERMS = {
    "lgamma": terms(positive_lgamma, lambda f: 1 - np.log(f), 1, 2),
    "digamma": terms(positive_digamma, lambda f: 1 / f, 1.46),
}


def test_references():
    """The references that are written here agree with C's functions."""
    x = np.linspace(-6, 6, 4001)
    for name in ("erf", "erfc"):
        expected = [getattr(math, name)(value) for value in x]
        np.testing.assert_allclose(REFERENCES[name](x.astype(np.longdouble)).astype(float), expected, rtol=1e-15)
    expected = [math.inf if value <= 0 and value == round(value) else math.lgamma(value) for value in x]
    np.testing.assert_allclose(lgamma(x.astype(np.longdouble)).astype(float), expected, rtol=1e-13, atol=1e-14)


def test_references_satisfy_identities():
    x = np.linspace(0.05, 60, 2000).astype(np.longdouble)
    np.testing.assert_allclose(digamma(x + 1) - digamma(x), 1 / x, rtol=1e-13)
    np.testing.assert_allclose(digamma(-x[1:] / 101) - digamma(1 - x[1:] / 101), 101 / x[1:], rtol=1e-12)
    np.testing.assert_allclose(trigamma(x) - trigamma(x + 1), 1 / x**2, rtol=1e-13)
    assert float(trigamma(np.longdouble([1]))[0]) == math.pi**2 / 6
    assert float(digamma(np.longdouble([1]))[0]) == -0.5772156649015329
    inside = np.linspace(-0.999, 0.999, 2000).astype(np.longdouble)
    np.testing.assert_allclose(erf(erfinv(inside)), inside, rtol=1e-15)
    with np.errstate(over="ignore"):
        i_0, i_1 = REFERENCES["i0"](x), REFERENCES["i1"](x)
        np.testing.assert_allclose(REFERENCES["i0e"](x), i_0 * np.exp(-x), rtol=1e-15)
        np.testing.assert_allclose(REFERENCES["i1e"](x), i_1 * np.exp(-x), rtol=1e-15)
    np.testing.assert_allclose(np.gradient(i_0, x, edge_order=2)[1:], i_1[1:], rtol=1e-2)
    np.testing.assert_allclose([float(i_0[0]), float(i_1[0])], [1.000625097663, 0.025007813313], rtol=1e-10)


# ---- arguments ----------------------------------------------------------------------------------------------------------------------


def blocks(dtype, size=4000):
    """Every kind of argument: random bits (all magnitudes, subnormals, NaN), ordinary numbers, near 0, near 1, near overflow, turns."""
    rng = np.random.default_rng(0)
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    for _ in range(6):
        yield rng.integers(0, np.iinfo(unsigned).max, size, dtype=unsigned, endpoint=True).view(dtype)
    for scale in (1e-5, 0.01, 1, 10, 100):
        yield (rng.standard_normal(size) * scale).astype(dtype)
    for scale in (1e-3, 1e-6):
        yield (1 + rng.standard_normal(size) * scale).astype(dtype)
    for low, high in ((-110, 95), (-750, 715), (-1080, 1030), (-1, 1), (0.2, 0.6), (-6, 6), (0.9, 30)):
        yield np.linspace(low, high, size).astype(dtype)
    for most in (1000, 2**30):
        yield (rng.integers(-most, most, size) * (np.pi / 2)).astype(dtype)


def arguments(name, dtype):
    """Blocks of arguments that the function can take."""
    rng = np.random.default_rng(1)
    for block in blocks(dtype):
        if name not in TWO:
            yield (np.where(np.abs(block) <= LARGEST, block, dtype(1)) if name in OUTSIDE else block,)
            continue
        others = [rng.permutation(block), (rng.standard_normal(block.size) * 3).astype(dtype)]
        if name == "power":
            others.append(rng.integers(-5, 6, block.size).astype(dtype))
            yield (1 + block / (100 + 100 * np.abs(block))).astype(dtype), (rng.standard_normal(block.size) * 1e4).astype(dtype)
        for other in others:
            near = ~(np.abs(block / other) > 2.0 ** (23 if dtype is np.float32 else 52))
            yield (block[near], other[near]) if name == "fmod" else (block, other)


def errors(kernels, name, dtype, block):
    """In units of the last place."""
    wide = WIDER[dtype]
    got = kernels[name](*block)
    exact = REFERENCES[name](*(x.astype(wide) for x in block))
    rounded = exact.astype(dtype)
    assert got.dtype == dtype
    unusual = ~np.isfinite(rounded) | ~np.isfinite(got)
    np.testing.assert_array_equal(got[unusual], rounded[unusual])
    size = np.abs(rounded[~unusual])
    if name in TERMS:
        size = np.maximum(size, TERMS[name](block[0][~unusual].astype(wide)).astype(dtype))
    return np.abs(got[~unusual].astype(wide) - exact[~unusual]) / np.spacing(size).astype(wide)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_error_is_below_two_units_in_the_last_place(kernels, name, dtype):
    with np.errstate(all="ignore"):
        for block in arguments(name, np.dtype(dtype).type):
            assert errors(kernels, name, dtype, block).max(initial=0) < ALLOWED[dtype]


def stated():
    """Rows of docs/accuracy.md: a function, whether its arguments are positive, and the largest errors."""
    page = (Path(__file__).parents[2] / "docs" / "accuracy.md").read_text(encoding="utf-8")
    for names, *figures in re.findall(r"^\| (`.*) \| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE):
        for name in re.findall(r"`(.+?)`", names):
            yield "trigamma" if name == "polygamma(1, x)" else name, "x > 0" in names, *map(float, figures)


@pytest.mark.parametrize(("name", "positive", "single", "double"), list(stated()))
def test_errors_are_as_stated(kernels, name, positive, single, double):
    with np.errstate(all="ignore"):
        for dtype, most in (("float32", single), ("float64", double * ALLOWED["float64"] / 2)):
            for (block,) in arguments(name, np.dtype(dtype).type):
                assert errors(kernels, name, dtype, (block[block > 0] if positive else block,)).max(initial=0) <= most


# Of more digits than the references have: at roots, at the seams of ranges, and where the error is largest.
DIGITS = [
    ("lgamma", 1.0009765625, "-0.0005629031799912046317021499"),
    ("lgamma", 0.9999990463256836, "0.0000005504765026737052437975868"),
    ("lgamma", 2.0001220703125, "0.00005161422091631080428484087"),
    ("lgamma", 1.9999999990686774, "-3.937485951913020681011569e-10"),
    ("lgamma", 1.4616321449683622, "-0.1214862905358496080955146"),
    ("lgamma", 1.3, "-0.1081748095078604784591629"),
    ("digamma", 1.4616321449683622, "-9.241265521729427516792351e-17"),
    ("digamma", 1.4616321449683625, "1.224537462200406903132497e-16"),
    ("digamma", 1.46, "-0.001580561987083452106150901"),
    ("digamma", 2.0, "0.4227843350984671393934879"),
    ("trigamma", 0.001, "1000001.64253319582734467"),
    ("trigamma", -2.25, "19.37941051186913736259519"),
    ("erfinv", 0.9999999999999999, "5.863584748755167927207663"),
    ("erfinv", 0.99476, "1.974169445985017650337685"),
    ("i0", 2.7313, "3.937402229341873319838878"),
    ("i0", 5.8703, "59.73899030417429347803369"),
    ("i0", 700.0, "1.529593347671873736316207e+302"),
    ("i1", 2.9325, "3.72001778592948422088879"),
    ("i1", 603.62, "2.28609035685432209580326e+260"),
]


@pytest.mark.parametrize(("name", "x", "digits"), DIGITS)
def test_digits(kernels, name, x, digits):
    exact = Fraction(digits)
    error = abs(Fraction(float(kernels[name](np.array([x]))[0])) - exact)
    assert error <= 2 * Fraction(float(np.spacing(abs(float(exact)))))


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 2.5, 1e30, -1e30, 1e-30]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_special_values(kernels, name, dtype):
    ends = [np.finfo(dtype).max, -np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal, np.finfo(dtype).smallest_normal]
    special = np.array([*SPECIAL, *map(float, ends)], dtype)
    given = [x.ravel().copy() for x in np.meshgrid(*[special] * (2 if name in TWO else 1))]
    with np.errstate(all="ignore"):
        if name == "fmod":
            given = [x[np.isnan(given[0] / given[1]) | (np.abs(given[0] / given[1]) < 2**20)] for x in given]
        elif name in OUTSIDE:
            given = [x[~(np.abs(x) > 100)] for x in given]
        got = kernels[name](*given)
        expected = REFERENCES[name](*(x.astype(WIDER[dtype]) for x in given)).astype(dtype)
    least = float(np.finfo(dtype).eps) if name in TERMS else 0
    np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(dtype).eps, atol=least)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]))
    alone = [kernels[name](*(x[place : place + 1] for x in given))[0] for place in range(got.size)]
    np.testing.assert_array_equal(alone, got)  # whatever numbers are its neighbours


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "beyond"), [("sin", (1e12,)), ("cos", (-1e12,)), ("tan", (np.inf,)), ("fmod", (1e30, 3.0)), ("fmod", (1.0, 0.0))]
)
@pytest.mark.parametrize("size", [1, 100, entry.LARGEST + 1, 1_000_000])
def test_what_cannot_be_computed_is_passed_on(kernels, name, beyond, size, dtype):
    arguments = [np.ones(size, dtype) for _ in beyond]
    assert kernels[name](*arguments) is not PASSED
    for argument, value in zip(arguments, beyond, strict=True):
        argument[size // 2] = value
    assert kernels[name](*arguments) is PASSED


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exact_values(kernels, dtype):
    """Where a result is a number of the type, it is that number."""
    powers = np.arange(-100, 101).astype(dtype)
    np.testing.assert_array_equal(kernels["exp2"](powers), np.ldexp(np.ones_like(powers), np.arange(-100, 101)))
    np.testing.assert_array_equal(kernels["log2"](np.ldexp(np.ones_like(powers), np.arange(-100, 101))), powers)
    whole = np.arange(0, 20).astype(dtype)
    np.testing.assert_array_equal(kernels["power"](whole, np.full_like(whole, 2)), whole * whole)
    np.testing.assert_array_equal(kernels["power"](whole, np.full_like(whole, 3)), whole * whole * whole)
    np.testing.assert_array_equal(kernels["hypot"](whole * 3, whole * 4), whole * 5)
    assert kernels["cos"](np.zeros(1, dtype))[0] == kernels["exp"](np.zeros(1, dtype))[0] == kernels["cosh"](np.zeros(1, dtype))[0] == 1


def test_tanh_is_rounded_correctly_near_saturation(kernels):
    """There 1 - tanh(x)² consists of the last bits alone."""
    x = np.linspace(3, 9.2, 200_001).astype(np.float32)
    exact = np.tanh(x.astype(np.float64))
    assert np.max(np.abs(kernels["tanh"](x) - exact) / np.spacing(exact.astype(np.float32))) <= 0.51
