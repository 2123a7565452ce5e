"""Decompositions: their factors give the matrix back, and functions that do not depend on signs and phases have the right derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.ops import _check
from tests.ops.samples import Row, Sample

la = ad.linalg


def random(*shape: int, complex: bool = False) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if complex else x


def symmetric(x: Any) -> Any:
    return x + x.mH


def eigenvector_sizes(x: Any) -> Any:
    values, vectors = la.eigh(symmetric(x))
    return values, vectors.abs() ** 2


def eigenvalue_projector(x: Any) -> Any:
    _, vectors = la.eigh(symmetric(x))
    first = vectors[..., :1]
    return (first @ first.mH).abs() ** 2


def general_eigenvectors(x: Any) -> Any:
    values, vectors = la.eig(x)
    return values.abs(), vectors.abs()


def singular_projectors(x: Any) -> Any:
    u, s, vh = la.svd(x, full_matrices=False)
    return s, u.abs() ** 2, (u[..., :2] @ vh[..., :2, :]).abs() ** 2


def orthogonal(x: Any) -> Any:
    q, r = la.qr(x)
    return q.abs() ** 2, r.abs() ** 2


def triangular(x: Any) -> Any:
    return la.cholesky(x @ x.mH + 2 * ad.eye(x.shape[-1], dtype=x.dtype)).abs() ** 2


def equations(x: Any) -> Any:
    packed, pivots = la.lu_factor(x)
    return la.lu_solve(packed, pivots, x.mT.detach() * 0 + 1), la.lu_solve(packed, pivots, x * 2, adjoint=True)


FUNCTIONS: list[tuple[Callable[[Any], Any], tuple[int, ...]]] = [
    (eigenvector_sizes, (3, 3)), (eigenvalue_projector, (2, 3, 3)), (general_eigenvectors, (3, 3)), (general_eigenvectors, (2, 3, 3)),
    (singular_projectors, (3, 3)), (singular_projectors, (2, 4, 3)), (singular_projectors, (3, 4)), (orthogonal, (4, 3)),
    (orthogonal, (3, 4)), (triangular, (2, 3, 3)), (equations, (3, 3)),
]  # fmt: skip


@pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize(("function", "shape"), FUNCTIONS, ids=[f"{f.__name__}-{'x'.join(map(str, s))}" for f, s in FUNCTIONS])
def test_derivatives(function: Callable[[Any], Any], shape: tuple[int, ...], complex: bool) -> None:
    call = _check.Call(Row("qr"), Sample(random(*shape, complex=complex)))
    call.function = function
    derivative = _check.Derivative(call)
    _check.check_gradient(derivative)
    _check.check_forward_mode(derivative)
    _check.check_second(derivative)


@pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (3, 5)])
def test_factors_multiply_to_the_matrix(shape: tuple[int, ...], complex: bool) -> None:
    x = ad.from_numpy(random(*shape, complex=complex))
    for full in (False, True):
        u, s, vh = la.svd(x, full_matrices=full)
        k = s.shape[-1]
        np.testing.assert_allclose((u[..., :k] * s[..., None, :].to(x.dtype)) @ vh[..., :k, :], x, atol=1e-12)
    for mode in ("reduced", "complete"):
        q, r = la.qr(x, mode)
        np.testing.assert_allclose(q @ r, x, atol=1e-12)
    p, lower, upper = la.lu(x)
    np.testing.assert_allclose(p @ lower @ upper, x, atol=1e-12)
    for again, wanted in zip(ad.lu_unpack(*la.lu_factor(x)), (p, lower, upper), strict=True):
        np.testing.assert_allclose(again, wanted)
    if shape[-1] == shape[-2]:
        values, vectors = la.eigh(symmetric(x))
        np.testing.assert_allclose(symmetric(x) @ vectors, vectors * values[..., None, :].to(x.dtype), atol=1e-12)
        values, vectors = la.eig(x)
        np.testing.assert_allclose(x.to(ad.complex128) @ vectors, vectors * values[..., None, :], atol=1e-12)


def test_what_is_not_differentiable_says_so() -> None:
    x = ad.from_numpy(random(4, 3)).requires_grad_()
    with pytest.raises(RuntimeError, match="depends on Q, which is not computed when mode='r'"):
        la.qr(x, "r").R.sum().backward()
    with pytest.raises(RuntimeError, match="not differentiable when mode='complete' and nrows > ncols"):
        la.qr(x, "complete").R.sum().backward()


def test_errors_are_those_of_linalg() -> None:
    assert issubclass(la.LinAlgError, RuntimeError)
    for call in (la.inv, la.cholesky, lambda a: la.solve(a, ad.ones(3))):
        with pytest.raises(la.LinAlgError):
            call(ad.zeros(3, 3))
    for call in (la.svd, la.eigh):
        with pytest.raises(la.LinAlgError, match="non-finite"):
            call(ad.full((2, 2), float("nan")))
    with pytest.raises(RuntimeError, match="should not contain infs or NaNs"):
        la.eig(ad.full((2, 2), float("nan")))
    infinite = ad.stack([ad.eye(2), ad.full((2, 2), float("inf"))])
    assert la.svdvals(infinite).isnan().tolist() == [[False, False], [True, True]]
    assert la.matrix_rank(infinite).tolist() == [2, 0]
    assert la.cond(ad.full((2, 2), float("nan")), "fro").item() == float("inf")
    assert la.inv_ex(ad.zeros(3, 3)).info == 1
    assert la.inv_ex(ad.eye(3)).info == 0
    assert la.solve_ex(ad.ones(2, 2), ad.ones(2)).info == 2
    assert la.lu_factor_ex(ad.ones(2, 2)).info == 2
    assert la.cholesky_ex(-ad.eye(2)).info == 1


def test_out_of_several_results() -> None:
    x = ad.from_numpy(random(3, 3))
    targets = ad.empty(0, dtype=ad.float64), ad.empty(0, dtype=ad.float64)
    result = la.qr(x, out=targets)
    assert result.Q is targets[0]
    np.testing.assert_allclose(targets[0] @ targets[1], x, atol=1e-12)


def test_singular_and_empty_matrices() -> None:
    p, lower, upper = la.lu(ad.ones(2, 3))
    np.testing.assert_array_equal(p @ lower @ upper, np.ones((2, 3)))
    assert la.lu(ad.zeros(2, 0, 0)).U.shape == (2, 0, 0)
    assert la.lu_factor(ad.zeros(3, 0)).pivots.shape == (0,)
    assert la.cond(ad.zeros(2, 2), 1) == float("inf")
    for order in ("nuc", 1, 2, float("inf")):
        assert la.matrix_norm(ad.zeros(0, 0), order) == 0


def test_largest_complex_number_is_found_again_by_another_kernel() -> None:
    """The gradient of the maximum norm goes to the largest element, whoever computed the sizes: NumPy or a compiled kernel."""
    rng = np.random.default_rng(0)
    for _ in range(400):
        x = ad.tensor(rng.standard_normal(5) + 1j * rng.standard_normal(5), requires_grad=True)
        (grad,) = ad.autograd.grad(ad.linalg.vector_norm(x, float("inf")), x, create_graph=True)
        assert grad.detach().abs().sum().item() == pytest.approx(1.0)


def test_factors_without_a_derivative_say_so():
    x = ad.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    factors, pivots = la.ldl_factor(x)
    for result, error in [
        (ad.geqrf(x)[0], NotImplementedError),
        (factors, RuntimeError),
        (la.ldl_solve(factors.detach(), pivots, x), RuntimeError),
    ]:
        assert result.requires_grad
        with pytest.raises(error, match=r"derivative for .* is not implemented"):
            result.sum().backward()
    with pytest.raises(NotImplementedError, match="forward AD with geqrf that does not support it"):
        ad.func.jvp(lambda a: ad.geqrf(a)[0], (x.detach(),), (x.detach(),))
