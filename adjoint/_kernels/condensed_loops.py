"""Eigenvalues and singular values of matrices of a middle size, without vectors.

Reflections (I - factor v vᵀ) bring a matrix to two diagonals. That is done here, because LAPACK takes twice as long for matrices that fit
into a processor's nearest memory; from two diagonals LAPACK finds the values. All functions give None where LAPACK has to do all of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .lapack import function
from .loops import Floats, Mark, Out, copysign, fortran, index_room, loop, narrow, part, room, sqrt, wide

Array = Any
MOST = 64  # rows and columns
ELEMENTS = MOST * MOST
WORK = 4 * MOST  # that LAPACK needs
STEP = 8  # rows begin at multiples of it, and so do loops over the last elements of rows
NEGLIGIBLE = 1e-280  # a square in a moderate matrix
UPPER = ord("U")


@part
def all_finite(a: Floats, start: int, stop: int) -> Any:
    zero = 0.0
    for k in range(start, stop):
        zero = zero + a[k] * 0.0
    return zero == 0.0


@part
def moderate(a: Floats, start: int, stop: int) -> Any:
    """Whether products of squares of a matrix are neither too small nor too large for numbers; of zeros and NaN they are."""
    total = wide(0.0)
    for k in range(start, stop):
        total += wide(a[k]) * wide(a[k])
    return total > 1e-120 and total < 1e140


@part
def reflected(head: Any, squares: Any) -> Any:
    """What a reflection makes of the first element of a vector, if the others, whose squares are given, become zero."""
    return -copysign(sqrt(head * head + squares), head)


@loop(reorder=True, unroll=False)
def symmetric_values(values: Out, a: Floats, sterf: int, n: int, upper: int, failed: Mark, matrices: range) -> None:
    """A reflection from both sides makes each row zero behind the element next to the diagonal."""
    s = room(ELEMENTS)
    v = room(MOST)
    w = room(MOST)
    beside = room(MOST)
    info = index_room(1)
    width = (n + STEP - 1) // STEP * STEP
    for i in matrices:
        start = i * n * n
        for row in range(n):
            for column in range(width):
                s[row * width + column] = 0.0
        for row in range(n):
            for column in range(row + 1):
                element = a[start + (column * n + row if upper else row * n + column)]
                s[row * width + column] = element
                s[column * width + row] = element
        beside[n - 1] = 0.0
        for k in range(n - 1):
            own, first = k * width, (k + 1) // STEP * STEP
            head, squares = wide(s[own + k + 1]), wide(0.0)
            for j in range(k + 2, n):
                squares += wide(s[own + j]) * wide(s[own + j])
            beside[k] = s[own + k + 1]
            if squares > NEGLIGIBLE:
                length = reflected(head, squares)
                factor, scale = narrow((length - head) / length), narrow(1.0 / (head - length))
                beside[k] = narrow(length)
                for j in range(first, width):
                    v[j] = s[own + j] * scale
                    w[j] = 0.0
                for j in range(first, k + 1):
                    v[j] = 0.0
                v[k + 1] = 1.0
                inner = 0.0
                for row in range(k + 1, n):
                    total = 0.0
                    for j in range(first, width):
                        total += s[row * width + j] * v[j]
                    w[row] = total * factor
                    inner += total * factor * v[row]
                inner = inner * factor * 0.5
                for j in range(first, width):
                    w[j] -= inner * v[j]
                for row in range(k + 1, n):
                    one, other = v[row], w[row]
                    for j in range(first, width):
                        s[row * width + j] -= one * w[j] + other * v[j]
        for k in range(n):
            values[i * n + k] = s[k * width + k]
        info[0] = 1
        if moderate(a, start, start + n * n) and all_finite(values, i * n, i * n + n) and all_finite(beside, 0, n):
            fortran(sterf, n, values[i * n], beside[0], info[0])
        if info[0] != 0:
            failed[0] = 1


def eigenvalues(a: Array, upper: bool) -> Array | None:
    """The eigenvalues of symmetric matrices, of which one triangle is read. None, too, for matrices that are not `moderate`."""
    sterf, n = function("sterf", a.dtype.char), a.shape[-1]
    if n > MOST or not sterf or not a.size:
        return None
    values = np.empty(a.shape[:-1], a.dtype)
    done = symmetric_values.run(values, np.ascontiguousarray(a), sterf, n, int(upper), math.prod(a.shape[:-2]), 4 * n * n * n)
    return values if done else None


@loop(reorder=True, unroll=False)
def general_values(
    values: Out, a: Floats, bdsqr: int, few: int, long: int, row_step: int, step: int, failed: Mark, matrices: range
) -> None:
    """A matrix of `long` rows, or the transposed one: a reflection from the left makes each column zero below the diagonal, and one from
    the right makes each row zero behind the element next to the diagonal."""
    w = room(ELEMENTS)
    u = room(MOST)
    v = room(MOST)
    beside = room(MOST)
    work = room(WORK)
    info = index_room(1)
    width = (few + STEP - 1) // STEP * STEP
    for i in matrices:
        for row in range(long):
            for column in range(few):
                w[row * width + column] = a[i * few * long + row * row_step + column * step]
            for column in range(few, width):
                w[row * width + column] = 0.0
        beside[few - 1] = 0.0
        for k in range(few):
            own, first = k * width, (k + 1) // STEP * STEP
            head, squares = wide(w[own + k]), wide(0.0)
            for row in range(k + 1, long):
                u[row] = w[row * width + k]
                squares += wide(u[row]) * wide(u[row])
            values[i * few + k] = w[own + k]
            if squares > NEGLIGIBLE:
                length = reflected(head, squares)
                factor, scale = narrow((length - head) / length), narrow(1.0 / (head - length))
                values[i * few + k] = narrow(length)
                u[k] = 1.0
                for row in range(k + 1, long):
                    u[row] = u[row] * scale
                for j in range(first, width):
                    v[j] = 0.0
                for row in range(k, long):
                    one = u[row] * factor
                    for j in range(first, width):
                        v[j] += one * w[row * width + j]
                for row in range(k, long):
                    one = u[row]
                    for j in range(first, width):
                        w[row * width + j] -= one * v[j]
            if k + 1 < few:
                head, squares = wide(w[own + k + 1]), wide(0.0)
                for j in range(k + 2, few):
                    squares += wide(w[own + j]) * wide(w[own + j])
                beside[k] = w[own + k + 1]
                if squares > NEGLIGIBLE:
                    length = reflected(head, squares)
                    factor, scale = narrow((length - head) / length), narrow(1.0 / (head - length))
                    beside[k] = narrow(length)
                    for j in range(first, width):
                        v[j] = w[own + j] * scale
                    for j in range(first, k + 1):
                        v[j] = 0.0
                    v[k + 1] = 1.0
                    for row in range(k + 1, long):
                        total = 0.0
                        for j in range(first, width):
                            total += w[row * width + j] * v[j]
                        total = total * factor
                        for j in range(first, width):
                            w[row * width + j] -= total * v[j]
        info[0] = 1
        start = i * few * long
        if moderate(a, start, start + few * long) and all_finite(values, i * few, i * few + few) and all_finite(beside, 0, few):
            fortran(bdsqr, UPPER, few, 0, 0, 0, values[i * few], beside[0], work[0], 1, work[0], 1, work[0], 1, work[0], info[0])
        if info[0] != 0:
            failed[0] = 1


def singular_values(a: Array) -> Array | None:
    """The singular values of any matrices. None, too, for matrices that are not `moderate`."""
    bdsqr, (*batch, rows, columns) = function("bdsqr", a.dtype.char), a.shape
    few, long = min(rows, columns), max(rows, columns)
    if long > MOST or not bdsqr or not a.size:
        return None
    values, steps = np.empty((*batch, few), a.dtype), (columns, 1) if rows >= columns else (1, columns)
    done = general_values.run(values, np.ascontiguousarray(a), bdsqr, few, long, *steps, math.prod(batch), 8 * few * few * long)
    return values if done else None
