"""Equations whose matrix has been factored before: by Cholesky (A = L Lᴴ), or as L D Lᵀ with exchanges of rows and columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._batching import aligned, behind_batch
from ._matrices import check_matrices, check_supported, scalar_name
from ._operands import no_derivative, no_rule, no_tangent
from ._primitives import loops, opaque
from ._registry import LEADING, Array, op
from ._rules import call, sum_to
from .linalg import HIDDEN, LOWER, UPPER, LinAlgError, by_columns, first_failure, hermitian, main_diagonal, real, solved, times, zero_on

# ---- Cholesky -----------------------------------------------------------------------------------------------------------------------

# Note [Derivatives by a Cholesky factor]
# The forward reads one triangle of the factor. The derivatives are those of the full product L Lᴴ, as in PyTorch, so they are not zero in
# the other triangle.


def whole(factor: Array, change: Array, upper: bool) -> Array:
    """How L Lᴴ (or Uᴴ U) changes with its factor."""
    half = times(hermitian(change), factor) if upper else times(change, hermitian(factor))
    return half + hermitian(half)


def of_factor(inner: Array, factor: Array, upper: bool) -> Array:
    """The gradient by the factor from that by the product."""
    inner = inner + hermitian(inner)
    return -(times(factor, inner) if upper else times(inner, factor))


def _solve_factor(g: Array, input_shape: Any, L: Array, out: Array, upper: bool, L_shape: Any) -> Array:
    back = call(cholesky_solve, g, L, upper)
    return sum_to(of_factor(times(back, hermitian(out)), L, upper), L_shape)


def _solve_jvp(L: Array, L_t: Array, input_t: Array, out: Array, upper: bool) -> Array:
    right = None if L_t is None else times(whole(L, L_t, upper), out)
    right = input_t if right is None else -right if input_t is None else input_t - right
    return cholesky_solve(right, L, upper)


@op(
    "cholesky_solve", converts=True, holomorphic=False, jvp=_solve_jvp, L=_solve_factor, **HIDDEN,
    batch=lambda input, L, upper: cholesky_solve(*aligned(input, L), upper),
    input=lambda g, L, upper, input_shape: sum_to(call(cholesky_solve, g, L, upper), input_shape),
)  # fmt: skip
def cholesky_solve(input: Array, L: Array, upper: bool) -> Array:
    """The solution X of A X = input, from the triangular factor of A."""
    if real(L) and real(input) and (found := loops("lapack").solution_by_factor(L, input, upper)) is not None:
        return found
    lower = hermitian(np.triu(L)) if upper else np.tril(L)
    return solved(hermitian(lower), solved(lower, input, LOWER), UPPER)


def _inverse_jvp(input: Array, input_t: Array, out: Array, upper: bool) -> Array:
    return -times(out, whole(input, input_t, upper), out)


@op(
    "cholesky_inverse", batch=LEADING, converts=True, holomorphic=False, jvp=_inverse_jvp, **HIDDEN,
    input=lambda g, input, out, upper: of_factor(times(out, g, out), input, upper),
)  # fmt: skip
def cholesky_inverse(input: Array, upper: bool) -> Array:
    """The inverse of A from its triangular factor."""
    check_matrices("cholesky_inverse", input)
    check_supported("cholesky_inverse_out_cpu", input)
    if isinstance(input, np.ndarray) and not np.all(main_diagonal(input)):
        batch, row = first_failure(input, lambda matrix: zero_on(np.diagonal(matrix)))
        raise LinAlgError(
            f"cholesky_inverse: {batch}The diagonal element {row} is zero, the inversion could not be completed because the input matrix "
            "is singular."
        )
    if real(input) and (found := loops("lapack").inverse_by_factor(input, upper)) is not None:
        return found
    back = np.linalg.inv(hermitian(np.triu(input)) if upper else np.tril(input))
    return by_columns(times(hermitian(back), back))


# ---- L D Lᵀ -------------------------------------------------------------------------------------------------------------------------

# Note [Bunch and Kaufman's pivots]
# D has blocks of size one and two. With a block of size two at k, the rows and columns k + 1 and p are exchanged, and both places in the
# list of pivots hold -p; with a block of size one, k and p, and the place holds p. Rows are counted from one, as in LAPACK.

GROWTH = (1 + 17**0.5) / 8  # keeps the growth of elements smallest


def size_of(x: Array) -> Array:
    """LAPACK's size of a complex number."""
    return np.abs(x.real) + np.abs(x.imag)


