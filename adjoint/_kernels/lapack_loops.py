"""Linear algebra by LAPACK: without NumPy's checks around it, and what NumPy has in double precision only, or not at all.

LAPACK reads matrices column by column. Where a matrix may as well be transposed it is given as it is, otherwise as a transposed copy; and
results stay column by column, as they do in PyTorch. All functions give None where NumPy has to compute: LAPACK is not found, or no kernel
can call it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import condensed_loops, small_loops
from .condensed_loops import all_finite
from .lapack import function
from .loops import Floats, Ints, Out, cut, fortran, log, loop, narrow, wide

Array = Any
INT64 = np.dtype(np.int64)
BLOCK = 64  # columns that LAPACK works on at a time: it needs that much room for each row
NONE, SOME, ALL, VECTORS, UPPER, LOWER, LEFT, TRANSPOSED = (ord(letter) for letter in "NSAVULLT")


def transposed(a: Array) -> Array:
    """A copy by columns."""
    return a.swapaxes(-1, -2).copy()


def turned(a: Array) -> Array:
    """What stands there by columns as what it is."""
    return a.swapaxes(-1, -2)


def count_of(a: Array) -> int:
    return math.prod(a.shape[:-2])


# ---- triangular factors -------------------------------------------------------------------------------------------------------------


@loop
def factor(a: Floats, pivots: Ints, info: Ints, getrf: int, rows: int, columns: int, width: int, matrices: range) -> None:
    """L and U in the place of each matrix, whose numbers are `width` elements."""
    for i in matrices:
        fortran(getrf, rows, columns, a[i * rows * columns * width], rows, pivots[i * min(rows, columns)], info[i])


def lu(a: Array) -> tuple[Array, Array, Array, Array] | None:
    """L and U in one matrix, the exchanges of rows and the first pivot that is zero, both from one, and the order of rows."""
    if (found := small_loops.lu(a)) is not None:
        return found
    getrf, count, (rows, columns) = function("getrf", a.dtype.char), count_of(a), a.shape[-2:]
    if not getrf or not a.size:
        return None
    packed, pivots, info = transposed(a), np.empty((*a.shape[:-2], min(rows, columns)), INT64), np.empty(a.shape[:-2], INT64)
    width = 2 if a.dtype.kind == "c" else 1
    flat = packed.view(packed.real.dtype) if width == 2 else packed
    if not factor.run(flat, pivots, info, getrf, rows, columns, width, count, rows * rows * columns):
        return None
    orders = order_after(pivots, rows)
    return None if orders is None else (turned(packed), pivots.astype(np.int32), info.astype(np.int32), orders)


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
    orders = np.empty((*pivots.shape[:-1], rows), INT64)
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
    out, pivots, info = np.empty(shape, a.dtype), np.empty(a.shape[:-1], INT64), np.empty(shape, INT64)
    return out if determinants_of.run(out, a.copy(), pivots, info, getrf, n, math.prod(shape), n * n * n) else None


def logarithms(a: Array) -> tuple[Array, Array] | None:
    """The signs of determinants, and the logarithms of their absolute values."""
    getrf, n, shape = function("getrf", a.dtype.char), a.shape[-1], a.shape[:-2]
    if not getrf or not a.size:
        return None
    signs, sizes = np.empty(shape, a.dtype), np.empty(shape, a.dtype)
    pivots, info = np.empty(a.shape[:-1], INT64), np.empty(shape, INT64)
    done = logarithms_of.run(signs, sizes, a.copy(), pivots, info, getrf, n, math.prod(shape), n * n * n)
    return (signs, sizes) if done else None


@loop
def factor_positive(a: Floats, info: Ints, potrf: int, uplo: int, n: int, matrices: range) -> None:
    """A factor in the place of each matrix, of which one triangle is read. LAPACK may overlook NaN."""
    for i in matrices:
        fortran(potrf, uplo, n, a[i * n * n], n, info[i])
        for column in range(n):
            own = i * n * n + column * n
            if info[i] == 0 and a[own + column] != a[own + column]:
                info[i] = column + 1
            for row in range(n):
                if (row < column) if uplo == LOWER else (row > column):
                    a[own + row] = 0.0


def cholesky(a: Array, upper: bool) -> Array | None:
    """The lower or upper factors of matrices of which that triangle is read. None, too, if there is a matrix that has none."""
    if (found := small_loops.cholesky(a, upper)) is not None:
        return found
    potrf, n = function("potrf", a.dtype.char), a.shape[-1]
    if not potrf or not a.size:
        return None
    factors, info = transposed(a), np.empty(a.shape[:-2], INT64)
    done = factor_positive.run(factors, info, potrf, UPPER if upper else LOWER, n, count_of(a), n * n * n)
    return turned(factors) if done and not np.count_nonzero(info) else None


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
    x, pivots, info = transposed(b), np.empty(a.shape[:-1], INT64), np.empty(a.shape[:-2], INT64)
    if not solve_each.run(transposed(a), x, pivots, info, gesv, n, columns, count_of(a), n * n * (n + columns)):
        return None
    return turned(x), info


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
    pivots, info = np.empty(a.shape[:-1], INT64), np.empty(a.shape[:-2], INT64)
    if not invert_each.run(out, pivots, room, info, getrf, getri, n, n * BLOCK, take, count, pieces, take * 2 * n * n * n):
        return None
    return turned(out), info


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
    factors, x, info = np.ascontiguousarray(factors), transposed(b), np.empty(factors.shape[:-2], INT64)
    uplo = LOWER if upper else UPPER  # LAPACK sees the factor transposed
    if not solve_factored.run(factors, x, info, potrs, n, columns, uplo, count_of(factors), 2 * n * n * columns):
        return None
    return turned(x)


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
    out, info = factors.copy(), np.empty(factors.shape[:-2], INT64)
    done = invert_factored.run(out, info, potri, n, LOWER if upper else UPPER, count_of(factors), n * n * n)
    return turned(out) if done and not np.count_nonzero(info) else None


@loop
def solve_triangle(a: Floats, x: Floats, one: Floats, trsm: int, n: int, columns: int, uplo: int, matrices: range) -> None:
    for i in matrices:
        fortran(trsm, LEFT, uplo, TRANSPOSED, NONE, n, columns, one[0], a[i * n * n], n, x[i * n * columns], n)


def solution_by_triangle(a: Array, b: Array, upper: bool) -> Array | None:
    """The solutions x of a x = b for matrices of which one triangle is read."""
    trsm, n, columns = function("trsm", a.dtype.char), a.shape[-1], b.shape[-1]
    if not trsm:
        return None
    a, x, one = np.ascontiguousarray(a), transposed(b), np.ones(1, a.dtype)
    uplo = LOWER if upper else UPPER  # LAPACK sees the matrix transposed
    return turned(x) if solve_triangle.run(a, x, one, trsm, n, columns, uplo, count_of(a), n * n * columns) else None


@loop
def least_squares_each(
    out: Out, ranks: Ints, a: Floats, b: Floats, places: Ints, room: Out, limit: float, gelsy: int, rows: int, columns: int, wanted: int,
    length: int, take: int, count: int, pieces: range,
) -> None:  # fmt: skip
    """The room of a piece is that of the limit, of a matrix by columns, and then LAPACK's."""
    long = max(rows, columns)
    for piece in pieces:
        own, place = piece * (1 + rows * columns + length), piece * (columns + 1)
        room[own] = narrow(limit)
        for i in range(piece * take, min(piece * take + take, count)):
            for column in range(columns):
                places[place + column] = 0
                for row in range(rows):
                    room[own + 1 + column * rows + row] = a[(i * rows + row) * columns + column]
            for column in range(wanted):
                for row in range(rows):
                    out[(i * wanted + column) * long + row] = b[(i * rows + row) * wanted + column]
                for row in range(rows, long):
                    out[(i * wanted + column) * long + row] = 0.0
            fortran(
                gelsy, rows, columns, wanted, room[own + 1], rows, out[i * long * wanted], long, places[place], room[own], ranks[i],
                room[own + 1 + rows * columns], length, places[place + columns],
            )  # fmt: skip


