"""Histograms in several dimensions and counts of distinct numbers, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad

ROWS = np.random.default_rng(0).uniform(-2, 2, (40, 2))


@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize(
    ("bins", "limits"),
    [([3, 4], None), (5, None), (3, [(-1.0, 1.0), (-2.0, 0.5)]), ([np.array([-1.0, 0.0, 2.0]), np.array([-2.0, 1.0])], None)],
)
def test_histogramdd(bins: Any, limits: Any, density: bool) -> None:
    ours = [ad.from_numpy(edges) if isinstance(edges, np.ndarray) else edges for edges in bins] if isinstance(bins, list) else bins
    flat = None if limits is None else [end for pair in limits for end in pair]
    hist, edges = ad.histogramdd(ad.from_numpy(ROWS), ours, range=flat, density=density)
    wanted, wanted_edges = np.histogramdd(ROWS, bins, range=limits, density=density)
    np.testing.assert_allclose(hist.numpy(), wanted)
    for got, want in zip(edges, wanted_edges, strict=True):
        np.testing.assert_allclose(got.numpy(), want)


def test_histogramdd_weighs_and_refuses() -> None:
    weight = ad.arange(40, dtype=ad.float64)
    hist, _ = ad.histogramdd(ad.from_numpy(ROWS), 2, weight=weight)
    assert hist.sum() == weight.sum()
    with pytest.raises(RuntimeError, match="The size of bins must be equal to the innermost dimension of the input"):
        ad.histogramdd(ad.from_numpy(ROWS), [1, 2, 3])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("shape", [(), (7,), (30, 4)])
@pytest.mark.parametrize("apart", [1, 1000])
def test_distinct_integers_of_narrow_and_wide_ranges(dtype: str, shape: tuple[int, ...], apart: int) -> None:
    info = np.iinfo(dtype)
    numbers = np.random.default_rng(4).integers(-40, 40, shape) * apart
    given = np.clip(numbers, info.min, info.max).astype(dtype)
    values, inverse, counts = ad.unique(ad.tensor(given), return_inverse=True, return_counts=True)
    expected, expected_counts = np.unique(given, return_counts=True)
    assert values.numpy().dtype == given.dtype
    np.testing.assert_array_equal(values.numpy(), expected)
    np.testing.assert_array_equal(values[inverse].numpy(), given)
    np.testing.assert_array_equal(counts.numpy(), expected_counts)
