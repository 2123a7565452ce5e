"""Linear algebra by LAPACK and by kernels for small matrices, against NumPy's answers for the same matrices."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import condensed_loops, exponential_loops, lapack_loops, small_loops, triangular_loops
from adjoint._kernels.loops import LOOPS

random = np.random.default_rng(11)
LAPACK = [kernel for kernel in LOOPS if kernel.fn.__module__ == lapack_loops.__name__]
MODULES = [module.__name__ for module in (condensed_loops, exponential_loops, small_loops, triangular_loops)]
SMALL = [kernel for kernel in LOOPS if kernel.fn.__module__ in MODULES]
SQUARE = [(1, 1), (4, 4), (33, 33), (3, 5, 5), (2, 20, 3, 3)]
OBLONG = [(4, 4), (6, 3), (3, 6), (2, 5, 3), (20, 2, 4)]


def normal(*shape, dtype="float64"):
    return random.standard_normal(shape).astype(dtype)


@pytest.fixture(params=["compiled", "lapack", "numpy"], autouse=True)
def way(request, monkeypatch):
    """Everything by kernels, by those that call LAPACK, and without any."""
    for kernel in {"compiled": [], "lapack": SMALL, "numpy": [*LAPACK, *SMALL]}[request.param]:
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
    values, vectors = linalg.eig(given)
    np.testing.assert_allclose(given.to(vectors.dtype) @ vectors, vectors * values[..., None, :], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(np.sort_complex(linalg.eigvals(given).numpy()), np.sort_complex(values.numpy()), rtol=1e-3, atol=1e-3)


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


def parts_of(name):
    """Functions of decompositions that do not depend on a choice of signs."""
    return {
        "eigvalsh": lambda a: ad.linalg.eigvalsh(a).prod(-1),
        "eigh": lambda a: (ad.linalg.eigh(a)[1] ** 4).sum((-1, -2)) * ad.linalg.eigh(a)[0].amax(-1),
        "svdvals": lambda a: ad.linalg.svdvals(a).prod(-1),
        "svd": lambda a: (ad.linalg.svd(a, False)[0] ** 2).mul(ad.linalg.svd(a, False)[2] ** 2).mul(a).sum((-1, -2)),
        "qr": lambda a: (ad.linalg.qr(a)[0] * ad.linalg.qr(a)[1]).sum((-1, -2)),
        "eig": lambda a: (ad.linalg.eig(a)[1].abs() ** 4).sum((-1, -2)) * ad.linalg.eig(a)[0].abs().amax(-1),
        "norm": lambda a: ad.linalg.matrix_norm(a, "nuc"),
    }[name]


@pytest.mark.parametrize("name", ["eigvalsh", "eigh", "svdvals", "svd", "qr", "eig", "norm"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 3, 3), (10, 10)])
def test_gradients_are_those_of_a_second_decomposition(shape, name):
    part = parts_of(name)
    x = ad.tensor(normal(*shape) + np.arange(shape[-1]) * np.eye(shape[-1])).requires_grad_()
    a = x + x.mT if name.startswith("eig") else x
    total = part(a).sum()
    (plain,) = ad.autograd.grad(total, x, retain_graph=True)
    (again,) = ad.autograd.grad(total, x, create_graph=True)
    same(plain, again.detach().numpy())


def test_results_may_be_written_to_before_the_backward_pass():
    x = ad.tensor(normal(4, 4)).requires_grad_()
    q, r = ad.linalg.qr(x)
    (expected,) = ad.autograd.grad(r.sum(), x, retain_graph=True)
    q.detach().zero_()
    same(ad.autograd.grad(r.sum(), x)[0], expected.numpy())


@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3), (20, 20)])
def test_results_stand_by_columns(shape):
    a = ad.tensor(normal(*shape) + 4 * np.eye(shape[-1]))
    n = shape[-1]
    linalg, factor = ad.linalg, ad.linalg.cholesky(a @ a.mT)
    for matrix in (linalg.inv(a), linalg.lu_factor(a)[0], *linalg.qr(a), linalg.eigh(a)[1], linalg.svd(a)[0], linalg.svd(a)[2]):
        assert matrix.stride()[-2:] == (1, n)
    for matrix in (factor, linalg.cholesky(a @ a.mT, upper=True), ad.cholesky_inverse(factor), linalg.qr(a[..., :2, :])[1]):
        assert matrix.stride()[-2:] == (1, matrix.shape[-2])
    for upper in (True, False):
        assert linalg.solve_triangular(a, a[..., :2], upper=upper).stride()[-2:] == (1, n)


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize(("n", "columns"), [(1, 1), (3, 40), (32, 33), (33, 2)])
def test_one_triangle_is_read(n, columns, upper):
    a, b = normal(2, n, n) + 8 * np.eye(n), normal(2, n, columns)
    read = np.triu(a) if upper else np.tril(a)
    same(ad.linalg.solve_triangular(ad.tensor(a), ad.tensor(b), upper=upper), np.linalg.solve(read, b))
    symmetric = read + np.swapaxes(np.triu(a, 1) if upper else np.tril(a, -1), -1, -2) + n * np.eye(n)
    lower = np.linalg.cholesky(symmetric)
    found = ad.linalg.cholesky(ad.tensor(np.triu(symmetric) if upper else np.tril(symmetric)), upper=upper)
    same(found, np.swapaxes(lower, -1, -2) if upper else lower)


def test_nan_is_not_positive():
    for n in (2, 40):
        a = 4 * np.eye(n)
        a[1, 1] = np.nan
        with pytest.raises(ad.linalg.LinAlgError, match="leading minor of order 2 is not"):
            ad.linalg.cholesky(ad.tensor(np.stack([a, a])))
        assert ad.linalg.cholesky_ex(ad.tensor(a), upper=True).info.item() == 2


def test_what_was_kept_is_freed():
    x = ad.tensor(normal(4, 4)).requires_grad_()
    for found in (ad.linalg.svdvals(x), ad.linalg.qr(x)[1], ad.linalg.eigvalsh(x), ad.linalg.eig(x)[0].abs()):
        found.sum().backward()
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            found.sum().backward()


# ---- exponentials -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (16, 16), (17, 17), (3, 5, 5), (2, 3, 20, 20), (0, 3, 3), (0, 0)])
def test_exponentials(shape, dtype):
    a = normal(*shape) + (1j * normal(*shape) if dtype.startswith("c") else 0)
    values, vectors = np.linalg.eig(a)
    expected = (vectors * np.exp(values)[..., None, :]) @ np.linalg.inv(vectors)
    found = ad.linalg.matrix_exp(ad.tensor(a.astype(dtype)))
    assert found.dtype is getattr(ad, dtype)
    error = np.abs(found.numpy() - expected).max(initial=0) / np.abs(expected).max(initial=1)
    assert error < (1e-9 if dtype in ("float64", "complex128") else 1e-4)


def test_exponentials_of_very_different_matrices():
    """Each is halved as often as it needs."""
    small, large = 1e-9 * normal(3, 3), 200 * np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = ad.linalg.matrix_exp(ad.tensor(np.stack([small, large])))
    np.testing.assert_allclose(found[0] - ad.eye(3), small, rtol=1e-6, atol=1e-15)
    np.testing.assert_allclose(found[1, 0, :2], [np.cos(200), np.sin(200)], rtol=1e-10)
    for wrong in (np.nan, np.inf):
        assert ad.linalg.matrix_exp(ad.tensor([[wrong, 0.0], [0.0, 1.0]])).isnan().any()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3), (18, 18)])
def test_gradients_of_exponentials(shape, dtype):
    """Their size does not matter to their precision; the rule on Tensors goes another way."""
    x = ad.tensor(normal(*shape).astype(dtype)).requires_grad_()
    y = ad.linalg.matrix_exp(x)
    g = ad.tensor(normal(*shape).astype(dtype))
    (plain,) = ad.autograd.grad(y, x, g, retain_graph=True)
    (large,) = ad.autograd.grad(y, x, g * 2.0**80, retain_graph=True)
    (again,) = ad.autograd.grad(y, x, g, create_graph=True)
    same(large / 2.0**80, plain.numpy(), dtype)
    same(again.detach(), plain.numpy(), dtype)
    if shape[-1] < 5:
        assert ad.autograd.gradcheck(ad.linalg.matrix_exp, (x,), check_forward_ad=True)
        assert ad.autograd.gradgradcheck(ad.linalg.matrix_exp, (x,))


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), np.full((3, 3), 1e-200), 1e200 * np.eye(3), np.diag([1e-160, 0.0, 1.0])])
def test_numbers_whose_squares_are_out_of_range(matrix):
    same(ad.linalg.svdvals(ad.tensor(matrix)) / max(matrix.max(), 1e-300), np.linalg.svd(matrix / max(matrix.max(), 1e-300))[1])
    same(ad.linalg.eigvalsh(ad.tensor(matrix)) / max(matrix.max(), 1e-300), np.linalg.eigvalsh(matrix / max(matrix.max(), 1e-300)))
    q, r = ad.linalg.qr(ad.tensor(matrix))
    same((q @ r) / max(matrix.max(), 1e-300), matrix / max(matrix.max(), 1e-300))


def test_pivots_out_of_range_do_no_harm(way):
    if way == "compiled":
        orders = lapack_loops.order_after(np.array([[7, -3]], np.int32), 3)
        assert orders is None or np.array_equal(np.sort(orders), [[0, 1, 2]])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 20), (20, 1), (9, 9), (40, 7), (7, 40), (2, 33, 64), (64, 63), (65, 3)])
def test_values_of_matrices_of_a_middle_size(shape, dtype):
    a = normal(*shape, dtype=dtype)
    a[..., 0] = 0  # such a column needs no reflection
    same(ad.linalg.svdvals(ad.tensor(a)), np.linalg.svd(a, compute_uv=False), dtype)
    same(ad.linalg.svdvals(ad.tensor(a).mT), np.linalg.svd(a, compute_uv=False), dtype)
    symmetric = (a @ turned(a)) / max(shape) - np.eye(shape[-2], dtype=dtype)
    for one, other in ((symmetric, symmetric), (np.tril(symmetric), symmetric), (np.eye(12, dtype=dtype), np.eye(12))):
        same(ad.linalg.eigvalsh(ad.tensor(one)), np.linalg.eigvalsh(other), dtype)
    same(ad.linalg.eigvalsh(ad.tensor(np.triu(symmetric)), "U"), np.linalg.eigvalsh(symmetric), dtype)


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e-170, 1e-30, 1e100, 1e300])
def test_values_of_large_and_small_numbers(scale):
    a = np.eye(12) + np.eye(12, k=1) + np.eye(12, k=-1) + np.eye(12, k=5) + np.eye(12, k=-5)
    size = scale or 1.0
    same(ad.linalg.eigvalsh(ad.tensor(a * scale)) / size, np.linalg.eigvalsh(a) * (scale > 0))
    same(ad.linalg.svdvals(ad.tensor(a * scale)) / size, np.linalg.svd(a, compute_uv=False) * (scale > 0))
    a[0, 3] = a[3, 0] = a[7, 2] = a[2, 7] = 1e-150  # its square is no number that could be divided by
    same(ad.linalg.eigvalsh(ad.tensor(a)), np.linalg.eigvalsh(a))
    same(ad.linalg.svdvals(ad.tensor(a)), np.linalg.svd(a, compute_uv=False))


@pytest.mark.parametrize("place", [(0, 0), (11, 11), (3, 9), (9, 3)])
def test_values_of_numbers_that_are_not_finite(place):
    for number in (np.nan, np.inf):
        a = np.eye(12)
        a[place] = number
        with pytest.raises(ad.linalg.LinAlgError, match="non-finite"):
            ad.linalg.eigvalsh(ad.tensor(a))
    assert ad.linalg.svdvals(ad.tensor(a)).isnan().all()
    a[place] = np.nan
    with pytest.raises(ad.linalg.LinAlgError, match="non-finite"):
        ad.linalg.svdvals(ad.tensor(a))


def test_factors_of_a_singular_matrix_among_others():
    a = np.stack([np.eye(3), np.ones((3, 3)), np.eye(3)])
    with pytest.raises(RuntimeError, match=r"\(Batch element 1\): U\[2,2\] is zero"):
        ad.linalg.lu_factor(ad.tensor(a))
    assert ad.linalg.lu_factor_ex(ad.tensor(a)).info.tolist() == [0, 2, 0]
    packed, pivots = ad.linalg.lu_factor(ad.tensor(a[::2]))
    assert packed.stride() == (9, 1, 3) and pivots.dtype is ad.int32 and pivots.tolist() == [[1, 2, 3]] * 2


@pytest.mark.parametrize("shape,right", [((4, 3), 2), ((3, 4), 2), ((2, 5, 3), 3), ((2, 3, 5), 4)])
def test_columns_of_least_squares_have_room_for_the_longer_side(shape, right):
    found = ad.linalg.lstsq(ad.tensor(normal(*shape)), ad.tensor(normal(*shape[:-1], right))).solution
    long = max(shape[-2:])
    assert found.stride() == ((long * right,) if len(shape) > 2 else ()) + (1, long)
