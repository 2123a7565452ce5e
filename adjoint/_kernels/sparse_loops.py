"""Products of sparse matrices, kept row by row, with dense ones; and products of dense ones in the places of a sparse one.

A unit is a row. How many values a row has is not known to whoever cuts the work, so the pieces are cut as if all had the same number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .loops import Floats, Ints, Out, loop

Array = Any


@loop(reorder=True)
def multiply(out: Out, values: Floats, starts: Ints, columns: Ints, dense: Floats, width: int, rows: range) -> None:
    for row in rows:
        to = row * width
        for j in range(width):
            out[to + j] = 0.0
        for k in range(starts[row], starts[row + 1]):
            value = values[k]
            at = columns[k] * width
            for j in range(width):
                out[to + j] = out[to + j] + value * dense[at + j]


@loop(reorder=True)
def multiply_ordered(
    out: Out, values: Floats, order: Ints, starts: Ints, columns: Ints, dense: Floats, width: int, rows: range
) -> None:
    """The same for values that lie in another order."""
    for row in rows:
        to = row * width
        for j in range(width):
            out[to + j] = 0.0
        for k in range(starts[row], starts[row + 1]):
            value = values[order[k]]
            at = columns[k] * width
            for j in range(width):
                out[to + j] = out[to + j] + value * dense[at + j]


@loop(reorder=True)
def sample(out: Out, left: Floats, right: Floats, starts: Ints, columns: Ints, width: int, rows: range) -> None:
    for row in rows:
        of = row * width
        for k in range(starts[row], starts[row + 1]):
            at = columns[k] * width
            total = 0.0
            for j in range(width):
                total = total + left[of + j] * right[at + j]
            out[k] = total


@loop(reorder=True)
def sample_ordered(out: Out, left: Floats, right: Floats, order: Ints, starts: Ints, columns: Ints, width: int, rows: range) -> None:
    """The same for results that lie in another order."""
    for row in rows:
        of = row * width
        for k in range(starts[row], starts[row + 1]):
            at = columns[k] * width
            total = 0.0
            for j in range(width):
                total = total + left[of + j] * right[at + j]
            out[order[k]] = total


def product(values: Array, dense: Array, rows: Any) -> Array | None:
    """A sparse matrix times a dense one; None where NumPy has to compute it."""
    if values.__class__ is not np.ndarray or dense.__class__ is not np.ndarray or not rows.shape[0]:
        return None
    width = dense.shape[1]
    out, dense = np.empty((rows.shape[0], width), dense.dtype), np.ascontiguousarray(dense)
    values = np.ascontiguousarray(values)
    work = width * (1 + rows.columns.size // rows.shape[0])
    if rows.order is None:
        done = multiply.run(out, values, rows.starts, rows.columns, dense, width, rows.shape[0], work)
    else:
        done = multiply_ordered.run(out, values, rows.order, rows.starts, rows.columns, dense, width, rows.shape[0], work)
    return out if done else None


def sampled(left: Array, right: Array, rows: Any) -> Array | None:
    """The products of rows of two dense matrices in the places of a sparse one; None where NumPy has to compute them."""
    if left.__class__ is not np.ndarray or right.__class__ is not np.ndarray or not rows.shape[0]:
        return None
    width = left.shape[1]
    out = np.empty(rows.columns.size, left.dtype)
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    work = max(width * (1 + rows.columns.size // rows.shape[0]), 1)
    if rows.order is None:
        done = sample.run(out, left, right, rows.starts, rows.columns, width, rows.shape[0], work)
    else:
        done = sample_ordered.run(out, left, right, rows.order, rows.starts, rows.columns, width, rows.shape[0], work)
    return out if done else None
