"""Equations with triangular matrices, by substitution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .lapack_loops import solution_by_triangle
from .loops import Floats, Out, loop, room

Array = Any
COLUMNS = 32  # of the right side that are solved for at a time
MOST = 32  # unknowns; for more, LAPACK is faster
BLOCK = MOST * COLUMNS


@loop(reorder=True)
def substitution(out: Out, a: Floats, b: Floats, n: int, columns: int, blocks: int, upper: int, units: range) -> None:
    """Solve for a block of columns, from the first unknown to the last, or with `upper` from the last to the first. It is solved row by
    row, and written column by column."""
    x = room(BLOCK)
    for unit in units:
        matrix = unit // blocks * n * n
        first = unit // blocks * n * columns
        start = unit % blocks * COLUMNS
        width = min(COLUMNS, columns - start)
        for step in range(n):
            i = n - 1 - step if upper else step
            row = i * COLUMNS
            for c in range(width):
                x[row + c] = b[first + i * columns + start + c]
            for earlier in range(step):
                k = n - 1 - earlier if upper else earlier
                factor = a[matrix + i * n + k]
                for c in range(width):
                    x[row + c] = x[row + c] - factor * x[k * COLUMNS + c]
            pivot = a[matrix + i * n + i]
            for c in range(width):
                x[row + c] = x[row + c] / pivot
        for c in range(width):
            for i in range(n):
                out[first + (start + c) * n + i] = x[i * COLUMNS + c]


def solve(a: Array, b: Array, upper: bool) -> Array | None:
    """The solution x of a x = b for matrices of which one triangle is read; None where NumPy has to find it."""
    if a.shape[:-2] != b.shape[:-2] or a.dtype != b.dtype or not b.size:
        return None
    n, columns = b.shape[-2:]
    if n > MOST:
        return solution_by_triangle(a, b, upper)
    blocks, out = -(-columns // COLUMNS), np.empty((*b.shape[:-2], columns, n), b.dtype)
    units, work = math.prod(b.shape[:-2]) * blocks, n * n * min(columns, COLUMNS)
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return out.swapaxes(-1, -2) if substitution.run(out, a, b, n, columns, blocks, int(upper), units, work) else None
