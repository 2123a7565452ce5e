"""Linear algebra by LAPACK, against NumPy's answers for the same matrices."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import lapack_loops
from adjoint._kernels.loops import LOOPS

random = np.random.default_rng(11)
KERNELS = [kernel for kernel in LOOPS if kernel.fn.__module__ == lapack_loops.__name__]
SQUARE = [(1, 1), (4, 4), (33, 33), (3, 5, 5), (2, 20, 3, 3)]
OBLONG = [(4, 4), (6, 3), (3, 6), (2, 5, 3), (20, 2, 4)]


def normal(*shape, dtype="float64"):
    return random.standard_normal(shape).astype(dtype)


@pytest.fixture(params=["compiled", "numpy"], autouse=True)
def way(request, monkeypatch):
    """Everything by kernels, and everything without them."""
    for kernel in KERNELS:
        monkeypatch.setattr(kernel, "heat", 1000)
        if request.param == "numpy":
            monkeypatch.setattr(kernel, "run", lambda *args: None)
    return request.param


def same(ours, theirs, dtype="float64"):
    assert ours.numpy().dtype == dtype or ours.numpy().dtype.kind == "i"
    tolerance = 2e-3 if dtype == "float32" else 1e-8
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=tolerance, atol=tolerance)


def turned(x):
    return np.swapaxes(x, -1, -2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SQUARE)
def test_square_matrices(shape, dtype):
    n = shape[-1]
    a = normal(*shape, dtype=dtype) + (n + 1) * np.eye(n, dtype=dtype)
    positive, right = a @ turned(a), normal(*shape[:-1], 3, dtype=dtype)
    lower = np.linalg.cholesky(positive)
    linalg = ad.linalg
    given, both, b, factor = ad.tensor(a), ad.tensor(positive), ad.tensor(right), ad.tensor(lower)
    same(linalg.inv(given), np.linalg.inv(a), dtype)
    same(linalg.inv(given.mT), np.linalg.inv(turned(a)), dtype)  # a view is not written to
    same(given, a, dtype)
    same(linalg.solve(given, b), np.linalg.solve(a, right), dtype)
    same(linalg.det(given / n), np.linalg.det(a / n), dtype)
    for ours, theirs in zip(linalg.slogdet(given), np.linalg.slogdet(a), strict=True):
        same(ours, theirs, dtype)
    same(linalg.cholesky(both), lower, dtype)
    same(linalg.cholesky(both, upper=True), turned(lower), dtype)
    for upper, triangle in ((False, factor), (True, factor.mT)):
        same(ad.cholesky_solve(b, triangle, upper), np.linalg.solve(positive, right), dtype)
        same(ad.cholesky_inverse(triangle, upper), np.linalg.inv(positive), dtype)
    values, vectors = linalg.eigh(both)
    same(values, np.linalg.eigvalsh(positive), dtype)
    np.testing.assert_allclose((vectors * values[..., None, :]) @ vectors.mT, positive, rtol=1e-3, atol=1e-3 * n * n)
    same(linalg.eigvalsh(both.triu(), "U"), values.numpy(), dtype)


def test_one_matrix_for_a_batch_of_right_sides():
    a, b = normal(3, 3) + 4 * np.eye(3), normal(5, 3, 2)
    same(ad.linalg.solve(ad.tensor(a), ad.tensor(b)), np.linalg.solve(a, b))
    lower = np.linalg.cholesky(a @ a.T)
    same(ad.cholesky_solve(ad.tensor(b), ad.tensor(lower)), np.linalg.solve(a @ a.T, b))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", OBLONG)
def test_lu(shape, dtype):
    a = (normal(*shape) + (1j * normal(*shape) if dtype[0] == "c" else 0)).astype(dtype)
    p, lower, upper = ad.linalg.lu(ad.tensor(a))
    np.testing.assert_allclose((p @ lower @ upper).numpy(), a, rtol=1e-4, atol=1e-4)
    packed, pivots, info = ad.linalg.lu_factor_ex(ad.tensor(a))
    assert pivots.dtype is ad.int32 and info.dtype is ad.int32 and not info.any()
    for ours, theirs in zip(ad.lu_unpack(packed, pivots), (p, lower, upper), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_lu_of_a_singular_matrix():
    a = np.array([[[1.0, 2.0], [2.0, 4.0]], [[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    assert ad.linalg.lu_factor_ex(ad.tensor(a)).info.tolist() == [2, 1, 0]
    with pytest.raises(RuntimeError, match="is zero and using it on lu_solve"):
        ad.linalg.lu_factor(ad.tensor(a[0]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", OBLONG)
def test_oblong_matrices(shape, dtype):
    a, (rows, columns) = normal(*shape, dtype=dtype), shape[-2:]
    given, few = ad.tensor(a), min(rows, columns)
    for mode in ("reduced", "complete", "r"):
        for ours, theirs in zip(ad.linalg.qr(given, mode), np.linalg.qr(a, "reduced" if mode == "r" else mode), strict=True):
            if ours.numel():
                same(ours, theirs, dtype)
    for full in (True, False):
        u, s, vh = ad.linalg.svd(given, full)
        assert tuple(u.shape[-2:]) == (rows, rows if full else few) and tuple(vh.shape[-2:]) == (columns if full else few, columns)
        same((u[..., :few] * s[..., None, :]) @ vh[..., :few, :], a, dtype)
    same(ad.linalg.svdvals(given), s.numpy(), dtype)
    right = normal(*shape[:-1], 2, dtype=dtype)
    found = ad.linalg.lstsq(given, ad.tensor(right))
    same(found.solution, np.linalg.pinv(a) @ right, dtype)
    assert (found.rank == few).all()


def test_a_matrix_of_less_than_full_rank():
    a, b = np.outer([1.0, 2.0, 3.0], [1.0, 1.0]), np.array([[1.0], [2.0], [4.0]])
    found = ad.linalg.lstsq(ad.tensor(a), ad.tensor(b))
    same(found.solution, np.linalg.pinv(a) @ b)
    assert found.rank.item() == 1


@pytest.mark.parametrize("name,matrix,message", [
    ("inv", np.zeros((2, 2)), "The diagonal element 1 is zero"), ("inv", np.ones((2, 2)), "The diagonal element 2 is zero"),
    ("cholesky", -np.eye(3), "leading minor of order 1"), ("cholesky", np.diag([1.0, -1.0]), "leading minor of order 2"),
    ("svd", np.full((2, 2), np.nan), "non-finite"), ("svdvals", np.full((2, 3), np.nan), "non-finite"),
    ("eigh", np.full((2, 2), np.inf), "non-finite"),
])  # fmt: skip
def test_failures(name, matrix, message):
    with pytest.raises(RuntimeError, match=message):
        getattr(ad.linalg, name)(ad.tensor(matrix))


def test_determinants_without_a_value():
    for matrix, size in ((np.zeros((2, 2)), -np.inf), (np.full((2, 2), np.nan), np.nan)):
        np.testing.assert_equal(ad.linalg.slogdet(ad.tensor(matrix)).logabsdet.item(), size)
    assert ad.linalg.det(ad.zeros(2, 2)).item() == 0


def test_pivots_out_of_range_do_no_harm(way):
    if way == "compiled":
        orders = lapack_loops.order_after(np.array([[7, -3]], np.int32), 3)
        assert orders is None or np.array_equal(np.sort(orders), [[0, 1, 2]])
