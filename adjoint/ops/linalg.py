"""Linear algebra: inverse, equations, determinants, Cholesky, pseudoinverse.

Only what needs a rule of its own is an op; `adjoint/linalg.py` builds PyTorch's functions from these, and from those of `decompose.py`,
`lu.py`, `exponential.py` and `factored.py`. Rules of holomorphic ops use plain transposes; where a conjugate is part of the op itself they
use `hermitian`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._errors import spelled
from ._batching import aligned
from ._matrices import check_batches, check_floating, check_matrices
from ._primitives import loops, opaque
from ._registry import LEADING, Array, op
from ._rules import call, conjugate, holds, sum_to
from .matmul import product, transposed


class LinAlgError(RuntimeError):
    """A matrix has no inverse or no factorization of the kind asked for. (`torch.linalg.LinAlgError`.)"""


HIDDEN: dict[str, Any] = {"method": False, "function": False}

LOWER, GENERAL, UPPER = -1, 0, 1  # what is known of a matrix: its other triangle is zero

# ---- what rules are made of ---------------------------------------------------------------------------------------------------------


def is_complex(x: Array) -> bool:
    dtype = x.dtype
    return bool(dtype.kind == "c" if isinstance(dtype, np.dtype) else dtype.is_complex)


def real(x: Array) -> bool:
    """Whether LAPACK may be called for an array without a call of NumPy."""
    return x.__class__ is np.ndarray and x.dtype.char in "fd"


def hermitian(x: Array) -> Array:
    """The conjugate transpose of each matrix."""
    return conjugate(transposed(x))


def by_columns(x: Array) -> Array:
    """The same matrices, but one column after the other, as LAPACK leaves them."""
    return transposed(transposed(x).copy())


def by_long_columns(x: Array, length: int) -> Array:
    """The same, where each column stands in the place of one of another length, if that is longer."""
    found = transposed(np.empty((*x.shape[:-2], x.shape[-1], max(x.shape[-2], length)), x.dtype, like=x)[..., : x.shape[-2]])
    found[...] = x
    return found


def main_diagonal(x: Array) -> Array:
    return np.diagonal(x, 0, -2, -1)


def on_diagonal(values: Array) -> Array:
    """Diagonal matrices."""
    return np.where(np.eye(values.shape[-1], dtype=bool), values[..., None], 0)


def from_identity(x: Array) -> Array:
    """The identity minus `x`."""
    return np.where(np.eye(x.shape[-1], dtype=bool), 1 - x, -x)


def added(*terms: Array | None) -> Any:
    """The sum of the terms that are there."""
    present = [term for term in terms if term is not None]
    return sum(present[1:], present[0])


def times(first: Array, *others: Array) -> Array:
    """The product of matrices inside a rule, from the left to the right."""
    for other in others:
        first = product(first, other)
    return first


def solved(a: Array, b: Array, triangle: int = GENERAL) -> Array:
    """The solution x of a x = b inside a rule."""
    return call(linalg_solve, a, b, triangle)


# ---- what forwards are made of ------------------------------------------------------------------------------------------------------


def first_failure(a: Array, fails: Callable[[Array], int]) -> tuple[str, int]:
    """The first matrix of a batch that fails, as PyTorch names it in a message, and the row (from one) at which it does."""
    for place, matrix in enumerate(np.reshape(a, (-1, *a.shape[-2:]))):
        row = fails(matrix)
        if row:
            return f"(Batch element {place}): " if a.ndim > 2 else "", row
    return "", 0


def zero_pivot(matrix: Array) -> int:
    """The row (from one) of the first pivot that is zero; 0 if there is none."""
    _, _, upper = pivoted_lu(matrix)
    return zero_on(np.diagonal(upper))


def zero_on(diagonal: Array) -> int:
    """The place (from one) of the first zero; 0 if there is none."""
    zero = np.flatnonzero(diagonal == 0)
    return int(zero[0]) + 1 if zero.size else 0


def bad_minor(matrix: Array) -> int:
    """The order of the first leading minor that is not positive-definite; 0 if there is none."""
    return unfinished_cholesky(matrix)[1]


def unfinished_cholesky(matrix: Array) -> tuple[Array, int]:
    """The factor of one matrix as far as it goes, as LAPACK leaves it, and the order of the minor at which it stops."""
    factor = np.tril(matrix)
    for j in range(len(factor)):
        row = np.conjugate(factor[j, :j])
        size = (factor[j, j] - factor[j, :j] @ row).real
        if not size > 0:
            factor[j, j] = size
            return factor, j + 1
        factor[j, j] = np.sqrt(size)
        factor[j + 1 :, j] = (factor[j + 1 :, j] - factor[j + 1 :, :j] @ row) / factor[j, j]
    return factor, 0


def pivoted_lu(matrix: Array, pivot: bool = True) -> tuple[list[int], Array, Array]:
    """Row numbers, L and U of one matrix: `matrix[rows] = L @ U`."""
    upper = matrix.copy()
    count = min(upper.shape)
    rows, lower = list(range(len(upper))), np.eye(len(upper), count, dtype=matrix.dtype)
    for k in range(count):
        column = upper[k:, k]
        best = k + int(np.argmax(np.abs(column.real) + np.abs(column.imag))) if pivot else k  # LAPACK's size of a complex number
        if best != k:
            upper[[k, best]] = upper[[best, k]]
            lower[[k, best], :k] = lower[[best, k], :k]
            rows[k], rows[best] = rows[best], rows[k]
        if not upper[k:, k].any():
            continue
        lower[k + 1 :, k] = upper[k + 1 :, k] / upper[k, k]
        upper[k + 1 :, k:] -= lower[k + 1 :, k, None] * upper[k, k:]
        upper[k + 1 :, k] = 0
    return rows, lower, upper[:count]


# ---- inverse and equations ----------------------------------------------------------------------------------------------------------


def _inv_rule(g: Array, out: Array) -> Array:
    turned = transposed(out)
    return -times(turned, g, turned)


@op(batch=LEADING, nodes="LinalgInvExBackward0", holomorphic=True, jvp=lambda A_t, out: -times(out, A_t, out), A=_inv_rule, **HIDDEN)
def linalg_inv(A: Array) -> Array:
    """The inverse of each matrix."""
    check_matrices("linalg.inv", A)
    check_floating("linalg.inv", A)
    if real(A) and (found := loops("lapack").inverse(A)) is not None and not np.count_nonzero(found[1]):
        return found[0]
    try:
        return by_columns(np.linalg.inv(A))
    except np.linalg.LinAlgError:
        batch, row = first_failure(A, zero_pivot)
        raise LinAlgError(
            spelled(
                f"linalg.inv: {batch}The diagonal element {row} is zero, the inversion could not be completed because the input matrix is "
                "singular.\n  fix: torch.linalg.pinv(A), or torch.linalg.lstsq(A, B) to solve equations"
            )
        ) from None


def _solve_right(g: Array, A: Array, B_shape: Any, triangle: int) -> Array:
    return sum_to(solved(transposed(A), g, -triangle), B_shape)


def _solve_left(g: Array, A: Array, out: Array, A_shape: Any, triangle: int) -> Array:
    return sum_to(-what_is_read(times(solved(transposed(A), g, -triangle), transposed(out)), triangle), A_shape)


def _solve_jvp(A: Array, A_t: Array, B_t: Array, out: Array, triangle: int) -> Array:
    return solved(A, added(B_t, None if A_t is None else -times(what_is_read(A_t, triangle), out)), triangle)


def what_is_read(a: Array, triangle: int) -> Array:
    return np.tril(a) if triangle == LOWER else np.triu(a) if triangle == UPPER else a


def substituted(a: Array, b: Array, triangle: int) -> Array:
    """The solution for a triangular matrix with zeros on its diagonal, by which is divided."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])), np.result_type(a, b))
    with np.errstate(all="ignore"):
        for k in range(a.shape[-1]) if triangle == LOWER else reversed(range(a.shape[-1])):
            rest = slice(k + 1, None) if triangle == LOWER else slice(0, k)
            x[..., k, :] /= a[..., k, k, None]
            x[..., rest, :] -= a[..., rest, k, None] * x[..., None, k, :]
    return x


