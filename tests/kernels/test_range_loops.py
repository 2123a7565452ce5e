"""Numbers at equal distances by kernels are those by NumPy, bit for bit."""

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import range_loops

RANGES = {
    "linear": [
        *(lambda n=n: ad.linspace(0, 1, n) for n in (2, 3, 64, 1001, 70_000)),
        lambda: ad.linspace(-3.7, 1e9, 65), lambda: ad.linspace(5, -5, 10), lambda: ad.linspace(1e-40, 3e-39, 9),
        lambda: ad.linspace(0, float("inf"), 5), lambda: ad.linspace(-3e38, 3e38, 5),
    ],
    "exact": [lambda: ad.arange(0.0, 64.0), lambda: ad.arange(7, -2000, -3, dtype=ad.float32), lambda: ad.arange(1.0)],
    "stepped": [
        lambda: ad.arange(0, 1, 0.1), lambda: ad.arange(0, 1, 0.001), lambda: ad.arange(3.3, -70, -0.07),
        lambda: ad.arange(0, 7000, 0.1),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kernel, made", [(kernel, made) for kernel, all_made in RANGES.items() for made in all_made])
def test_compiled_or_not(monkeypatch, kernel, made):
    served = []
    run = getattr(range_loops, kernel).compiled()
    monkeypatch.setattr(getattr(range_loops, kernel), "run", lambda *args: served.append(run(*args)) or served[-1])
    fast = made().numpy()
    monkeypatch.setattr(getattr(range_loops, kernel), "run", lambda *args: None)
    np.testing.assert_array_equal(fast, made().numpy())
    assert served == [True]


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (3, 5), (5, 3), (40, 40)])
def test_places_of_triangles(shape: tuple[int, int], upper: bool) -> None:
    for diagonal in (-50, -2, -1, 0, 1, 3, 50):
        below = np.tri(*shape, diagonal - upper, dtype=bool)
        expected = np.stack(np.nonzero(~below if upper else below))
        np.testing.assert_array_equal(range_loops.triangle(*shape, diagonal, upper), expected)
