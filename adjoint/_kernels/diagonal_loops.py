"""Diagonals of matrices: added up, and laid out in zeros."""

from __future__ import annotations

import numpy as np

from .loops import FLOATS, Floats, Out, loop, narrow, wide


@loop(kinds=(*FLOATS, "i64"))
def add_diagonal(out: Out, x: Floats, step: int, count: int, once: range) -> None:
    for _ in once:
        total = wide(narrow(0.0))
        for k in range(count):
            total += wide(x[k * step])
        out[0] = narrow(total)


@loop
def lay_diagonal(out: Out, values: Floats, first: int, step: int, length: int, size: int, matrices: range) -> None:
    """Matrices of zeros, each with `length` values, `step` elements apart."""
    for matrix in matrices:
        for j in range(matrix * size, matrix * size + size):
            out[j] = 0.0
        for k in range(length):
            out[matrix * size + first + k * step] = values[matrix * length + k]


def trace(x: np.ndarray) -> np.ndarray | None:
    """The sum of the diagonal of a matrix; None where NumPy has to find it."""
    if x.__class__ is not np.ndarray:
        return None
    rows, columns = x.shape
    out, count = np.empty((), x.dtype), min(rows, columns)
    return out if add_diagonal.run(out, x, columns + 1, count, 1, count + 1) else None


def laid(values: np.ndarray, shape: tuple[int, ...], offset: int) -> np.ndarray | None:
    """Matrices of zeros with values on a diagonal, in a shape that ends with theirs; None where NumPy has to do it."""
    if values.__class__ is not np.ndarray or not values.size:
        return None
    rows, columns, length = *shape[-2:], values.shape[-1]
    if length != min(rows - max(-offset, 0), columns - max(offset, 0)):
        return None
    out = np.empty(shape, values.dtype)
    first, size = offset if offset >= 0 else -offset * columns, rows * columns
    return out if lay_diagonal.run(out, values, first, columns + 1, length, size, out.size // size, size) else None
