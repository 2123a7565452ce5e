"""Window functions, and matrices of low rank."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.signal import windows


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (windows.hann, np.hanning),
        (windows.hamming, np.hamming),
        (windows.bartlett, np.bartlett),
        (windows.blackman, np.blackman),
        (lambda m, **options: windows.kaiser(m, beta=5.0, **options), lambda m: np.kaiser(m, 5.0)),
    ],
)
@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_windows_are_numpys(make, wanted, size):
    np.testing.assert_allclose(make(size, dtype=ad.float64).numpy(), wanted(size), atol=1e-12)
    periodic = make(size, sym=False, dtype=ad.float64).numpy()
    np.testing.assert_allclose(periodic, wanted(size + 1)[:-1] if size > 1 else np.ones(size), atol=1e-12)


@pytest.mark.parametrize("make", [getattr(windows, name) for name in dir(windows) if name != "general_cosine"])
def test_windows_are_symmetric_unless_periodic(make):
    window = make(9, dtype=ad.float64).numpy()
    np.testing.assert_allclose(window, window[::-1])
    assert not np.allclose(make(8, sym=False).numpy(), make(8).numpy())


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: windows.hann(-1), ValueError, "requires non-negative window length, got M=-1"),
        (lambda: windows.hann(3, dtype=ad.int64), ValueError, "expects float32 or float64 dtypes, got: torch.int64"),
        (lambda: windows.exponential(3, tau=0), ValueError, "Tau must be positive, got: 0 instead."),
        (lambda: windows.exponential(3, center=1), ValueError, "Center must be None for symmetric windows"),
        (lambda: windows.gaussian(3, std=-1), ValueError, "Standard deviation must be positive, got: -1 instead."),
        (lambda: windows.kaiser(3, beta=-1), ValueError, "beta must be non-negative, got: -1 instead."),
        (lambda: windows.general_cosine(3, a=[]), ValueError, "Coefficients cannot be empty"),
        (lambda: ad.hann_window(-1), RuntimeError, "requires non-negative window_length, got window_length=-1"),
    ],
)
def test_windows_refuse(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_older_names_are_periodic():
    np.testing.assert_allclose(ad.hann_window(6).numpy(), windows.hann(6, sym=False).numpy())
    np.testing.assert_allclose(ad.hann_window(6, periodic=False).numpy(), windows.hann(6).numpy())


def test_istft_undoes_stft():
    signal = ad.randn(2, 64, dtype=ad.float64)
    window = ad.hann_window(16, dtype=ad.float64)
    spectrum = ad.stft(signal, 16, 4, window=window, return_complex=True)
    np.testing.assert_allclose(ad.istft(spectrum, 16, 4, window=window, length=64).numpy(), signal.numpy(), atol=1e-12)


@pytest.mark.parametrize("shape", [(12, 7), (7, 12), (2, 9, 8)])
def test_svd_lowrank_finds_matrices_of_low_rank(shape):
    *batch, rows, columns = shape
    matrix = ad.randn(*batch, rows, 3, dtype=ad.float64) @ ad.randn(*batch, 3, columns, dtype=ad.float64)
    u, s, v = ad.svd_lowrank(matrix, 4)
    np.testing.assert_allclose(((u * s.unsqueeze(-2)) @ v.mT).numpy(), matrix.numpy(), atol=1e-9)
    assert (s[..., 3] < 1e-9).all()


def test_pca_lowrank_centers():
    rows = ad.randn(20, 3, dtype=ad.float64) + 100
    _, s, v = ad.pca_lowrank(rows, 3)
    np.testing.assert_allclose(s.numpy(), ad.linalg.svdvals(rows - rows.mean(0)).numpy())
    np.testing.assert_allclose((v.mT @ v).numpy(), np.eye(3), atol=1e-12)
    with pytest.raises(ValueError, match="must be non-negative integer and not greater than min"):
        ad.pca_lowrank(rows, 9)


def test_windows_can_begin_where_the_signal_does():
    x = ad.arange(20.0)
    options = {"window": ad.ones(4), "center": False, "return_complex": True}
    assert ad.stft(x, 8, 4, 4, **options, align_to_window=True)[0].real.tolist() == [6.0, 22.0, 38.0, 54.0, 70.0]
    assert ad.stft(x, 8, 4, 4, **options, align_to_window=False)[0].real.tolist() == [14.0, 30.0, 46.0, 62.0]
    with pytest.raises(RuntimeError, match="align_to_window should only be set when center = false"):
        ad.stft(x, 8, 4, 4, window=ad.ones(4), return_complex=True, align_to_window=False)
