"""Small matrices, for which a call of LAPACK takes longer than the work: factors, eigenvalues and singular values.

Factors stand column by column, as LAPACK leaves them. Eigenvalues and singular values are found by rotations of two rows at a time
(Jacobi's method) in double precision, for several matrices at once. All functions give None where LAPACK or NumPy has to compute.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .loops import (
    Doubles,
    Floats,
    Ints,
    Mark,
    Out,
    Words,
    copysign,
    index_room,
    loop,
    narrow,
    part,
    precision,
    room,
    select,
    sqrt,
    wide,
    wide_room,
)

Array = Any
MOST = 16  # rows and columns of matrices that are factored here
ELEMENTS = MOST * MOST
LANES = 8  # matrices that are rotated at once
FEW = 8  # rows that are rotated, at most; they may be as long as `MOST`
ROTATED = FEW * MOST * LANES
SQUARE = FEW * FEW * LANES
SIZES = FEW * LANES
SWEEPS = 30  # over all pairs of rows; five to ten are enough
INT32, INT64, UINT32 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint32)


# ---- factors ------------------------------------------------------------------------------------------------------------------------


@loop(unroll=False)
def factor_lu(
    packed: Out, pivots: Words, info: Words | None, orders: Ints | None, a: Floats, rows: int, columns: int, singular: Mark,
    matrices: range,
) -> None:  # fmt: skip
    for i in matrices:
        at, few = i * rows * columns, min(rows, columns)
        for row in range(rows):
            if orders is not None:
                orders[i * rows + row] = row
            for column in range(columns):
                packed[at + column * rows + row] = a[at + row * columns + column]
        failed = 0
        for k in range(few):
            best = k
            for row in range(k + 1, rows):
                if abs(packed[at + k * rows + row]) > abs(packed[at + k * rows + best]):
                    best = row
            pivots[i * few + k] = best + 1
            if best != k:
                if orders is not None:
                    orders[i * rows + k], orders[i * rows + best] = orders[i * rows + best], orders[i * rows + k]
                for column in range(columns):
                    one, other = at + column * rows + k, at + column * rows + best
                    packed[one], packed[other] = packed[other], packed[one]
            pivot = packed[at + k * rows + k]
            if pivot == 0.0:
                failed = k + 1 if failed == 0 else failed
            else:
                for row in range(k + 1, rows):
                    packed[at + k * rows + row] = packed[at + k * rows + row] / pivot
                for column in range(k + 1, columns):
                    above = packed[at + column * rows + k]
                    for row in range(k + 1, rows):
                        packed[at + column * rows + row] -= packed[at + k * rows + row] * above
        if failed:
            singular[0] = 1
        if info is not None:
            info[i] = failed


def packed_lu(a: Array, info: Array | None, orders: Array | None) -> tuple[bool, Array, Array] | None:
    """Whether no pivot is zero, L and U in one matrix, and the exchanges of rows from one. The arrays that are given are filled."""
    *batch, rows, columns = a.shape
    if rows > MOST or columns > MOST or not a.size:
        return None
    packed, pivots = np.empty((*batch, columns, rows), a.dtype), np.empty((*batch, min(rows, columns)), UINT32)
    a, count, work = np.ascontiguousarray(a), math.prod(batch), rows * rows * columns
    if (regular := factor_lu.run(packed, pivots, info, orders, a, rows, columns, count, work)) is None:
        return None
    return regular, packed.swapaxes(-1, -2), pivots.view(INT32)


def lu(a: Array) -> tuple[Array, Array, Array, Array] | None:
    """L and U in one matrix, the exchanges of rows and the first pivot that is zero, both from one, and the order of rows."""
    info, orders = np.empty(a.shape[:-2], UINT32), np.empty(a.shape[:-1], INT64)
    found = packed_lu(a, info, orders)
    return None if found is None else (found[1], found[2], info.view(INT32), orders)


def regular_lu(a: Array) -> tuple[Array, Array] | None:
    """L and U in one matrix, and the exchanges of rows; None, too, if a pivot is zero."""
    found = packed_lu(a, None, None)
    return found[1:] if found is not None and found[0] else None


@loop(unroll=False)
def factor_qr(q: Out, r: Out, a: Floats, rows: int, columns: int, wanted: int, height: int, extreme: Mark, matrices: range) -> None:
    """By reflections: I - factor v vᵀ, where the first element of v is one."""
    work = room(ELEMENTS)
    factors = room(MOST)
    few = min(rows, columns)
    for i in matrices:
        for row in range(rows):
            for column in range(columns):
                work[column * rows + row] = a[i * rows * columns + row * columns + column]
        for k in range(few):
            own, size, squares = k * rows, 0.0, wide(0.0)
            for row in range(k + 1, rows):
                size += abs(work[own + row])
                squares += wide(work[own + row]) * wide(work[own + row])
            head = wide(work[own + k])
            factors[k] = 0.0
            if size != 0.0:
                length = head * head + squares
                if not (squares > 1e-280 and length < 1e280):  # a square is too small or too large for a number, or there is NaN
                    extreme[0] = 1
                length = -copysign(sqrt(length), head)
                factors[k] = narrow((length - head) / length)
                for row in range(k + 1, rows):
                    work[own + row] = narrow(wide(work[own + row]) / (head - length))
                work[own + k] = narrow(length)
                for column in range(k + 1, columns):
                    other = column * rows
                    total = work[other + k]
                    for row in range(k + 1, rows):
                        total += work[own + row] * work[other + row]
                    total = total * factors[k]
                    work[other + k] -= total
                    for row in range(k + 1, rows):
                        work[other + row] -= work[own + row] * total
        for column in range(columns):
            for row in range(height):
                r[(i * columns + column) * height + row] = work[column * rows + row] if row <= column else 0.0
        for column in range(wanted):
            at = (i * wanted + column) * rows
            for row in range(rows):
                q[at + row] = 1.0 if row == column else 0.0
            for turn in range(few):
                k = few - 1 - turn
                own, total = k * rows, q[at + k]
                for row in range(k + 1, rows):
                    total += work[own + row] * q[at + row]
                total = total * factors[k]
                q[at + k] -= total
                for row in range(k + 1, rows):
                    q[at + row] -= work[own + row] * total


def qr(a: Array, wanted: int, height: int) -> tuple[Array, Array] | None:
    """Some columns of Q, and some rows of R."""
    batch, (rows, columns) = a.shape[:-2], a.shape[-2:]
    if rows > MOST or columns > MOST or not a.size:
        return None
    q, r = np.empty((*batch, wanted, rows), a.dtype), np.empty((*batch, columns, height), a.dtype)
    if not factor_qr.run(
        q, r, np.ascontiguousarray(a), rows, columns, wanted, height, math.prod(batch), rows * columns * (columns + wanted)
    ):
        return None
    return q.swapaxes(-1, -2), r.swapaxes(-1, -2)


@loop(unroll=False)
def factor_positive(out: Out, a: Floats, n: int, upper: int, failed: Mark, matrices: range) -> None:
    """The lower factor from the lower triangle, or both transposed. The mark says that a matrix has none, or holds NaN."""
    factor = room(ELEMENTS)
    for i in matrices:
        start = i * n * n
        for row in range(n):
            for column in range(row + 1):
                total = a[start + (column * n + row if upper else row * n + column)]
                for k in range(column):
                    total -= factor[row * n + k] * factor[column * n + k]
                if row == column:
                    if not total > 0.0:
                        failed[0] = 1
                    factor[row * n + row] = sqrt(total)
                else:
                    factor[row * n + column] = total / factor[column * n + column]
        for row in range(n):
            for column in range(n):
                place = start + (row * n + column if upper else column * n + row)
                out[place] = factor[row * n + column] if column <= row else 0.0


def cholesky(a: Array, upper: bool) -> Array | None:
    """The lower or upper factors of matrices of which that triangle is read. None, too, if there is a matrix that has none."""
    n, count = a.shape[-1], math.prod(a.shape[:-2])
    if n > MOST or not a.size:
        return None
    out = np.empty(a.shape, a.dtype)
    return out.swapaxes(-1, -2) if factor_positive.run(out, np.ascontiguousarray(a), n, int(upper), count, n * n * n) else None


# ---- rotations ----------------------------------------------------------------------------------------------------------------------


@part
def exact() -> Any:
    """The cosine of an angle that is right enough: rounding leaves less."""
    return 32.0 * wide(precision())


@part
def angles(cosines: Doubles, sines: Doubles, apart: Doubles, inner: Doubles) -> None:
    """The rotations that make [[a, b], [b, a + apart]] diagonal, where b is `inner`."""
    for lane in range(LANES):
        size = abs(apart[lane]) + sqrt(apart[lane] * apart[lane] + 4.0 * inner[lane] * inner[lane])
        tangent = select(size > 0.0, 2.0 * inner[lane] / copysign(size, apart[lane]), 0.0)
        cosines[lane] = 1.0 / sqrt(1.0 + tangent * tangent)
        sines[lane] = tangent * cosines[lane]


@part
def rotate(rows: Doubles, cosines: Doubles, sines: Doubles, p: int, q: int, step: int, count: int) -> None:
    """Rotate two rows that begin at p and at q."""
    for k in range(count):
        one, other = (p + k * step) * LANES, (q + k * step) * LANES
        for lane in range(LANES):
            a, b = rows[one + lane], rows[other + lane]
            rows[one + lane] = cosines[lane] * a - sines[lane] * b
            rows[other + lane] = sines[lane] * a + cosines[lane] * b


@part
def dot(result: Doubles, rows: Doubles, p: int, q: int, count: int) -> None:
    """The products of two rows that begin at p and at q."""
    for lane in range(LANES):
        result[lane] = 0.0
    for k in range(count):
        for lane in range(LANES):
            result[lane] += rows[(p + k) * LANES + lane] * rows[(q + k) * LANES + lane]


@part
def moderate(rows: Doubles, count: int) -> Any:
    """1 if products of squares of all matrices are neither too small nor too large for numbers; of zeros and NaN they are."""
    fine = 1
    for lane in range(LANES):
        total = wide(0.0)
        for k in range(count):
            total += rows[k * LANES + lane] * rows[k * LANES + lane]
        fine = fine & (1 if (total > 1e-120) & (total < 1e140) else 0)
    return fine


@part
def identity(rows: Doubles, n: int) -> None:
    for k in range(n * n * LANES):
        rows[k] = 0.0
    for k in range(n):
        for lane in range(LANES):
            rows[(k * n + k) * LANES + lane] = 1.0


@part
def sort_descending(order: Ints, sizes: Doubles, n: int, lane: int) -> None:
    for k in range(n):
        order[k] = k
    for k in range(n):
        for j in range(k + 1, n):
            if sizes[order[j] * LANES + lane] > sizes[order[k] * LANES + lane]:
                order[k], order[j] = order[j], order[k]


@loop(unroll=False)
def rotate_symmetric(values: Out, vectors: Out | None, a: Floats, n: int, upper: int, count: int, failed: Mark, units: range) -> None:
    """Eigenvalues from the smallest to the largest, and eigenvectors in rows."""
    s = wide_room(SQUARE)
    v = wide_room(SQUARE)
    cosines = wide_room(LANES)
    sines = wide_room(LANES)
    apart = wide_room(LANES)
    inner = wide_room(LANES)
    order = index_room(FEW)
    for unit in units:
        first, lanes = unit * LANES, min(LANES, count - unit * LANES)
        for row in range(n):
            for column in range(n):
                low, high = min(row, column), max(row, column)
                at = low * n + high if upper else high * n + low
                for lane in range(LANES):
                    s[(row * n + column) * LANES + lane] = wide(a[(first + min(lane, lanes - 1)) * n * n + at])
        identity(v, n)
        sweeps, going = 0, moderate(s, n * n)
        failed[0] = failed[0] | (1 - going)
        while going:
            for lane in range(LANES):
                apart[lane] = 0.0
                inner[lane] = 0.0
            for row in range(n):
                for column in range(n):
                    for lane in range(LANES):
                        square = s[(row * n + column) * LANES + lane] * s[(row * n + column) * LANES + lane]
                        apart[lane] += square if row == column else 0.0
                        inner[lane] += square if row != column else 0.0
            going = 0
            for lane in range(LANES):
                going = going | (0 if inner[lane] <= exact() * exact() * apart[lane] else 1)
            sweeps += 1
            if sweeps > SWEEPS:
                failed[0] = 1
                going = 0
            if going:
                for p in range(n):
                    for q in range(p + 1, n):
                        for lane in range(LANES):
                            apart[lane] = s[(q * n + q) * LANES + lane] - s[(p * n + p) * LANES + lane]
                            inner[lane] = s[(p * n + q) * LANES + lane]
                        angles(cosines, sines, apart, inner)
                        rotate(s, cosines, sines, p * n, q * n, 1, n)
                        rotate(s, cosines, sines, p, q, n, n)
                        if vectors is not None:
                            rotate(v, cosines, sines, p * n, q * n, 1, n)
        for k in range(n):
            for lane in range(LANES):
                s[k * LANES + lane] = s[(k * n + k) * LANES + lane]
        for lane in range(lanes):
            sort_descending(order, s, n, lane)
            for k in range(n):
                here, to = order[n - 1 - k], (first + lane) * n + k
                values[to] = narrow(s[here * LANES + lane])
                if vectors is not None:
                    for j in range(n):
                        vectors[to * n + j] = narrow(v[(here * n + j) * LANES + lane])


def eigen(a: Array, upper: bool, wanted: bool) -> tuple[Array, Array | None] | None:
    """The eigenvalues of symmetric matrices, and some eigenvectors for them; their signs are not LAPACK's."""
    n, count = a.shape[-1], math.prod(a.shape[:-2])
    if n > FEW or not a.size:
        return None
    values, vectors = np.empty(a.shape[:-1], a.dtype), np.empty(a.shape, a.dtype) if wanted else None
    units = -(-count // LANES)
    if not rotate_symmetric.run(values, vectors, np.ascontiguousarray(a), n, int(upper), count, units, LANES * n * n * n * 16):
        return None
    return values, None if vectors is None else vectors.swapaxes(-1, -2)


@loop(unroll=False)
def rotate_rows(
    values: Out, ends: Out | None, starts: Out | None, a: Floats, few: int, long: int, row_step: int, step: int, count: int, failed: Mark,
    units: range,
) -> None:  # fmt: skip
    """Rotate the `few` rows of a matrix (or its columns) until each is at right angles to the others. Their lengths are the singular
    values; the directions that they have at the end, and the rotations, are the singular vectors."""
    w = wide_room(ROTATED)
    v = wide_room(SQUARE)
    sizes = wide_room(SIZES)
    cosines = wide_room(LANES)
    sines = wide_room(LANES)
    apart = wide_room(LANES)
    inner = wide_room(LANES)
    order = index_room(FEW)
    for unit in units:
        first, lanes = unit * LANES, min(LANES, count - unit * LANES)
        for row in range(few):
            for k in range(long):
                for lane in range(LANES):
                    at = (first + min(lane, lanes - 1)) * few * long + row * row_step + k * step
                    w[(row * long + k) * LANES + lane] = wide(a[at])
        identity(v, few)
        sweeps, going = 0, moderate(w, few * long)
        failed[0] = failed[0] | (1 - going)
        while going:
            going = 0
            for p in range(few):
                for q in range(p + 1, few):
                    dot(cosines, w, p * long, p * long, long)
                    dot(sines, w, q * long, q * long, long)
                    dot(inner, w, p * long, q * long, long)
                    for lane in range(LANES):
                        least = exact() * exact() * cosines[lane] * sines[lane]
                        going = going | (0 if inner[lane] * inner[lane] <= least else 1)
                        apart[lane] = sines[lane] - cosines[lane]
                    angles(cosines, sines, apart, inner)
                    rotate(w, cosines, sines, p * long, q * long, 1, long)
                    if starts is not None:
                        rotate(v, cosines, sines, p * few, q * few, 1, few)
            sweeps += 1
            if sweeps > SWEEPS:
                failed[0] = 1
                going = 0
        for row in range(few):
            dot(inner, w, row * long, row * long, long)
            for lane in range(LANES):
                sizes[row * LANES + lane] = sqrt(inner[lane])
        for lane in range(lanes):
            sort_descending(order, sizes, few, lane)
            for k in range(few):
                here, to = order[k], (first + lane) * few + k
                size = sizes[here * LANES + lane]
                values[to] = narrow(size)
                if ends is not None and starts is not None:
                    if size == 0.0:  # which has no direction
                        failed[0] = 1
                    for j in range(few):
                        starts[to * few + j] = narrow(v[(here * few + j) * LANES + lane])
                    for j in range(long):
                        ends[to * long + j] = narrow(w[(here * long + j) * LANES + lane] / size)


def singular(a: Array, wanted: bool) -> tuple[Array | None, Array, Array | None] | None:
    """Singular values and some singular vectors for them, U and Vᵀ; their signs are not LAPACK's."""
    batch, (rows, columns) = a.shape[:-2], a.shape[-2:]
    few, long, count = min(rows, columns), max(rows, columns), math.prod(batch)
    if few > FEW or long > MOST or not a.size:
        return None
    values, starts, ends = np.empty((*batch, few), a.dtype), None, None
    if wanted:
        starts, ends = np.empty((*batch, few, few), a.dtype), np.empty((*batch, few, long), a.dtype)
    steps = (columns, 1) if rows <= columns else (1, columns)
    units, work = -(-count // LANES), LANES * few * few * long * 16
    if not rotate_rows.run(values, ends, starts, np.ascontiguousarray(a), few, long, *steps, count, units, work):
        return None
    if starts is None or ends is None:
        return None, values, None
    return (starts.swapaxes(-1, -2), values, ends) if rows <= columns else (ends.swapaxes(-1, -2), values, starts)
