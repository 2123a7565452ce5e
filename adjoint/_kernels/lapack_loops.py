"""Linear algebra by LAPACK: without NumPy's checks around it, and what NumPy has in double precision only, or not at all.

LAPACK reads matrices column by column. Where a matrix may as well be transposed it is given as it is, otherwise as a transposed copy. All
functions give None where NumPy has to compute: LAPACK is not found, or no kernel can call it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .lapack import function
from .loops import Floats, Ints, Out, cut, fortran, log, loop, narrow, part, wide

Array = Any
BLOCK = 64  # columns that LAPACK works on at a time: it needs that much room for each row
NONE, SOME, ALL, VECTORS, UPPER, LOWER, RIGHT = (ord(letter) for letter in "NSAVULR")


def transposed(a: Array) -> Array:
    """A copy by columns."""
    return a.swapaxes(-1, -2).copy()


def count_of(a: Array) -> int:
    return math.prod(a.shape[:-2])


# ---- triangular factors -------------------------------------------------------------------------------------------------------------


@loop
def factor(a: Floats, pivots: Ints, info: Ints, getrf: int, rows: int, columns: int, width: int, matrices: range) -> None:
    """L and U in the place of each matrix, whose numbers are `width` elements."""
    for i in matrices:
        fortran(getrf, rows, columns, a[i * rows * columns * width], rows, pivots[i * min(rows, columns)], info[i])


def lu(a: Array) -> tuple[Array, Array, Array] | None:
    """L and U in one matrix, the exchanges of rows, and the first pivot that is zero, both from one."""
    getrf, count, (rows, columns) = function("getrf", a.dtype.char), count_of(a), a.shape[-2:]
    if not getrf or not a.size:
        return None
    packed, pivots, info = transposed(a), np.empty((*a.shape[:-2], min(rows, columns)), np.int64), np.empty(a.shape[:-2], np.int64)
    width = 2 if a.dtype.kind == "c" else 1
    flat = packed.view(packed.real.dtype) if width == 2 else packed
    if not factor.run(flat, pivots, info, getrf, rows, columns, width, count, rows * rows * columns):
        return None
    return transposed(packed), pivots, info


@loop(kinds=("i32", "i64"))
def exchange_rows(orders: Ints, pivots: Floats, exchanges: int, rows: int, matrices: range) -> None:
    for i in matrices:
        for row in range(rows):
            orders[i * rows + row] = row
        for k in range(exchanges):
            other = i * rows + min(max(int(pivots[i * exchanges + k]), 1), rows) - 1
            orders[i * rows + k], orders[other] = orders[other], orders[i * rows + k]


def order_after(pivots: Array, rows: int) -> Array | None:
    """The order of rows to which exchanges lead."""
    count, exchanges = pivots.size // max(pivots.shape[-1], 1), pivots.shape[-1]
    if not count or exchanges > rows:
        return None
    orders = np.empty((*pivots.shape[:-1], rows), np.int64)
    return orders if exchange_rows.run(orders, pivots, exchanges, rows, count, rows) else None


@loop
def determinants_of(out: Out, a: Floats, pivots: Ints, info: Ints, getrf: int, n: int, matrices: range) -> None:
    for i in matrices:
        fortran(getrf, n, n, a[i * n * n], n, pivots[i * n], info[i])
        found = 1.0
        for k in range(n):
            pivot = a[i * n * n + k * n + k]
            found = found * (pivot if pivots[i * n + k] == k + 1 else -pivot)
        out[i] = found


@loop
def logarithms_of(signs: Out, sizes: Out, a: Floats, pivots: Ints, info: Ints, getrf: int, n: int, matrices: range) -> None:
    for i in matrices:
        fortran(getrf, n, n, a[i * n * n], n, pivots[i * n], info[i])
        sign, size = 1.0, wide(0.0)
        for k in range(n):
            pivot = a[i * n * n + k * n + k]
            turned = pivot if pivots[i * n + k] == k + 1 else -pivot
            sign = sign if turned > 0.0 else -sign if turned < 0.0 else 0.0
            size = size + log(wide(abs(pivot)))
        signs[i] = sign + 0.0  # zero without a sign
        sizes[i] = narrow(size)


def determinants(a: Array) -> Array | None:
    getrf, n, shape = function("getrf", a.dtype.char), a.shape[-1], a.shape[:-2]
    if not getrf or not a.size:
        return None
    out, pivots, info = np.empty(shape, a.dtype), np.empty(a.shape[:-1], np.int64), np.empty(shape, np.int64)
    return out if determinants_of.run(out, a.copy(), pivots, info, getrf, n, math.prod(shape), n * n * n) else None


def logarithms(a: Array) -> tuple[Array, Array] | None:
    """The signs of determinants, and the logarithms of their absolute values."""
    getrf, n, shape = function("getrf", a.dtype.char), a.shape[-1], a.shape[:-2]
    if not getrf or not a.size:
        return None
    signs, sizes = np.empty(shape, a.dtype), np.empty(shape, a.dtype)
    pivots, info = np.empty(a.shape[:-1], np.int64), np.empty(shape, np.int64)
    done = logarithms_of.run(signs, sizes, a.copy(), pivots, info, getrf, n, math.prod(shape), n * n * n)
    return (signs, sizes) if done else None


@loop
def factor_positive(a: Floats, info: Ints, potrf: int, n: int, matrices: range) -> None:
    """L in the place of each matrix, of which the lower triangle is read; LAPACK takes it for the upper one."""
    for i in matrices:
        fortran(potrf, UPPER, n, a[i * n * n], n, info[i])
        for row in range(n):
            for k in range(i * n * n + row * n + row + 1, i * n * n + row * n + n):
                a[k] = 0.0


def cholesky(a: Array) -> tuple[Array, Array] | None:
    """The lower factors of matrices of which the lower triangle is read, and the first minors that are not positive."""
    potrf, n = function("potrf", a.dtype.char), a.shape[-1]
    if not potrf or not a.size:
        return None
    factors, info = a.copy(), np.empty(a.shape[:-2], np.int64)
    return (factors, info) if factor_positive.run(factors, info, potrf, n, count_of(a), n * n * n) else None


# ---- equations ----------------------------------------------------------------------------------------------------------------------


@loop
def solve_each(a: Floats, b: Floats, pivots: Ints, info: Ints, gesv: int, n: int, columns: int, matrices: range) -> None:
    for i in matrices:
        fortran(gesv, n, columns, a[i * n * n], n, pivots[i * n], b[i * n * columns], n, info[i])


def solution(a: Array, b: Array) -> tuple[Array, Array] | None:
    """The solutions x of a x = b, and the first pivots that are zero."""
    gesv, n, columns = function("gesv", a.dtype.char), a.shape[-1], b.shape[-1]
    if not gesv or (a.shape[:-2] != b.shape[:-2] and a.ndim > 2) or a.dtype is not b.dtype or not a.size or not b.size:
        return None
    columns = b.size // n if a.ndim == 2 else columns  # one matrix for all
    x, pivots, info = transposed(b), np.empty(a.shape[:-1], np.int64), np.empty(a.shape[:-2], np.int64)
    if not solve_each.run(transposed(a), x, pivots, info, gesv, n, columns, count_of(a), n * n * (n + columns)):
        return None
    return transposed(x), info


@loop
def invert_each(
    a: Floats, pivots: Ints, room: Out, info: Ints, getrf: int, getri: int, n: int, length: int, take: int, count: int, pieces: range
) -> None:
    for piece in pieces:
        for i in range(piece * take, min(piece * take + take, count)):
            fortran(getrf, n, n, a[i * n * n], n, pivots[i * n], info[i])
            if info[i] == 0:
                fortran(getri, n, a[i * n * n], n, pivots[i * n], room[piece * length], length, info[i])


def inverse(a: Array) -> tuple[Array, Array] | None:
    """The inverses of matrices, and the first pivots that are zero."""
    getrf, getri, n, count = function("getrf", a.dtype.char), function("getri", a.dtype.char), a.shape[-1], count_of(a)
    if not getrf or not getri or not a.size:
        return None
    take, pieces = cut(count)
    out, room = transposed(a), np.empty((pieces, n * BLOCK), a.dtype)
    pivots, info = np.empty(a.shape[:-1], np.int64), np.empty(a.shape[:-2], np.int64)
    if not invert_each.run(out, pivots, room, info, getrf, getri, n, n * BLOCK, take, count, pieces, take * 2 * n * n * n):
        return None
    return transposed(out), info


@loop
def solve_factored(factors: Floats, b: Floats, info: Ints, potrs: int, n: int, columns: int, uplo: int, matrices: range) -> None:
    for i in matrices:
        fortran(potrs, uplo, n, columns, factors[i * n * n], n, b[i * n * columns], n, info[i])


def solution_by_factor(factors: Array, b: Array, upper: bool) -> Array | None:
    """The solutions x of l lᵀ x = b, of uᵀ u x = b if the factor is the upper one."""
    potrs, n, columns = function("potrs", factors.dtype.char), factors.shape[-1], b.shape[-1]
    if not potrs or (factors.shape[:-2] != b.shape[:-2] and factors.ndim > 2) or factors.dtype is not b.dtype or not b.size:
        return None
    columns = b.size // n if factors.ndim == 2 else columns  # one factor for all
    factors, x, info = np.ascontiguousarray(factors), transposed(b), np.empty(factors.shape[:-2], np.int64)
    uplo = LOWER if upper else UPPER  # LAPACK sees the factor transposed
    if not solve_factored.run(factors, x, info, potrs, n, columns, uplo, count_of(factors), 2 * n * n * columns):
        return None
    return transposed(x)


@loop
def invert_factored(a: Floats, info: Ints, potri: int, n: int, uplo: int, matrices: range) -> None:
    """LAPACK writes one triangle, which is mirrored."""
    for i in matrices:
        fortran(potri, uplo, n, a[i * n * n], n, info[i])
        for row in range(n):
            for column in range(row):
                below, above = i * n * n + row * n + column, i * n * n + column * n + row
                if uplo == UPPER:
                    a[above] = a[below]
                else:
                    a[below] = a[above]


def inverse_by_factor(factors: Array, upper: bool) -> Array | None:
    """The inverses of l lᵀ, or of uᵀ u; None if one has none."""
    potri, n = function("potri", factors.dtype.char), factors.shape[-1]
    if not potri or not factors.size:
        return None
    out, info = factors.copy(), np.empty(factors.shape[:-2], np.int64)
    done = invert_factored.run(out, info, potri, n, LOWER if upper else UPPER, count_of(factors), n * n * n)
    return out if done and not np.count_nonzero(info) else None


@loop
def solve_triangle(a: Floats, x: Floats, one: Floats, trsm: int, n: int, columns: int, uplo: int, matrices: range) -> None:
    """The other way round: xᵀ aᵀ = bᵀ."""
    for i in matrices:
        fortran(trsm, RIGHT, uplo, NONE, NONE, columns, n, one[0], a[i * n * n], n, x[i * n * columns], columns)


def solution_by_triangle(a: Array, b: Array, upper: bool) -> Array | None:
    """The solutions x of a x = b for matrices of which one triangle is read."""
    trsm, n, columns = function("trsm", a.dtype.char), a.shape[-1], b.shape[-1]
    if not trsm:
        return None
    a, x, one = np.ascontiguousarray(a), b.copy(), np.ones(1, a.dtype)
    return x if solve_triangle.run(a, x, one, trsm, n, columns, LOWER if upper else UPPER, count_of(a), n * n * columns) else None


@loop
def least_squares_each(
    a: Floats, b: Floats, ranks: Ints, places: Ints, limit: Floats, room: Out, info: Ints, gelsy: int, rows: int, columns: int, wanted: int,
    length: int, take: int, count: int, pieces: range,
) -> None:  # fmt: skip
    long = max(rows, columns)
    for piece in pieces:
        for i in range(piece * take, min(piece * take + take, count)):
            for k in range(columns):
                places[piece * columns + k] = 0
            fortran(
                gelsy, rows, columns, wanted, a[i * rows * columns], rows, b[i * long * wanted], long, places[piece * columns], limit[0],
                ranks[i], room[piece * length], length, info[i],
            )  # fmt: skip


def least_squares(a: Array, b: Array, limit: float) -> tuple[Array, Array] | None:
    """The smallest x with the smallest |a x - b|, and the ranks of the matrices."""
    gelsy, (rows, columns), wanted, count = function("gelsy", a.dtype.char), a.shape[-2:], b.shape[-1], count_of(a)
    if not gelsy or a.shape[:-2] != b.shape[:-2] or a.dtype is not b.dtype or not a.size or not wanted:
        return None
    take, pieces = cut(count)
    long, length = max(rows, columns), 4 * columns + BLOCK * (columns + wanted + 1) + rows
    right = np.zeros((*b.shape[:-2], wanted, long), b.dtype)
    right[..., :rows] = b.swapaxes(-1, -2)
    ranks, info = np.empty(a.shape[:-2], np.int64), np.empty(a.shape[:-2], np.int64)
    places, room = np.empty((pieces, columns), np.int64), np.empty((pieces, length), a.dtype)
    if not least_squares_each.run(
        transposed(a), right, ranks, places, np.array([limit], a.dtype), room, info, gelsy, rows, columns, wanted, length, take, count,
        pieces, take * rows * columns * (columns + wanted),
    ):  # fmt: skip
        return None
    return right[..., :columns].swapaxes(-1, -2).copy(), ranks


# ---- orthogonal factors -------------------------------------------------------------------------------------------------------------


@loop
def orthogonal_each(
    a: Floats, upper: Out, factors: Out, room: Out, info: Ints, geqrf: int, orgqr: int, rows: int, columns: int, wanted: int, height: int,
    length: int, take: int, count: int, pieces: range,
) -> None:  # fmt: skip
    """The upper triangles, of which there are `height` rows, and `wanted` columns of Q in the place of a matrix."""
    few = min(rows, columns)
    for piece in pieces:
        for i in range(piece * take, min(piece * take + take, count)):
            start, end = i * rows * max(columns, wanted), i * height * columns
            fortran(geqrf, rows, columns, a[start], rows, factors[piece * few], room[piece * length], length, info[i])
            for row in range(height):
                for column in range(columns):
                    upper[end + row * columns + column] = a[start + column * rows + row] if row <= column else 0.0
            if wanted > 0:
                fortran(orgqr, rows, wanted, few, a[start], rows, factors[piece * few], room[piece * length], length, info[i])


def orthogonal(a: Array, mode: str) -> tuple[Array, Array] | None:
    """Q and R; an empty Q with mode "r"."""
    geqrf, orgqr, (rows, columns), count = function("geqrf", a.dtype.char), function("orgqr", a.dtype.char), a.shape[-2:], count_of(a)
    if not geqrf or not orgqr or not a.size:
        return None
    few, (take, pieces) = min(rows, columns), cut(count)
    wanted = {"r": 0, "reduced": few, "complete": rows}[mode]
    height, length = rows if mode == "complete" else few, max(columns, wanted) * BLOCK
    q = np.empty((*a.shape[:-2], max(columns, wanted), rows), a.dtype)
    q[..., :columns, :] = a.swapaxes(-1, -2)
    r = np.empty((*a.shape[:-2], height, columns), a.dtype)
    factors, room = np.empty((pieces, few), a.dtype), np.empty((pieces, length), a.dtype)
    if not orthogonal_each.run(
        q, r, factors, room, np.empty(a.shape[:-2], np.int64), geqrf, orgqr, rows, columns, wanted, height, length, take, count, pieces,
        take * rows * columns * (columns + wanted),
    ):  # fmt: skip
        return None
    return q[..., :wanted, :].swapaxes(-1, -2).copy(), r


# ---- eigenvalues and singular values ------------------------------------------------------------------------------------------------


@part
def all_finite(a: Floats, start: int, stop: int) -> Any:
    zero = 0.0
    for k in range(start, stop):
        zero = zero + a[k] * 0.0
    return zero == 0.0


@loop(reorder=True)
def eigen_each(
    a: Floats, values: Out, room: Out, numbers: Ints, info: Ints, syevd: int, job: int, uplo: int, n: int, length: int, amount: int,
    take: int, count: int, pieces: range,
) -> None:  # fmt: skip
    for piece in pieces:
        for i in range(piece * take, min(piece * take + take, count)):
            info[i] = -1
            if all_finite(a, i * n * n, i * n * n + n * n):
                fortran(
                    syevd, job, uplo, n, a[i * n * n], n, values[i * n], room[piece * length], length, numbers[piece * amount], amount,
                    info[i],
                )  # fmt: skip


def eigen(a: Array, upper: bool, vectors: bool) -> tuple[Array, Array] | None:
    """The eigenvalues of symmetric matrices, and their eigenvectors. None, too, if there are numbers that are not finite."""
    syevd, n, count = function("syevd", a.dtype.char), a.shape[-1], count_of(a)
    if not syevd or not a.size:
        return None
    take, pieces = cut(count)
    length, amount = max(1 + 6 * n + 2 * n * n if vectors else 0, (2 + BLOCK) * n + 1), 3 + 5 * n
    found, values, info = transposed(a), np.empty(a.shape[:-1], a.dtype), np.empty(a.shape[:-2], np.int64)
    room, numbers = np.empty((pieces, length), a.dtype), np.empty((pieces, amount), np.int64)
    if not eigen_each.run(
        found, values, room, numbers, info, syevd, VECTORS if vectors else NONE, UPPER if upper else LOWER, n, length, amount, take, count,
        pieces, take * 4 * n * n * n,
    ) or np.count_nonzero(info):  # fmt: skip
        return None
    return values, transposed(found) if vectors else found


@loop(reorder=True)
def singular_each(
    a: Floats, u: Out, values: Out, vh: Out, room: Out, numbers: Ints, info: Ints, gesdd: int, job: int, rows: int, columns: int, left: int,
    right: int, length: int, take: int, count: int, pieces: range,
) -> None:  # fmt: skip
    """`left` columns of U and `right` rows of Vᵀ."""
    few = min(rows, columns)
    for piece in pieces:
        for i in range(piece * take, min(piece * take + take, count)):
            info[i] = -1
            if all_finite(a, i * rows * columns, i * rows * columns + rows * columns):
                fortran(
                    gesdd, job, rows, columns, a[i * rows * columns], rows, values[i * few], u[i * rows * left], rows,
                    vh[i * columns * right], max(right, 1), room[piece * length], length, numbers[piece * 8 * few], info[i],
                )  # fmt: skip


def singular(a: Array, job: int) -> tuple[Array, Array, Array] | None:
    """U, singular values and Vᵀ, with `ALL`, `SOME` or `NONE` of the vectors. None, too, if there are numbers that are not finite."""
    gesdd, (rows, columns), count = function("gesdd", a.dtype.char), a.shape[-2:], count_of(a)
    if not gesdd or not a.size:
        return None
    few, (take, pieces) = min(rows, columns), cut(count)
    left, right = {ALL: (rows, columns), SOME: (few, few), NONE: (0, 0)}[job]
    length = (0 if job == NONE else 5 * few * few) + (8 + BLOCK) * (rows + columns)
    shape = a.shape[:-2]
    u, values, vh = np.empty((*shape, left, rows), a.dtype), np.empty((*shape, few), a.dtype), np.empty((*shape, columns, right), a.dtype)
    room, numbers, info = np.empty((pieces, length), a.dtype), np.empty((pieces, 8 * few), np.int64), np.empty(shape, np.int64)
    if not singular_each.run(
        transposed(a), u, values, vh, room, numbers, info, gesdd, job, rows, columns, left, right, length, take, count, pieces,
        take * 8 * rows * columns * few,
    ) or np.count_nonzero(info):  # fmt: skip
        return None
    return transposed(u), values, transposed(vh)
