"""Fast Fourier transforms, against NumPy's in double precision."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import fourier

random = np.random.default_rng(3)
LENGTHS = [2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 22, 30, 32, 60, 77, 100, 128, 256, 1000, 1024, 4096, 8192, 16384, 30030, 65536]


def numbers(*shape, dtype="complex128"):
    return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype)


def same(ours, theirs, dtype):
    assert ours is not None and ours.dtype == dtype and ours.shape == theirs.shape and ours.flags.c_contiguous
    limit = 1e-6 if dtype in ("complex64", "float32") else 1e-14
    assert np.abs(ours - theirs).max() <= limit * np.abs(theirs).max()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n, dtype):
    """One line, less lines than a vector has lanes, some more, and more than are transformed at a time."""
    for lines in (1, 3, 11, 70) if n < 300 else (1, 9):
        x = numbers(lines, n, dtype=dtype)
        wide = x.astype("complex128")
        same(fourier.transform(x, (1,), 0.5, False), np.fft.fft(wide) / 2, dtype)
        same(fourier.transform(x, (1,), 1.0, True), np.fft.ifft(wide) * n, dtype)
        if n <= fourier.LONG or lines == 1:
            same(fourier.transform(x.T, (0,), 0.5, False), np.fft.fft(wide).T / 2, dtype)
            same(fourier.transform(x.T, (0,), 1.0, True), np.fft.ifft(wide).T * n, dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [n for n in LENGTHS if n % 2 == 0 and n > 2])
def test_real_numbers(n, dtype):
    real = "float32" if dtype == "complex64" else "float64"
    for lines in (1, 3, 11, 70) if n < 300 else (1, 9):
        x = numbers(lines, n, dtype=dtype)
        half, wide = x[:, : n // 2 + 1], x.astype("complex128")  # the imaginary parts of the first and the last do not count
        back = np.fft.irfft(half.astype("complex128"), n) * n
        same(fourier.from_real(x.real, 1, 0.5), np.fft.rfft(wide.real) / 2, dtype)
        same(fourier.to_real(half, 1, n, 1.0), back, real)
        if n // 2 <= fourier.LONG or lines == 1:
            same(fourier.from_real(x.real.T, 0, 0.5), np.fft.rfft(wide.real).T / 2, dtype)
            same(fourier.to_real(half.T, 0, n, 1.0), back.T, real)


@pytest.mark.parametrize("n", [1, 17, 34, 1021, 10007])
def test_other_lengths_are_left_to_numpy(n):
    x = numbers(9, n)
    assert fourier.transform(x, (1,), 1.0, False) is None and fourier.from_real(x.real, 1, 1.0) is None
    np.testing.assert_allclose(ad.fft.fft(ad.tensor(x)).numpy(), np.fft.fft(x), atol=1e-10)
    np.testing.assert_allclose(ad.fft.rfft(ad.tensor(x.real)).numpy(), np.fft.rfft(x.real), atol=1e-10)


def test_other_arrays_are_left_to_numpy():
    assert fourier.transform(np.zeros((8, 8), "clongdouble"), (1,), 1.0, False) is None
    assert fourier.from_real(np.zeros((8, 8), "float16"), 1, 1.0) is None
    assert fourier.from_real(np.zeros((8, 9)), 1, 1.0) is None  # an odd length
    assert fourier.to_real(np.zeros((8, 9), "complex64"), 1, 18, 1.0) is None  # another half
    assert fourier.transform(np.zeros((2, fourier.LONG * 2, 2), "complex64"), (1,), 1.0, False) is None  # columns that are too long
    assert fourier.transform(np.zeros((8, 8), "complex64"), (-1,), 1.0, False) is None
    assert fourier.from_real(np.zeros((8, 8)), -1, 1.0) is None


@pytest.mark.parametrize("view", [lambda x: x[::2], lambda x: x[:, ::-1], lambda x: x.T, lambda x: np.broadcast_to(x[:1], x.shape)])
def test_views(view):
    x = view(numbers(40, 24))
    for axis in (0, 1):
        same(fourier.transform(x, (axis,), 1.0, False), np.fft.fft(x, axis=axis), "complex128")
        same(fourier.from_real(x.real, axis, 1.0), np.fft.rfft(x.real, axis=axis), "complex128")


def test_several_dimensions():
    x = numbers(3, 12, 10, 16)
    given = ad.tensor(x)
    np.testing.assert_allclose(ad.fft.fftn(given).numpy(), np.fft.fftn(x), atol=1e-10)
    np.testing.assert_allclose(ad.fft.fftn(given, dim=(3, 0, 1)).numpy(), np.fft.fftn(x, axes=(3, 0, 1)), atol=1e-10)
    np.testing.assert_allclose(ad.fft.ifft2(given, norm="ortho").numpy(), np.fft.ifft2(x, norm="ortho"), atol=1e-10)
    np.testing.assert_allclose(ad.fft.rfftn(given.real, dim=(0, 2)).numpy(), np.fft.rfftn(x.real, axes=(0, 2)), atol=1e-10)
    np.testing.assert_allclose(ad.fft.irfft2(given).numpy(), np.fft.irfft2(x), atol=1e-10)


def test_many_threads():
    """Pieces of work have memory of their own, and so have calls of several threads."""
    from concurrent.futures import ThreadPoolExecutor

    some = [numbers(lines, n) for lines, n in ((1, 64), (1, 4096), (300, 256), (5000, 12), (1, 65536))] * 4
    with ThreadPoolExecutor(4) as pool:
        for x, found in zip(some, pool.map(lambda x: fourier.transform(x, (1,), 1.0, False), some), strict=True):
            same(found, np.fft.fft(x), "complex128")


def test_infinite_numbers_stay_in_their_lines():
    x = numbers(20, 24)
    x[7, 3] = math.inf
    found = fourier.transform(x, (1,), 1.0, False)
    assert found is not None and not np.isfinite(found[7]).any() and np.isfinite(np.delete(found, 7, 0)).all()


@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "hfft"])
def test_no_warnings_of_infinite_numbers(name):
    for n in (9, 17, 34):  # the test suite makes errors of warnings
        getattr(ad.fft, name)(ad.full((n,), math.inf, dtype=ad.complex64))
        getattr(ad.fft, name)(ad.full((n,), 3e38, dtype=ad.complex64))


def test_nothing_to_transform():
    assert ad.fft.fft(ad.zeros(0, 8, dtype=ad.complex64)).shape == (0, 8)
    assert ad.fft.rfft(ad.zeros(4, 0, 8)).shape == (4, 0, 5)
    for name in ("fft", "ifft", "rfft", "ihfft"):
        with pytest.raises(RuntimeError, match=r"Invalid number of data points \(0\) specified"):
            getattr(ad.fft, name)(ad.zeros(3, 0))


@pytest.mark.parametrize("n", [1, 2, 12, 16, 17, 49, 360, 8192, 65536, 30030])
def test_factors(n):
    radices = fourier.factors(n)
    assert radices is None if n == 17 else math.prod(radices) == n and max(radices) <= fourier.LARGEST
    assert n != 360 or radices == (9, 8, 5)
