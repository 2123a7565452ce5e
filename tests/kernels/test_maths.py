"""The mathematical functions of the kernels, against a higher precision, over the whole range."""

import numpy as np
import pytest

from adjoint._kernels import builtin
from adjoint._kernels.expr import Expr
from adjoint._kernels.maths import FUNCTIONS

WIDER = {"float32": np.float64, "float64": np.longdouble}
NAMES = sorted(FUNCTIONS)


@pytest.fixture(scope="module")
def kernels():
    (x,) = Expr.inputs(1)
    formulas = [builtin.Formula(f"test_{name}", getattr(np, name)(x), "T") for name in NAMES]

    def refuse(*_):
        raise AssertionError("the built-in passed its arguments on")

    return dict(zip(NAMES, builtin.load(formulas, [refuse] * len(NAMES)), strict=True))


def blocks(dtype):
    """Every kind of argument: random bits (all magnitudes, subnormals, NaN), ordinary numbers, near 0, near 1, near overflow."""
    rng = np.random.default_rng(0)
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    for _ in range(6):
        yield rng.integers(0, np.iinfo(unsigned).max, 30_000, dtype=unsigned, endpoint=True).view(dtype)
    for scale in (1e-5, 0.01, 1, 10, 100):
        yield (rng.standard_normal(30_000) * scale).astype(dtype)
    yield (1 + rng.standard_normal(30_000) * 1e-3).astype(dtype)
    yield np.linspace(-110, 95, 30_000).astype(dtype)
    yield np.linspace(-750, 715, 30_000).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_error_is_below_two_units_in_the_last_place(kernels, name, dtype):
    with np.errstate(all="ignore"):
        for block in blocks(dtype):
            got = kernels[name](block)
            exact = getattr(np, name)(block.astype(WIDER[dtype]))
            rounded = exact.astype(dtype)
            assert got.dtype == dtype
            unusual = ~np.isfinite(rounded) | ~np.isfinite(got)
            np.testing.assert_array_equal(got[unusual], rounded[unusual])
            spacing = np.spacing(np.abs(rounded[~unusual])).astype(WIDER[dtype])
            error = np.abs(got[~unusual].astype(WIDER[dtype]) - exact[~unusual]) / spacing
            assert error.max(initial=0) < 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_special_values(kernels, name, dtype):
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal], dtype)
    with np.errstate(all="ignore"):
        got, expected = kernels[name](special), getattr(np, name)(special)
    np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(dtype).eps, atol=0)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]))
