"""Products with vectors: columns times rows, which gradients of weights are for single examples, and matrices times a vector, which layers
are for them; vector products, Kronecker products, and sums that products are part of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .loops import Floats, Out, Strided, loop, narrow, wide
from .memory import HUGE, empty
from .sums import BLOCK

Array = Any


@loop
def outer_rows(out: Out, columns: Floats, rows: Floats, height: int, width: int, lines: range) -> None:
    """Each number of a column times the row that belongs to it."""
    for i in lines:
        row = i // height * width
        for j in range(width):
            out[i * width + j] = columns[i] * rows[row + j]


def outer(columns: Array, rows: Array) -> Array | None:
    """The products of a batch of columns and one of rows. Huge ones are in memory that is used again. None if NumPy has to compute them."""
    batch, height, width = columns.shape[:-2], columns.shape[-2], rows.shape[-1]
    if rows.shape[:-2] != batch or rows.dtype != columns.dtype or columns.dtype.char not in "fd":
        return None
    lines = math.prod(batch) * height
    out = (empty if lines * width * columns.itemsize >= HUGE else np.empty)((*batch, height, width), columns.dtype)
    done = outer_rows.run(out, np.ascontiguousarray(columns), np.ascontiguousarray(rows), height, width, lines, width)
    return out if done else None


@loop(reorder=True)
def dots(out: Out, matrix: Floats, vector: Floats, width: int, rows: range) -> None:
    """The scalar product of each row with the vector."""
    for i in rows:
        total = wide(0.0)
        for block in range(0, width, BLOCK):
            some = 0.0
            for j in range(block, min(block + BLOCK, width)):
                some += matrix[i * width + j] * vector[j]
            total += wide(some)
        out[i] = narrow(total)


def times_vector(matrix: Array, vector: Array) -> Array | None:
    """The product of a matrix whose rows follow each other and a vector; None if NumPy has to compute it."""
    rows, width = matrix.shape
    out = np.empty(rows, matrix.dtype)
    return out if rows and dots.run(out, matrix, vector, width, rows, width) else None


@loop
def mix_blocks(out: Out, x: Floats, alpha: float, beta: float, count: int, blocks: range) -> None:
    mine = narrow(alpha)
    other = narrow(beta)
    for block in blocks:
        for j in range(block * BLOCK, min(block * BLOCK + BLOCK, count)):
            out[j] = mine * out[j] + other * x[j]


def mixed(out: Array, x: Array, alpha: float, beta: float) -> bool | None:
    """Let an array become `alpha * out + beta * x`, of the same shape. None, and nothing is written, where NumPy has to."""
    if out.shape != x.shape or out.__class__ is not np.ndarray or not {alpha.__class__, beta.__class__} <= {int, float}:
        return None
    size = out.size
    return mix_blocks.run(out, x, alpha, beta, size, -(-size // BLOCK), min(size, BLOCK)) if size else None


@loop
def cross_columns(out: Out, a: Floats, b: Floats, inner: int, matrices: range) -> None:
    """The vector products of the columns of matrices with three rows."""
    for matrix in matrices:
        x = matrix * 3 * inner
        y = x + inner
        z = y + inner
        for j in range(inner):
            out[x + j] = a[y + j] * b[z + j] - a[z + j] * b[y + j]
            out[y + j] = a[z + j] * b[x + j] - a[x + j] * b[z + j]
            out[z + j] = a[x + j] * b[y + j] - a[y + j] * b[x + j]


@loop
def cross_rows(out: Out, a: Strided, b: Strided, a_row: int, a_step: int, b_row: int, b_step: int, rows: range) -> None:
    """The vector products of the rows of matrices with three columns, which may be parts of wider ones."""
    for row in rows:
        ax, ay, az = a[row * a_row], a[row * a_row + a_step], a[row * a_row + 2 * a_step]
        bx, by, bz = b[row * b_row], b[row * b_row + b_step], b[row * b_row + 2 * b_step]
        out[row * 3] = ay * bz - az * by
        out[row * 3 + 1] = az * bx - ax * bz
        out[row * 3 + 2] = ax * by - ay * bx


def cross(a: Array, b: Array, dim: int) -> Array | None:
    """The vector products along a dimension of size three of arrays of one shape; None if NumPy has to compute them."""
    out = np.empty(a.shape, a.dtype)
    if dim == 1 and out.ndim == 2:
        item, (a_row, a_step), (b_row, b_step) = out.itemsize, a.strides, b.strides
        steps = a_row // item, a_step // item, b_row // item, b_step // item
        return out if out.size and cross_rows.run(out, a, b, *steps, out.shape[0], 3) else None
    inner = math.prod(a.shape[dim + 1 :])
    a, b = (x if x.flags.c_contiguous else x.copy() for x in (a, b))
    return out if out.size and cross_columns.run(out, a, b, inner, out.size // (3 * inner), 3 * inner) else None


@loop
def kron_rows(out: Out, a: Floats, b: Floats, n: int, height: int, width: int, rows: range) -> None:
    """The numbers of a row of `n` times a row of `width`, one after the other; of the latter there are `height` for each of the former."""
    for row in rows:
        to = row * n * width
        line = row % height * width
        for j in range(n):
            factor = a[row // height * n + j]
            for k in range(width):
                out[to + j * width + k] = factor * b[line + k]


def kron(a: Array, b: Array) -> Array | None:
    """The Kronecker product of matrices; None if NumPy has to compute it."""
    if len(a.shape) != 2 or len(b.shape) != 2 or not a.size or not b.size:
        return None
    (m, n), (height, width) = a.shape, b.shape
    out = np.empty((m * height, n * width), a.dtype)
    return out if kron_rows.run(out, a, b, n, height, width, m * height, n * width) else None
