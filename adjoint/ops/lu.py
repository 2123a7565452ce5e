"""LU factorization with exchanges of rows: P A = L U, with both factors in one matrix, as LAPACK keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._primitives import loops, opaque
from ._registry import LEADING, Array, op
from ._rules import cast, holds
from .linalg import HIDDEN, LOWER, UPPER, by_columns, hermitian, pivoted_lu, real, solved, times
from .matmul import transposed


def factors(A: Array) -> tuple[Array, Array, Array, Array] | None:
    """What `linalg_lu_found` gives, by kernels; None where NumPy has to compute."""
    return loops("lapack").lu(A) if A.dtype.char in "fdFD" else None


def regular_factors(A: Array) -> tuple[Array, Array] | None:
    """L and U in one matrix, and the exchanges, of small matrices without a pivot that is zero; None for others."""
    return loops("small").regular_lu(A) if A.ndim > 1 and real(A) else None


def room_for_lu(A: Array, pivot: bool) -> tuple[Array, Array, Array, Array]:
    *batch, rows, columns = A.shape
    pivots, info = np.empty_like(A, np.int32, shape=(*batch, min(rows, columns))), np.zeros_like(A, np.int32, shape=tuple(batch))
    return by_columns(np.empty_like(A)), pivots, info, np.empty_like(A, np.int64, shape=(*batch, rows))


@op(batch=LEADING, several=True, differentiable=False, out=False, **HIDDEN)
@opaque("lapack.lu", meta=room_for_lu)
def linalg_lu_found(A: Array, pivot: bool) -> tuple[Array, Array, Array, Array]:
    """L and U in one matrix, the exchanges, the first pivot that is zero (both counted from one), and the order of rows."""
    if pivot and (found := factors(A)) is not None:
        return found
    *batch, rows, columns = A.shape
    packed, pivots, info, orders = room_for_lu(A, pivot)
    for place in np.ndindex(*batch):
        order, lower, upper = pivoted_lu(A[place], pivot)
        packed[place] = together(lower, upper)
        pivots[place], orders[place] = exchanges(order, min(rows, columns)), order
        zero = np.flatnonzero(np.diagonal(upper) == 0)
        info[place] = zero[0] + 1 if zero.size else 0
    return packed, pivots, info, orders


def exchanges(order: list[int], count: int) -> list[int]:
    """The first exchanges, counted from one, that lead to an order of rows."""
    rows, found = list(range(len(order))), []
    for k in range(count):
        other = rows.index(order[k])
        rows[k], rows[other] = rows[other], rows[k]
        found.append(other + 1)
    return found


def within(pivots: Array, rows: int) -> bool:
    """Whether exchanges are of rows that are there."""
    return not holds(np.any((pivots < 1) | (pivots > rows)))


@opaque("lapack.order", meta=lambda pivots, rows: np.empty_like(pivots, np.int64, shape=(*pivots.shape[:-1], rows)))
def order_after(pivots: Array, rows: int) -> Array:
    """The order of rows to which exchanges lead."""
    if (orders := loops("lapack").order_after(pivots, rows)) is not None:
        return orders
    orders = np.empty((*pivots.shape[:-1], rows), np.int64)
    for place in np.ndindex(*pivots.shape[:-1]):
        order = list(range(rows))
        for k, other in enumerate(pivots[place]):
            order[k], order[other - 1] = order[other - 1], order[k]
        orders[place] = order
    return orders


@op(batch=LEADING, differentiable=False, out=False, **HIDDEN)
def linalg_lu_order(pivots: Array, rows: int) -> Array:
    """The order of rows to which exchanges lead."""
    return order_after(pivots, rows)


@op(batch=LEADING, differentiable=False, out=False, **HIDDEN)
def linalg_lu_permutation(orders: Array, dtype: Any) -> Array:
    """The matrices P for which the rows of Pᵀ A have these orders."""
    return cast(orders[..., None, :] == np.arange(orders.shape[-1])[:, None], np.dtype(dtype))


# ---- the derivative -----------------------------------------------------------------------------------------------------------------

# Note [Blocks of LU]
# The square part of the factors, L₁ and U₁, comes from the square part of A. Of a matrix with more columns than rows there is U₂ = L₁⁻¹ A₂
# besides, of one with more rows L₂ = A₂ U₁⁻¹, and neither depends on the other.


def in_order(x: Array, orders: Array) -> Array:
    return np.take_along_axis(x, np.broadcast_to(orders[..., None], x.shape), -2)


def together(lower: Array, upper: Array) -> Array:
    """Both factors in one matrix."""
    size = upper.shape[-2]
    if upper.shape[-1] > size:
        return np.concatenate([np.tril(lower, -1) + upper[..., :size], upper[..., size:]], axis=-1)
    return np.concatenate([np.tril(lower[..., :size, :], -1) + upper, lower[..., size:, :]], axis=-2)


def apart(packed: Array) -> tuple[Array, Array]:
    """L with ones on its diagonal, and U."""
    rows, columns = packed.shape[-2:]
    size = min(rows, columns)
    return np.where(np.eye(rows, size, dtype=bool), 1, np.tril(packed[..., :size], -1)), np.triu(packed[..., :size, :])


def divided(x: Array, upper: Array) -> Array:
    """X U⁻¹."""
    return transposed(solved(transposed(upper), transposed(x), LOWER))


def _lu_rule(g: Array, orders: Array, out: Array) -> Array:
    (lower, upper), size = apart(out), min(out.shape[-2:])
    g_lower, g_upper = np.tril(g[..., :size], -1), np.triu(g[..., :size, :])
    square, corner = lower[..., :size, :], upper[..., :size]
    left = times(hermitian(square), g_lower[..., :size, :])
    right = times(g_upper[..., :size], hermitian(corner))
    beside = below = None
    if out.shape[-1] > size:
        beside = solved(hermitian(square), g_upper[..., size:], UPPER)
        left = left - times(g_upper[..., size:], hermitian(upper[..., size:]))
    if out.shape[-2] > size:
        below = hermitian(solved(corner, hermitian(g_lower[..., size:, :]), UPPER))
        right = right - times(hermitian(lower[..., size:, :]), g_lower[..., size:, :])
    inner = hermitian(solved(corner, hermitian(np.tril(left, -1) + np.triu(right)), UPPER))
    grad = solved(hermitian(square), inner, UPPER)
    grad = grad if beside is None else np.concatenate([grad, beside], axis=-1)
    grad = grad if below is None else np.concatenate([grad, below], axis=-2)
    return in_order(grad, np.argsort(orders, axis=-1))


def _lu_jvp(A_t: Array, orders: Array, out: Array) -> Array:
    (lower, upper), size = apart(out), min(out.shape[-2:])
    change, square, corner = in_order(A_t, orders), lower[..., :size, :], upper[..., :size]
    inner = divided(solved(square, change[..., :size, :size], LOWER), corner)
    falling, rising = np.tril(inner, -1), np.triu(inner)
    lower_t, upper_t = times(square, falling), times(rising, corner)
    if out.shape[-1] > size:
        beside = solved(square, change[..., size:], LOWER) - times(falling, upper[..., size:])
        upper_t = np.concatenate([upper_t, beside], axis=-1)
    if out.shape[-2] > size:
        below = divided(change[..., size:, :], corner) - times(lower[..., size:, :], rising)
        lower_t = np.concatenate([lower_t, below], axis=-2)
    return together(lower_t, upper_t)


@op(batch=LEADING, nodes="LinalgLuFactorExBackward0", holomorphic=False, jvp=_lu_jvp, A=_lu_rule, **HIDDEN)
def linalg_lu_packed(A: Array, orders: Array, found: Any = None) -> Array:
    """L and U in one matrix, for a given order of rows; `found`, if it is known."""
    return packed_lu(in_order(A, orders)) if found is None else found


@opaque("lapack.packed_lu", meta=lambda ordered: by_columns(np.empty_like(ordered)))
def packed_lu(ordered: Array) -> Array:
    packed = np.empty_like(ordered, order="C")
    for place in np.ndindex(*ordered.shape[:-2]):
        packed[place] = together(*pivoted_lu(ordered[place], pivot=False)[1:])
    return by_columns(packed)
