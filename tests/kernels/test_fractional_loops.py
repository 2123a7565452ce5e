"""Windows at random distances: the kernel finds the maxima that NumPy finds."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint._kernels import fractional_loops
from adjoint.nn._fractional_pooling import _fractional_starts, _search_planes


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes, places, kernel", [((8, 9), (3, 4), (2, 3)), ((5, 5), (1, 5), (5, 1)), ((6, 7, 8), (2, 3, 4), (2, 2, 2))])
def test_places_of_maxima(sizes, places, kernel, dtype):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, *sizes)).astype(dtype)
    x.reshape(-1)[::17] = np.nan
    order = (1, 0) if len(kernel) == 2 else (0, 1, 2)
    for image in (x, x.transpose(1, 0, *range(2, x.ndim))):
        samples = rng.random((*image.shape[:2], len(kernel))).astype(dtype)
        lines = zip(sizes, places, kernel, order, strict=True)
        starts = [_fractional_starts(n, o, k, samples[..., which]) for n, o, k, which in lines]
        found = fractional_loops.places_of_maxima(image, samples, places, kernel, order)
        np.testing.assert_array_equal(found, _search_planes(image, starts, kernel))


@pytest.mark.parametrize("sample", [-0.5, 1.0, np.nan, np.inf])
def test_strange_samples_are_left_to_numpy(sample):
    x, samples = np.ones((1, 1, 4, 4), "float32"), np.full((1, 1, 2), sample, "float32")
    assert fractional_loops.places_of_maxima(x, samples, (2, 2), (2, 2), (1, 0)) is None
