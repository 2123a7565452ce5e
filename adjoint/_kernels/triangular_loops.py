"""Equations with triangular matrices, by substitution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .lapack_loops import solution_by_triangle
from .loops import Floats, Out, loop

Array = Any
COLUMNS = 32  # of the right side that are solved for at a time
MOST = 32  # unknowns; for more, LAPACK is faster


@loop(reorder=True)
def substitution(out: Out, a: Floats, b: Floats, n: int, columns: int, blocks: int, upper: int, units: range) -> None:
    """Solve for a block of columns, from the first unknown to the last, or with `upper` from the last to the first."""
    for unit in units:
        matrix = unit // blocks * n * n
        first = unit // blocks * n * columns
        start = unit % blocks * COLUMNS
        stop = min(start + COLUMNS, columns)
        for step in range(n):
            i = n - 1 - step if upper else step
            row = first + i * columns
            for c in range(start, stop):
                out[row + c] = b[row + c]
            for earlier in range(step):
                k = n - 1 - earlier if upper else earlier
                factor = a[matrix + i * n + k]
                known = first + k * columns
                for c in range(start, stop):
                    out[row + c] = out[row + c] - factor * out[known + c]
            pivot = a[matrix + i * n + i]
            for c in range(start, stop):
                out[row + c] = out[row + c] / pivot


def solve(a: Array, b: Array, upper: bool) -> Array | None:
    """The solution x of a x = b for matrices of which one triangle is read; None where NumPy has to find it."""
    if a.shape[:-2] != b.shape[:-2] or a.dtype != b.dtype or not b.size:
        return None
    n, columns = b.shape[-2:]
    if n > MOST:
        return solution_by_triangle(a, b, upper)
    blocks, out = -(-columns // COLUMNS), np.empty(b.shape, b.dtype)
    units, work = math.prod(b.shape[:-2]) * blocks, n * n * min(columns, COLUMNS)
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return out if substitution.run(out, a, b, n, columns, blocks, int(upper), units, work) else None