def least_squares(a: Array, b: Array, limit: float) -> tuple[Array, Array] | None:
    """The smallest x with the smallest |a x - b|, and the ranks of the matrices."""
    gelsy, (*batch, rows, columns), wanted = function("gelsy", a.dtype.char), a.shape, b.shape[-1]
    if not gelsy or a.shape[:-2] != b.shape[:-2] or a.dtype is not b.dtype or not a.size or not wanted:
        return None
    count = math.prod(batch)
    take, pieces = cut(count)
    length = 4 * columns + BLOCK * (columns + wanted + 1) + rows
    out, ranks = np.empty((*batch, wanted, max(rows, columns)), a.dtype), np.empty(batch, INT64)
    places, room = np.empty((pieces, columns + 1), INT64), np.empty((pieces, 1 + rows * columns + length), a.dtype)
    if not least_squares_each.run(
        out, ranks, np.ascontiguousarray(a), np.ascontiguousarray(b), places, room, limit, gelsy, rows, columns, wanted, length, take,
        count, pieces, take * rows * columns * (columns + wanted),
    ):  # fmt: skip
        return None
    return turned(out[..., :columns]), ranks


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
                    upper[end + column * height + row] = a[start + column * rows + row] if row <= column else 0.0
            if wanted > 0:
                fortran(orgqr, rows, wanted, few, a[start], rows, factors[piece * few], room[piece * length], length, info[i])