def ldl_factored(matrix: Array, hermitian: bool) -> tuple[Array, Array, int]:
    """L and D of one symmetric (or Hermitian) matrix in one lower triangle, the pivots, and the row of a zero in D."""
    a = np.tril(matrix)
    n = len(a)
    turned = np.conjugate if hermitian else np.positive
    pivots, failed = np.zeros(n, np.int32), 0
    k = 0
    while k < n:
        own = abs(a[k, k].real) if hermitian else size_of(a[k, k])
        below = size_of(a[k + 1 :, k])
        row, largest = (k + 1 + int(np.argmax(below)), below.max()) if below.size else (k, 0)
        step, pivot = 1, k
        if max(own, largest) == 0:
            failed = failed or k + 1
        elif own < GROWTH * largest:
            others = max(size_of(a[row, k:row]).max(), size_of(a[row + 1 :, row]).max(initial=0))
            corner = abs(a[row, row].real) if hermitian else size_of(a[row, row])
            if own * others < GROWTH * largest * largest:
                step, pivot = (1, row) if corner >= GROWTH * others else (2, row)
        exchange(a, k + step - 1, pivot, k, turned)
        if hermitian:
            a[k : k + step, k : k + step].flat[:: step + 1] = np.diagonal(a[k : k + step, k : k + step]).real
        eliminate(a, k, step, turned, bool(max(own, largest) == 0))
        pivots[k : k + step] = pivot + 1 if step == 1 else -(pivot + 1)
        k += step
    return a, pivots, failed


def exchange(a: Array, first: int, second: int, start: int, turned: Any) -> None:
    """Exchange two rows and columns of the matrix of which `a` holds the lower triangle, from `start` on."""
    if first == second:
        return
    a[second + 1 :, [first, second]] = a[second + 1 :, [second, first]]
    between = a[first + 1 : second, first].copy()
    a[first + 1 : second, first] = turned(a[second, first + 1 : second])
    a[second, first + 1 : second] = turned(between)
    a[second, first] = turned(a[second, first])
    a[[first, second], [first, second]] = a[[second, first], [second, first]]
    a[[first, second], start:first] = a[[second, first], start:first]


def eliminate(a: Array, k: int, step: int, turned: Any, zero: bool) -> None:
    """Subtract from the rest of the matrix what a block explains, and put the columns of L in its place."""
    rest = slice(k + step, None)
    if zero or k + step >= len(a):
        return
    block = a[k : k + step, k : k + step].copy()
    if step == 2:
        block[0, 1] = turned(block[1, 0])
    columns = a[rest, k : k + step].copy()
    factors = np.linalg.solve(block.T, columns.T).T
    a[rest, rest] -= np.tril(factors @ turned(columns.T))
    a[rest, k : k + step] = factors


def ldl_solved(factors: Array, pivots: Array, right: Array, hermitian: bool) -> Array:
    """The solution of one system, from L and D."""
    x = right.copy()
    n = len(factors)
    turned = np.conjugate if hermitian else np.positive
    blocks = []
    k = 0
    while k < n:
        step = 2 if pivots[k] < 0 else 1
        place, pivot = k + step - 1, abs(int(pivots[k])) - 1
        x[[place, pivot]] = x[[pivot, place]]
        x[k + step :] -= factors[k + step :, k : k + step] @ x[k : k + step]
        block = factors[k : k + step, k : k + step].copy()
        if step == 2:
            block[0, 1] = turned(block[1, 0])
        x[k : k + step] = np.linalg.solve(block, x[k : k + step])
        blocks.append((k, step, place, pivot))
        k += step
    for k, step, place, pivot in reversed(blocks):
        x[k : k + step] -= turned(factors[k + step :, k : k + step].T) @ x[k + step :]
        x[[place, pivot]] = x[[pivot, place]]
    return x


