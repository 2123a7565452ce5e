"""The special functions of the kernels against those in NumPy, which tests/ops/test_special_math.py and test_bessel.py look at."""

from typing import Any

import numpy as np
import pytest

from adjoint._kernels import builtin, special_tables
from adjoint._kernels.expr import Expr, function
from adjoint._kernels.maths import OUTSIDE, PARTS, USUAL
from adjoint.ops import _bessel_math as bessel
from adjoint.ops import _special_math as numerics

BY_NUMPY: dict[str, Any] = {
    function.__name__: function
    for function in (
        numerics.gelu_share, numerics.gelu_slope, numerics.erfcx, numerics.log_ndtr, numerics.ndtri, numerics.igamma, numerics.igammac,
        numerics.polygamma, numerics.zeta,
        bessel.airy_ai, bessel.j0, bessel.j1, bessel.y0, bessel.y1, bessel.k0, bessel.k1, bessel.k0e, bessel.k1e,
    )
}  # fmt: skip
# Units in the last place of float64, of the value or of what is typical for the function. Airy's function swings by a
# rounded angle, and the incomplete functions of large numbers are powers of rounded numbers.
ALLOWED = {"airy_ai": 400, "ndtri": 40, "igamma": 500, "igammac": 2000}
TYPICAL = {"airy_ai": 0.1, "zeta": 1, "polygamma": 1, "gelu_share": 1, "gelu_slope": 1}
PASSED = object()


@pytest.fixture(scope="module")
def kernels():
    formulas = []
    for name in BY_NUMPY:
        symbols = Expr.inputs("ST" if name == "polygamma" else 2 if name in PARTS else 1)
        kinds = "ST" if name == "polygamma" else "T" * len(symbols)
        formulas.append(builtin.Formula(f"test_{name}", function(name, *symbols), kinds))
    return dict(zip(BY_NUMPY, builtin.load(formulas, [lambda *args: PASSED] * len(formulas)), strict=True))


def arguments(name, dtype):
    """Blocks of arguments."""
    pairs: list[Any]
    rng = np.random.default_rng(0)
    ranges = [(0, 1), (-1, 1), (0, 3), (-10, 10), (-40, 40), (0, 600)]
    blocks = [rng.uniform(low, high, 20_000) for low, high in ranges] + [10.0 ** rng.uniform(-37, 0, 20_000)]
    if name == "polygamma":
        return [(n, block.astype(dtype)) for n in (2, 3, 7) for block in blocks[:4]]
    if name == "zeta":
        pairs = [(rng.uniform(1.01, 9, 20_000), block) for block in blocks[:3]] + [(rng.integers(2, 9, 20_000), blocks[3])]
        pairs.append((rng.uniform(2, 80, 20_000), rng.uniform(0.5, 3, 20_000)))
    elif name in PARTS:
        pairs = [(rng.uniform(0.01, high, 20_000), block) for high, block in ((1, blocks[0]), (3, blocks[2]), (60, np.abs(blocks[4])))]
        pairs.append((rng.uniform(100, 300, 5_000), rng.uniform(100, 300, 5_000)))
    else:
        pairs = [(block,) for block in blocks]
    return [tuple(block.astype(dtype) for block in pair) for pair in pairs]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BY_NUMPY)
def test_kernels_agree_with_numpy(kernels, name, dtype):
    with np.errstate(all="ignore"):
        for given in arguments(name, dtype):
            got = kernels[name](*given)
            exact = BY_NUMPY[name](*(np.asarray(x, "float64") for x in given))
            rounded = exact.astype(dtype)
            assert got.dtype == dtype
            unusual = ~np.isfinite(rounded) | ~np.isfinite(got)
            np.testing.assert_array_equal(got[unusual], rounded[unusual])
            size = np.maximum(np.abs(rounded), TYPICAL.get(name, 0.1 if name.startswith("bessel") else 0))[~unusual]
            error = np.abs(got[~unusual].astype("float64") - exact[~unusual]) / np.spacing(size.astype(dtype))
            assert error.max(initial=0) < (ALLOWED.get(name, 64) if dtype == "float64" else 4)


SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 6.0, 8.0, 30.0, 300.0, 1e30, 1e-30, 1e-45]
SPECIAL += [-x for x in SPECIAL[5:]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BY_NUMPY)
def test_special_values(kernels, name, dtype):
    special = np.array(SPECIAL, dtype)
    if name == "polygamma":
        given = [2, special]
    elif name in PARTS:
        given = [x.ravel().copy() for x in np.meshgrid(special, special)]
    else:
        given = [special]
        if name in OUTSIDE:
            given = [special[np.abs(special) < 1e6]]
            assert kernels[name](np.array([1.0, -np.inf], dtype)) is PASSED
    with np.errstate(all="ignore"):
        got, expected = kernels[name](*given), BY_NUMPY[name](*given)
    absolute = float(np.finfo(dtype).eps) if name.startswith("gelu") else 0
    np.testing.assert_allclose(got, expected, rtol=1e-6 if dtype == "float32" else 1e-12, atol=absolute)
    if not absolute:
        np.testing.assert_array_equal(np.signbit(got[expected == 0]), np.signbit(expected[expected == 0]))


@pytest.mark.parametrize("place", [None, 0, 700, 1999])
@pytest.mark.parametrize("name", sorted(USUAL.keys() & BY_NUMPY.keys() - PARTS.keys()))
def test_unusual_numbers_change_nothing_for_the_others(kernels, name, place):
    x = np.random.default_rng(0).uniform(0.1, 0.9, 2000)
    expected = kernels[name](x)
    if place is not None:
        x[place] = 9.0 if name.startswith("bessel") else -7.0
    got = kernels[name](x)
    others = np.arange(2000) != place
    np.testing.assert_allclose(got[others], expected[others], rtol=1e-14)
    np.testing.assert_allclose(got[~others], BY_NUMPY[name](x[~others]), rtol=1e-12)


@pytest.mark.parametrize("place", [None, 0, 700, 1999])
@pytest.mark.parametrize("name", sorted(USUAL.keys() & PARTS.keys()))
def test_unusual_pairs_change_nothing_for_the_others(kernels, name, place):
    a, x = (np.random.default_rng(seed).uniform(0.02, 9.9, 2000).astype("float32") for seed in (0, 1))
    expected = BY_NUMPY[name](a.astype("float64"), x.astype("float64"))
    if place is not None:
        x[place] = 11.0
        expected[place] = BY_NUMPY[name](a[place].astype("float64"), np.float64(11.0))
    np.testing.assert_allclose(kernels[name](a, x), expected, rtol=3e-7)


def test_shortened_polynomials_are_close():
    t = np.linspace(-1, 1, 1001)
    for name, table in vars(special_tables).items():
        if isinstance(table, tuple) and name not in ("ZETA", "TEMME"):
            both = special_tables.both(table)
            assert len(both["f32"]) < len(table) == len(both["f64"])
            difference = np.polyval(both["f32"][::-1], t) - np.polyval(table[::-1], t)
            assert np.abs(difference).max() < 1.01e-10, name