def _solve_examples(A: Any, B: Any, triangle: int) -> Any:
    return linalg_solve(*aligned(A, B), triangle)


@op(nodes="LinalgSolveExBackward0", holomorphic=True, jvp=_solve_jvp, A=_solve_left, B=_solve_right, batch=_solve_examples, **HIDDEN)
def linalg_solve(A: Array, B: Array, triangle: int = GENERAL) -> Array:
    """The solution X of A X = B; batches broadcast. Of a triangular matrix the other triangle is not read."""
    if triangle and real(A) and B.__class__ is np.ndarray and B.ndim > 1:
        solution = loops("triangular").solve(A, B, triangle == UPPER)
        if solution is not None:
            return solution
    elif real(A) and B.ndim > 1 and (found := loops("lapack").solution(A, B)) is not None and not np.count_nonzero(found[1]):
        return found[0]
    if B.ndim > 1:
        check_batches(B.shape, A.shape)
    if triangle and A.__class__ is np.ndarray and not np.all(main_diagonal(A)):
        return by_columns(substituted(A, B, triangle))
    try:
        solution = np.linalg.solve(what_is_read(A, triangle), B)
        return solution if B.ndim < 2 else by_columns(solution)
    except np.linalg.LinAlgError:
        batch, _ = first_failure(A, zero_pivot)
        raise LinAlgError(
            spelled(f"torch.linalg.solve: {batch}The solver failed because the input matrix is singular.\n  fix: torch.linalg.lstsq(A, B)")
        ) from None


