"""What functions of linear algebra refuse, and what they give where a matrix is singular."""

from __future__ import annotations

import math

import pytest

import adjoint as ad
from adjoint.ops import _deprecation

la = ad.linalg
EYE = ad.eye(3)
SINGULAR = ad.tensor([[1.0, 2.0], [2.0, 4.0]])


def pivots(*values):
    return ad.tensor(values, dtype=ad.int32)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: la.lu_solve(EYE, pivots(100, 2, 3), EYE), RuntimeError, "must all be smaller or equal to LU"),
        (lambda: la.lu_solve(EYE, pivots(0, 2, 3), EYE), RuntimeError, "must all be greater or equal to 1"),
        (lambda: la.lu_solve(EYE, pivots(1, 2), EYE), RuntimeError, "Number of pivots per batch"),
        (lambda: la.lu_solve(EYE, ad.tensor([1, 2, 3]), EYE), RuntimeError, "pivots should be a Tensor of scalar type torch.int32"),
        (lambda: ad.lu_unpack(EYE, pivots(100, 2, 3)), RuntimeError, "pivots passed to lu_unpack must be between 1"),
        (lambda: ad.lu_unpack(EYE, pivots(1, 2)), RuntimeError, "pivots passed to lu_unpack must be between 1"),
        (lambda: la.ldl_solve(EYE, pivots(1, -9, 3), EYE), RuntimeError, "<= LD.size"),
        (lambda: la.householder_product(ad.ones(3, 2), ad.ones(5)), RuntimeError, "greater than or equal to tau"),
        (lambda: la.householder_product(ad.ones(2, 3), ad.ones(2)), RuntimeError, "greater than or equal to input"),
        (lambda: la.householder_product(ad.ones(2, 3, 2), ad.ones(3, 2)), RuntimeError, "batch dimensions of tau"),
        (lambda: la.solve(EYE.expand(2, 3, 3), ad.ones(3, 3, 1)), RuntimeError, "The size of tensor a"),
        (lambda: la.solve(EYE.half(), EYE.half()), NotImplementedError, "lu_cpu"),
        (lambda: la.lu_factor(EYE, pivot=False), RuntimeError, "LU without pivoting"),
        (lambda: la.svd(EYE, driver="gesvd"), RuntimeError, "only supported on CUDA"),
        (lambda: la.inv_ex(SINGULAR, check_errors=True), la.LinAlgError, "linalg.inv_ex: The diagonal element 2 is zero"),
        (lambda: la.inv(ad.stack([ad.eye(2), SINGULAR])), la.LinAlgError, r"\(Batch element 1\): The diagonal element 2 is zero"),
        (lambda: ad.cholesky_inverse(ad.zeros(2, 2)), la.LinAlgError, "The diagonal element 1 is zero"),
        (lambda: la.norm(ad.ones(2, 2, 2), 2, dim=(0, 1, 2)), RuntimeError, "must be of length 1 or 2"),
        (lambda: la.vector_norm(ad.ones(2), dtype=ad.complex64), RuntimeError, "dtype should be real for real inputs"),
        (lambda: la.matrix_power(EYE, 2.5), TypeError, "must be int, not float"),
        (lambda: la.vander(ad.ones(3), N=1), RuntimeError, "N must be greater than 1"),
        (lambda: la.vecdot(ad.ones(3), ad.ones(3).double()), RuntimeError, "same dtype"),
        (lambda: ad.cdist(EYE, EYE, compute_mode="fast"), ValueError, "not a valid value for compute_mode"),
        (lambda: ad.addr(ad.ones(2, 2).long(), ad.ones(2).long(), ad.ones(2).long(), beta=0.5), RuntimeError, "argument beta must not be"),
    ],
)  # fmt: skip
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [lambda out: la.pinv(EYE, out=out), lambda out: la.cond(EYE, out=out), lambda out: la.matrix_power(EYE, 2, out=out),
     lambda out: la.householder_product(EYE, ad.ones(3), out=out), lambda out: la.tensorsolve(EYE, ad.ones(3), out=out),
     lambda out: ad.cholesky_solve(EYE, EYE, out=out), lambda out: ad.cholesky_inverse(EYE, out=out)],
)  # fmt: skip
def test_targets_of_a_wrong_dtype_are_refused(call):
    with pytest.raises(RuntimeError, match="to be safely castable from Float dtype, but got result with dtype Int"):
        call(ad.empty(0, dtype=ad.int32))


