"""Fast Fourier transforms, against NumPy's in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import fourier_loops
from adjoint._kernels.loops import LOOPS

random = np.random.default_rng(3)
KERNELS = [kernel for kernel in LOOPS if kernel.fn.__module__ == fourier_loops.__name__]
LENGTHS = [2, 3, 4, 5, 6, 8, 9, 12, 15, 16, 25, 30, 32, 60, 128, 250, 256, 1000, 1024, 2048, 8192, 16384, 30000]


@pytest.fixture(autouse=True)
def warm(monkeypatch):
    for kernel in KERNELS:
        monkeypatch.setattr(kernel, "heat", 1000)


def numbers(*shape, dtype="complex128"):
    return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype)


def same(ours, theirs, dtype):
    assert ours is not None and ours.dtype == dtype and ours.shape == theirs.shape
    limit = 1e-6 if dtype in ("complex64", "float32") else 1e-14
    assert np.abs(ours - theirs).max() <= limit * np.abs(theirs).max()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n, dtype):
    real = "float32" if dtype == "complex64" else "float64"
    for lines in (1, 11):
        x = numbers(lines, n, dtype=dtype)
        wide = x.astype("complex128")
        same(fourier_loops.transform(x, 1, 0.5, False), np.fft.fft(wide) / 2, dtype)
        same(fourier_loops.transform(x, 1, 1.0, True), np.fft.ifft(wide) * n, dtype)
        same(fourier_loops.transform(np.ascontiguousarray(x.T), 0, 1.0, False), np.fft.fft(wide).T, dtype)
        if n % 2 == 0 and n > 2:
            same(fourier_loops.from_real(x.real, 0.5), np.fft.rfft(wide.real) / 2, dtype)
            half = x[:, : n // 2 + 1]  # the imaginary parts of the first and the last do not count
            same(fourier_loops.to_real(half, n, 1.0), np.fft.irfft(half.astype("complex128"), n) * n, real)


@pytest.mark.parametrize("n", [1, 7, 22, 1021])
def test_other_lengths_are_left_to_numpy(n):
    x = numbers(9, n)
    assert fourier_loops.transform(x, 1, 1.0, False) is None
    np.testing.assert_allclose(ad.fft.fft(ad.tensor(x)).numpy(), np.fft.fft(x), atol=1e-10)
    np.testing.assert_allclose(ad.fft.rfft(ad.tensor(x.real)).numpy(), np.fft.rfft(x.real), atol=1e-10)


@pytest.mark.parametrize("view", [lambda x: x[::2], lambda x: x[:, ::-1], lambda x: x.T, lambda x: np.broadcast_to(x[:1], x.shape)])
def test_views(view):
    x = view(numbers(40, 24))
    for axis in (0, 1):
        same(fourier_loops.transform(x, axis, 1.0, False), np.fft.fft(x, axis=axis), "complex128")
    same(fourier_loops.from_real(x.real, 1.0), np.fft.rfft(x.real), "complex128")


def test_several_dimensions():
    x = numbers(3, 12, 10, 16)
    given = ad.tensor(x)
    np.testing.assert_allclose(ad.fft.fftn(given).numpy(), np.fft.fftn(x), atol=1e-10)
    np.testing.assert_allclose(ad.fft.ifft2(given, norm="ortho").numpy(), np.fft.ifft2(x, norm="ortho"), atol=1e-10)
    np.testing.assert_allclose(ad.fft.rfftn(given.real, dim=(0, 2)).numpy(), np.fft.rfftn(x.real, axes=(0, 2)), atol=1e-10)
    np.testing.assert_allclose(ad.fft.irfft2(given).numpy(), np.fft.irfft2(x), atol=1e-10)


def test_nothing_to_transform():
    assert ad.fft.fft(ad.zeros(0, 8, dtype=ad.complex64)).shape == (0, 8)
    with pytest.raises(RuntimeError, match="Invalid number of data points"):
        ad.fft.fft(ad.zeros(3, 0))