def check_exchanges(factors: Array, pivots: Array) -> None:
    """Refuse exchanges of rows that are not there."""
    if pivots.dtype.kind not in "iu":
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {scalar_name(pivots)}")
    if tuple(pivots.shape) != tuple(factors.shape[:-1]):
        raise RuntimeError(
            f"torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    if isinstance(pivots, np.ndarray) and pivots.size:
        places = np.abs(pivots)
        if places.max() > factors.shape[-2] or places.min() < 1:
            wrong = "<= LD.size(-2)" if places.max() > factors.shape[-2] else ">= 1"
            message = f"Pivots given to ldl_solve must all satisfy |pivot| {wrong}. Did you properly pass the result of ldl_factor?"
            raise RuntimeError(message)


@op("linalg_ldl_factor_ex", batch=LEADING, several=True, holomorphic=False, **HIDDEN,
    jvp=no_tangent("linalg_ldl_factor_ex"), A=no_derivative("linalg_ldl_factor_ex"))  # fmt: skip
def linalg_ldl_factor_ex(A: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """L and D in one matrix, the exchanges, and the row of the first zero in D."""
    check_matrices("torch.linalg.ldl_factor_ex", A)
    return ldl_factors(A, hermitian)


def room_for_ldl(A: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    return by_columns(np.empty_like(A)), np.zeros(A.shape[:-1], np.int32, like=A), np.zeros(A.shape[:-2], np.int32, like=A)


@opaque("lapack.ldl", meta=room_for_ldl)
def ldl_factors(A: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    factors, pivots, info = room_for_ldl(A, hermitian)
    for place in np.ndindex(*A.shape[:-2]):
        factors[place], pivots[place], info[place] = ldl_factored(A[place], hermitian)
    return factors, pivots, info


@op("linalg_ldl_solve", holomorphic=False, **HIDDEN,
    jvp=no_tangent("linalg_ldl_solve"), LD=no_derivative("linalg_ldl_solve"), B=no_derivative("linalg_ldl_solve"),
    batch=lambda LD, pivots, B, hermitian: linalg_ldl_solve(
        behind_batch(LD, B.ndim), behind_batch(pivots, B.ndim - 1), behind_batch(B, LD.ndim), hermitian))  # fmt: skip
@opaque("lapack.ldl_solution", meta=lambda LD, pivots, B, hermitian: room_for_solution(LD, B))
def linalg_ldl_solve(LD: Array, pivots: Array, B: Array, hermitian: bool) -> Array:
    """The solution X of A X = B from the factors of A."""
    result = room_for_solution(LD, B)
    batch = result.shape[:-2]
    factors, order = np.broadcast_to(LD, (*batch, *LD.shape[-2:])), np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    right = np.broadcast_to(B, result.shape)
    for place in np.ndindex(*batch):
        result[place] = ldl_solved(factors[place], order[place], right[place], hermitian)
    return result


def room_for_solution(LD: Array, B: Array) -> Array:
    return by_columns(np.empty_like(B, shape=(*np.broadcast_shapes(LD.shape[:-2], B.shape[:-2]), *B.shape[-2:])))


# ---- QR in its packed form ----------------------------------------------------------------------------------------------------------


@op("geqrf", batch=LEADING, several=True, holomorphic=False, jvp=no_tangent("geqrf"), input=no_rule("geqrf"), **HIDDEN)
def geqrf(input: Array) -> tuple[Array, Array]:
    """R, with the vectors of the reflections below its diagonal, and the factors of the reflections."""
    if len(input.shape) < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    check_supported("geqrf_cpu", input)
    return reflections(input)


def no_reflections(x: Array) -> tuple[Array, Array]:
    return by_columns(np.zeros_like(x)), np.zeros((*x.shape[:-2], min(x.shape[-2:])), x.dtype, like=x)


@opaque("lapack.reflections", meta=no_reflections)
def reflections(input: Array) -> tuple[Array, Array]:
    if not input.size:
        return no_reflections(input)
    turned, factors = np.linalg.qr(input, mode="raw")
    return np.swapaxes(np.ascontiguousarray(turned), -1, -2), factors