def test_targets_of_another_shape_are_resized_with_a_warning():
    for call in (lambda out: la.inv(EYE, out=out), lambda out: ad.mm(EYE, EYE, out=out), lambda out: la.pinv(EYE, out=out)):
        out = ad.empty(1)
        with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
            call(out)
        assert out.shape == (3, 3)


def test_the_regular_matrices_of_a_batch_are_solved():
    batch = ad.stack([2 * ad.eye(2), SINGULAR])
    inverse, info = la.inv_ex(batch)
    assert info.tolist() == [0, 2] and inverse[0].tolist() == [[0.5, 0], [0, 0.5]] and not inverse[1].isfinite().all()
    solution, info = la.solve_ex(batch, ad.ones(2, 2))
    assert info.tolist() == [0, 2] and solution[0].tolist() == [0.5, 0.5] and not solution[1].isfinite().all()
    assert la.cond(batch, 1).tolist() == [1, math.inf]
    assert la.solve_triangular(ad.tensor([[0.0, 1.0], [0.0, 2.0]]), ad.ones(2, 1), upper=True).tolist() == [[math.inf], [0.5]]


def test_an_unfinished_cholesky_factor_is_what_there_is_of_it():
    factors, info = la.cholesky_ex(ad.stack([ad.tensor([[4.0, 2.0], [2.0, 0.0]]), ad.eye(2)]))
    assert info.tolist() == [2, 0] and factors[0].tolist() == [[2, 0], [1, -1]] and factors[1].tolist() == [[1, 0], [0, 1]]


def test_rcond_means_what_the_driver_makes_of_it():
    a, b = ad.tensor([[1.0, 0.0], [0.0, 0.3], [1.0, 1.0]]), ad.tensor([[2.0], [1.0], [1.0]])
    for _ in range(20):  # whatever computes it
        for driver in ("gelsd", "gelss"):  # singular values below half of the largest count as zero
            assert la.lstsq(a, b, rcond=0.5, driver=driver).solution.flatten().tolist() == pytest.approx([1.02618, 0.66050], abs=1e-4)
        assert la.lstsq(a, b, rcond=0.5, driver="gels").solution.flatten().tolist() == pytest.approx([1.66949, -0.33898], abs=1e-4)


def test_some_eigenvalues_of_a_symmetric_matrix():
    A, B = ad.diag(ad.arange(1.0, 10.0)), ad.diag(ad.full((9,), 2.0))
    values, vectors = ad.lobpcg(A, k=2)
    assert values.tolist() == pytest.approx([9, 8]) and vectors.shape == (9, 2)
    values, vectors = ad.lobpcg(A, k=3, B=B, largest=False)
    assert values.tolist() == pytest.approx([0.5, 1, 1.5])
    ad.testing.assert_close(A @ vectors, B @ vectors * values)
    ad.testing.assert_close(vectors.mT @ B @ vectors, ad.eye(3))
    with pytest.raises(ValueError, match="LOBPCG algorithm is not applicable"):
        ad.lobpcg(A, k=4)


def test_matrices_come_by_columns():
    A, tau = ad.geqrf(ad.rand(4, 3))
    packed, exchanges = la.ldl_factor(A[:3] @ A[:3].mT)
    for x in (A, la.householder_product(A, tau), ad.ormqr(A, tau, ad.rand(4, 4)), packed, la.ldl_solve(packed, exchanges, ad.rand(3, 2))):
        assert x.stride(-2) == 1


def test_successors_are_named_once():
    _deprecation.GIVEN.clear()
    with pytest.warns(UserWarning, match=r"torch.qr is deprecated in favor of torch.linalg.qr"):
        ad.qr(EYE)
    assert len(_deprecation.GIVEN) == 1
