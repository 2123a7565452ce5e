"""Equations with triangular matrices, by substitution."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .loops import Floats, Out, loop

Array = Any
COLUMNS = 32  # of the right side that are solved for at a time
MOST = 128  # unknowns of which a kernel takes all; of more, one half after the other, so that most of the work is a product


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


def solve(a: Array, b: Array, upper: bool, product: Callable[[Array, Array], Array]) -> Array | None:
    """The solution x of a x = b for triangular matrices without a zero on the diagonal; None where NumPy has to find it."""
    if a.shape[:-2] != b.shape[:-2] or a.dtype != b.dtype or not b.size or not np.diagonal(a, 0, -2, -1).all():
        return None
    n, columns = b.shape[-2:]
    if n > MOST and a.ndim == 2:
        return by_halves(a, b, upper, product)
    blocks, out = -(-columns // COLUMNS), np.empty(b.shape, b.dtype)
    units, work = math.prod(b.shape[:-2]) * blocks, n * n * min(columns, COLUMNS)
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return out if substitution.run(out, a, b, n, columns, blocks, int(upper), units, work) else None


def by_halves(a: Array, b: Array, upper: bool, product: Callable[[Array, Array], Array]) -> Array | None:
    half = len(a) // 2
    first, last = (slice(half, None), slice(half)) if upper else (slice(half), slice(half, None))
    known = solve(a[first, first], b[first], upper, product)
    rest = None if known is None else solve(a[last, last], b[last] - product(a[last, first], known), upper, product)
    if rest is None:
        return None
    return np.concatenate([rest, known] if upper else [known, rest])
