"""Diagonals: added up and laid out as NumPy does it."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint._kernels import diagonal_loops


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (5, 3), (0, 4), (40, 40)])
def test_trace(shape, dtype):
    x = np.arange(shape[0] * shape[1]).reshape(shape).astype(dtype)
    assert diagonal_loops.trace(x) == np.trace(x)
    assert diagonal_loops.trace(x[:, ::2]) is None or shape[0] < 2


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 3])
@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_laid_out(lead, offset):
    values = np.random.default_rng(0).random((*lead, 4))
    side = 4 + abs(offset)
    expected = np.zeros((*lead, side, side))
    for place in np.ndindex(*lead):
        expected[place] = np.diag(values[place], offset)
    np.testing.assert_array_equal(diagonal_loops.laid(values, expected.shape, offset), expected)
    assert diagonal_loops.laid(values, (*lead, 3, 3), offset) is None  # there is no room