# ---- determinants -------------------------------------------------------------------------------------------------------------------


def cofactors(A: Array, out: Array) -> Array:
    """The derivatives of the determinant by each element. A singular matrix has them too, from its singular values."""
    from .decompose import linalg_svd
    from .product import without_each

    if not holds(np.any(np.abs(out) <= np.finfo(np.float32).tiny)):
        return out[..., None, None] * transposed(call(linalg_inv, A))
    u, s, vh = call(linalg_svd, A, False)
    rest = np.prod(without_each(s, len(s.shape) - 1), axis=-1)
    sign = call(linalg_det, u) * call(linalg_det, vh)
    return conjugate(times(u * rest[..., None, :], vh)) * sign[..., None, None]


def _det_rule(g: Array, A: Array, out: Array) -> Array:
    return g[..., None, None] * cofactors(A, out)


@op(batch=LEADING, holomorphic=True, jvp=lambda A, A_t, out: np.sum(cofactors(A, out) * A_t, axis=(-2, -1)), A=_det_rule, **HIDDEN)
def linalg_det(A: Array) -> Array:
    """The determinant of each matrix."""
    check_matrices("linalg.det", A)
    check_floating("linalg.det", A, "lu_cpu")
    found = loops("lapack").determinants(A) if real(A) else None
    return np.linalg.det(A) if found is None else found


def _slogdet_rule(g: Sequence[Array], A: Array) -> Array:
    turn, growth = g
    weight = growth
    if turn is not None and is_complex(A):
        weight = added(growth, np.imag(conjugate(turn) * call(linalg_slogdet, A)[0]) * -1j)
    if weight is None:
        return A * 0
    return weight[..., None, None] * hermitian(call(linalg_inv, A))


def _slogdet_jvp(A: Array, A_t: Array, out: Any) -> Any:
    rate = np.trace(solved(A, A_t), 0, -2, -1)
    if not is_complex(A):
        return np.zeros_like(out[0]), rate
    return out[0] * (1j * np.imag(rate)), np.real(rate) + 0


@op(batch=LEADING, several=True, holomorphic=False, jvp=_slogdet_jvp, A=_slogdet_rule, **HIDDEN)
def linalg_slogdet(A: Array) -> tuple[Array, Array]:
    """Sign and logarithm of the absolute value of the determinant."""
    if real(A) and (found := loops("lapack").logarithms(A)) is not None:
        return found  # type: ignore[no-any-return]
    sign, size = np.linalg.slogdet(A)
    return sign, size


# ---- factorizations without a choice of signs ---------------------------------------------------------------------------------------


def lower_half(x: Array) -> Array:
    """The lower triangle with half of the diagonal."""
    return np.tril(x, -1) + on_diagonal(main_diagonal(x)) / 2


def _cholesky_rule(g: Array, out: Array) -> Array:
    turned = hermitian(out)
    inner = np.tril(times(turned, g))
    inner = (inner + hermitian(np.tril(inner, -1))) / 2
    return solved(turned, hermitian(solved(turned, hermitian(inner), UPPER)), UPPER)


def _cholesky_jvp(A_t: Array, out: Array) -> Array:
    symmetric = (A_t + hermitian(A_t)) / 2
    inner = solved(out, hermitian(solved(out, symmetric, LOWER)), LOWER)
    return times(out, lower_half(inner))


@op(batch=LEADING, nodes="LinalgCholeskyExBackward0", holomorphic=False, jvp=_cholesky_jvp, A=_cholesky_rule, **HIDDEN)
def linalg_cholesky(A: Array, upper: bool = False) -> Array:
    """The lower triangular L with L Lᴴ = A, of which the lower or the upper triangle is read."""
    check_matrices("linalg.cholesky", A)
    check_floating("linalg.cholesky", A, "cholesky_cpu")
    if real(A) and (found := loops("lapack").cholesky(A, upper)) is not None:
        return transposed(found) if upper else found
    lower = hermitian(A) if upper else A
    try:
        factor = np.linalg.cholesky(lower)
        if not holds(np.any(np.isnan(main_diagonal(factor)))):
            return factor if upper else by_columns(factor)  # as the factor that is asked for
    except np.linalg.LinAlgError:
        pass
    batch, order = first_failure(lower, bad_minor)
    raise LinAlgError(
        spelled(
            f"linalg.cholesky: {batch}The factorization could not be completed because the input is not positive-definite "
            f"(the leading minor of order {order} is not positive-definite).\n  fix: A + eps * torch.eye(A.shape[-1])"
        )
    )