def orthogonal(a: Array, mode: str) -> tuple[Array, Array] | None:
    """Q and R; an empty Q with mode "r"."""
    rows, columns = a.shape[-2:]
    few = min(rows, columns)
    wanted, height = (rows, rows) if mode == "complete" else (0 if mode == "r" else few, few)
    if (found := small_loops.qr(a, wanted, height)) is not None:
        return found
    geqrf, orgqr, count = function("geqrf", a.dtype.char), function("orgqr", a.dtype.char), count_of(a)
    if not geqrf or not orgqr or not a.size:
        return None
    (take, pieces), length = cut(count), max(columns, wanted) * BLOCK
    q = np.empty((*a.shape[:-2], max(columns, wanted), rows), a.dtype)
    q[..., :columns, :] = a.swapaxes(-1, -2)
    r = np.empty((*a.shape[:-2], columns, height), a.dtype)
    factors, room = np.empty((pieces, few), a.dtype), np.empty((pieces, length), a.dtype)
    if not orthogonal_each.run(
        q, r, factors, room, np.empty(a.shape[:-2], INT64), geqrf, orgqr, rows, columns, wanted, height, length, take, count, pieces,
        take * rows * columns * (columns + wanted),
    ):  # fmt: skip
        return None
    return turned(q[..., :wanted, :]), turned(r)


# ---- eigenvalues and singular values ------------------------------------------------------------------------------------------------


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
    found, values, info = transposed(a), np.empty(a.shape[:-1], a.dtype), np.empty(a.shape[:-2], INT64)
    room, numbers = np.empty((pieces, length), a.dtype), np.empty((pieces, amount), INT64)
    if not eigen_each.run(
        found, values, room, numbers, info, syevd, VECTORS if vectors else NONE, UPPER if upper else LOWER, n, length, amount, take, count,
        pieces, take * 4 * n * n * n,
    ) or np.count_nonzero(info):  # fmt: skip
        return None
    return values, turned(found)


def eigenvalues(a: Array, upper: bool, vectors: bool) -> tuple[Array, Array | None] | None:
    """The same with vectors whose signs may be others, if there are any."""
    if (found := small_loops.eigen(a, upper, vectors)) is not None:
        return found
    if not vectors and (values := condensed_loops.eigenvalues(a, upper)) is not None:
        return values, None
    return eigen(a, upper, vectors)


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
    if job == NONE:  # those of the transposed matrix, which are the same
        given, rows, columns = a.copy(), columns, rows
    else:
        given = transposed(a)
    few, (take, pieces) = min(rows, columns), cut(count)
    left, right = {ALL: (rows, columns), SOME: (few, few), NONE: (0, 0)}[job]
    length = (0 if job == NONE else 5 * few * few) + (8 + BLOCK) * (rows + columns)
    shape = a.shape[:-2]
    u, values, vh = np.empty((*shape, left, rows), a.dtype), np.empty((*shape, few), a.dtype), np.empty((*shape, columns, right), a.dtype)
    room, numbers, info = np.empty((pieces, length), a.dtype), np.empty((pieces, 8 * few), INT64), np.empty(shape, INT64)
    if not singular_each.run(
        given, u, values, vh, room, numbers, info, gesdd, job, rows, columns, left, right, length, take, count, pieces,
        take * 8 * rows * columns * few,
    ) or np.count_nonzero(info):  # fmt: skip
        return None
    return turned(u), values, turned(vh)


def singular_values(a: Array, vectors: bool) -> tuple[Array | None, Array, Array | None] | None:
    """The same with vectors whose signs may be others, if there are any."""
    if (found := small_loops.singular(a, vectors)) is not None:
        return found
    if not vectors and (values := condensed_loops.singular_values(a)) is not None:
        return None, values, None
    return singular(a, SOME if vectors else NONE)


@loop(reorder=True)
def general_each(
    a: Floats, values: Out, vectors: Out | None, real: Out, imaginary: Out, found: Out, room: Out, info: Ints, geev: int, job: int, n: int,
    length: int, take: int, count: int, pieces: range,
) -> None:  # fmt: skip
    """Complex numbers are two elements. Of two eigenvectors whose elements are conjugate, LAPACK gives the real and the imaginary parts."""
    for piece in pieces:
        for i in range(piece * take, min(piece * take + take, count)):
            info[i] = -1
            if all_finite(a, i * n * n, i * n * n + n * n):
                first = piece * n * n
                fortran(
                    geev, NONE, job, n, a[i * n * n], n, real[piece * n], imaginary[piece * n], found[first], n, found[first], n,
                    room[piece * length], length, info[i],
                )  # fmt: skip
                for k in range(n):
                    turn, to = imaginary[piece * n + k], 2 * (i * n + k)
                    values[to] = real[piece * n + k]
                    values[to + 1] = turn
                    if vectors is not None:
                        own = first + (k - 1 if turn < 0.0 else k) * n
                        other = first + (k - 1 if turn < 0.0 else min(k + 1, n - 1)) * n + (n if turn < 0.0 else 0)
                        sign = 1.0 if turn > 0.0 else -1.0 if turn < 0.0 else 0.0
                        for j in range(n):
                            vectors[to * n + 2 * j] = found[own + j]
                            vectors[to * n + 2 * j + 1] = found[other + j] * sign


def general(a: Array, vectors: bool) -> tuple[Array, Array | None] | None:
    """The complex eigenvalues of any square matrices, and their eigenvectors. None, too, if there are numbers that are not finite."""
    geev, n, count = function("geev", a.dtype.char), a.shape[-1], count_of(a)
    if not geev or not a.size:
        return None
    take, pieces = cut(count)
    length = (4 + BLOCK) * n
    values, real, imaginary = np.empty((*a.shape[:-1], 2), a.dtype), np.empty((pieces, n), a.dtype), np.empty((pieces, n), a.dtype)
    columns, found = np.empty((*a.shape, 2), a.dtype) if vectors else None, np.empty((pieces, n, n), a.dtype)
    room, info = np.empty((pieces, length), a.dtype), np.empty(a.shape[:-2], INT64)
    if not general_each.run(
        transposed(a), values, columns, real, imaginary, found, room, info, geev, VECTORS if vectors else NONE, n, length, take, count,
        pieces, take * 16 * n * n * n,
    ) or np.count_nonzero(info):  # fmt: skip
        return None
    as_complex = np.result_type(a.dtype, np.complex64)
    return values.view(as_complex)[..., 0], None if columns is None else turned(columns.view(as_complex)[..., 0])