# ---- functions of matrices ----------------------------------------------------------------------------------------------------------


def _pinv_rule(g: Array, A: Array, out: Array) -> Array:
    turned, back = hermitian(out), hermitian(g)
    return added(
        -times(turned, g, turned),
        times(from_identity(times(A, out)), times(back, out, turned)),
        times(turned, out, back, from_identity(times(out, A))),
    )


def _pinv_jvp(A: Array, A_t: Array, out: Array) -> Array:
    turned, along = hermitian(out), hermitian(A_t)
    return added(
        -times(out, A_t, out),
        times(out, turned, along, from_identity(times(A, out))),
        times(from_identity(times(out, A)), times(along, turned, out)),
    )


@op(batch=LEADING, holomorphic=False, converts=True, jvp=_pinv_jvp, A=_pinv_rule, **HIDDEN)
def linalg_pinv(A: Array, atol: Any, rtol: Any, symmetric: bool) -> Array:
    """The pseudoinverse; singular values up to max(atol, rtol · the largest) count as zero."""
    return pseudoinverse(A, atol, rtol, symmetric)


def no_inverse(A: Array, *how: Any) -> Array:
    return np.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]), A.dtype, like=A)


@opaque("lapack.pseudoinverse", meta=no_inverse)
def pseudoinverse(A: Array, atol: Any, rtol: Any, symmetric: bool) -> Array:
    from .decompose import eigenvectors, singular_vectors

    if 0 in A.shape[-2:]:
        return no_inverse(A)
    if symmetric:
        found = loops("lapack").eigenvalues(A, False, True) if real(A) else None
        s, u = found or eigenvectors(A, False)
        vh = hermitian(u)
    else:
        found = loops("lapack").singular_values(A, True) if real(A) else None
        u, s, vh = found or singular_vectors(A, False)
    size = np.abs(s)
    limit = np.maximum(np.asarray(atol)[..., None], np.asarray(rtol)[..., None] * np.max(size, axis=-1, keepdims=True))
    inverse = np.where(size > limit, 1 / np.where(s == 0, 1, s), 0).astype(s.dtype)
    return times(hermitian(vh), inverse[..., None] * hermitian(u))


def _lstsq_rule(g: Array, A: Array, B: Array, rtol: float, A_shape: Any, B_shape: Any, needs: tuple[bool, bool]) -> list[Array | None]:
    inverse = call(linalg_pinv, A, 0.0, rtol, False)
    by_matrix = sum_to(_pinv_rule(times(g, hermitian(B)), A, inverse), A_shape) if needs[0] else None
    return [by_matrix, sum_to(times(hermitian(inverse), g), B_shape) if needs[1] else None]


def _lstsq_jvp(A: Array, A_t: Any, B: Array, B_t: Any, rtol: float) -> Array:
    inverse = call(linalg_pinv, A, 0.0, rtol, False)
    return added(None if A_t is None else times(_pinv_jvp(A, A_t, inverse), B), None if B_t is None else times(inverse, B_t))


def least_squares(A: Array, B: Array, rtol: float, cut: bool) -> tuple[Array, Array] | None:
    """What `linalg_lstsq_found` gives, by LAPACK; None where NumPy has to compute."""
    return loops("lapack").least_squares(A, B, rtol) if real(A) and real(B) and not cut else None


@op(several=True, differentiable=False, out=False, batch=lambda A, B, rtol, cut: linalg_lstsq_found(*aligned(A, B), rtol, cut), **HIDDEN)
def linalg_lstsq_found(A: Array, B: Array, rtol: float, cut: bool = False) -> tuple[Array, Array]:
    """The smallest X with the smallest |A X - B|, and the rank of A. With `cut`, small singular values count as zero; otherwise small
    steps of an orthogonal factorization do."""
    from .decompose import linalg_svdvals

    if (found := least_squares(A, B, rtol, cut)) is not None:
        return found
    values = call(linalg_svdvals, A)
    limit = rtol * np.max(values, axis=-1, keepdims=True) if values.shape[-1] else 0
    solution = times(call(linalg_pinv, A, 0.0, rtol, False), B)
    return by_long_columns(solution, A.shape[-2]), np.sum(values > limit, axis=-1)


@op(nodes="LinalgLstsqBackward0", holomorphic=False, out=False, jvp=_lstsq_jvp, joint=_lstsq_rule, **HIDDEN,
    batch=lambda A, B, rtol: linalg_lstsq(*aligned(A, B), rtol))  # fmt: skip
def linalg_lstsq(A: Array, B: Array, rtol: float, found: Any = None) -> Array:
    """The smallest X with the smallest |A X - B|; `found`, if it is known."""
    return call(linalg_lstsq_found, A, B, rtol)[0] if found is None else found
