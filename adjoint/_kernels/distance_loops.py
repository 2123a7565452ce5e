"""Distances between rows: of each of one array from each of another, and between all pairs of one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .loops import Floats, Out, loop, maximum, narrow, part, power, sqrt

Array = Any
WIDEST = 1024  # elements of a row, whose sum is exact enough as it is
SUM, EUCLID, LARGEST, COUNT, POWER = range(5)


@part
def distance(x: Floats, y: Floats, a: int, b: int, size: int, what: int, p: Any) -> Any:
    total = 0.0
    if what == SUM:
        for k in range(size):
            total += abs(x[a + k] - y[b + k])
    elif what == EUCLID:
        for k in range(size):
            total += (x[a + k] - y[b + k]) * (x[a + k] - y[b + k])
        total = sqrt(total)
    elif what == LARGEST:
        for k in range(size):
            total = maximum(total, abs(x[a + k] - y[b + k]))
    elif what == COUNT:
        for k in range(size):
            total += 1.0 if x[a + k] != y[b + k] else 0.0
    else:
        for k in range(size):
            total += power(abs(x[a + k] - y[b + k]), p)
        total = power(total, 1.0 / p)
    return total


@loop(reorder=True, unroll=False)
def cross_distances(out: Out, x: Floats, y: Floats, n: int, m: int, size: int, what: int, p: float, rows: range) -> None:
    for row in rows:
        for j in range(m):
            out[row * m + j] = distance(x, y, row * size, (row // n * m + j) * size, size, what, narrow(p))


@loop(reorder=True, unroll=False)
def pair_distances(out: Out, x: Floats, n: int, size: int, what: int, p: float, rows: range) -> None:
    for i in rows:
        to = i * (2 * n - i - 1) // 2 - i - 1
        for j in range(i + 1, n):
            out[to + j] = distance(x, x, i * size, j * size, size, what, narrow(p))


@loop(reorder=True, unroll=False)
def distances_back(
    grad: Out, g: Floats, distances: Floats, x: Floats, y: Floats, n: int, m: int, size: int, euclid: int, pairs: int, rows: range
) -> None:
    """What the distances of a row from others give to its gradient; they are in a matrix or, of `pairs`, in a list."""
    for row in rows:
        for k in range(row * size, row * size + size):
            grad[k] = 0.0
        for j in range(m):
            first, last = min(row, j), max(row, j)
            place = first * (2 * n - first - 1) // 2 - first - 1 + last if pairs else row * m + j
            other = (row // n * m + j) * size
            if pairs == 0 or row != j:
                pull = g[place]
                if euclid:
                    pull = pull / distances[place] if distances[place] != 0.0 else 0.0
                    for k in range(size):
                        grad[row * size + k] += pull * (x[row * size + k] - y[other + k])
                else:
                    for k in range(size):
                        apart = x[row * size + k] - y[other + k]
                        grad[row * size + k] += pull if apart > 0.0 else -pull if apart < 0.0 else 0.0


def pulled(g: Array, distances: Array, x: Array, y: Array, p: float, pairs: bool) -> Array | None:
    """The gradient by the rows of x; None where NumPy has to find it."""
    (n, size), m = x.shape[-2:], y.shape[-2]
    if p not in (1.0, 2.0) or x.shape[:-2] != y.shape[:-2] or not x.size or not y.size or not g.size:
        return None
    g, x, y, grad = np.ascontiguousarray(g), np.ascontiguousarray(x), np.ascontiguousarray(y), np.empty(x.shape, x.dtype)
    done = distances_back.run(grad, g, distances, x, y, n, m, size, int(p == 2.0), int(pairs), x.size // size, 2 * m * size)
    return grad if done else None


def kind_of(p: float) -> int:
    return {1.0: SUM, 2.0: EUCLID, math.inf: LARGEST, 0.0: COUNT}.get(p, POWER)


def crossed(x: Array, y: Array, p: float) -> Array | None:
    """The distances of the rows of x from those of y; None where NumPy has to compute them."""
    (n, size), m = x.shape[-2:], y.shape[-2]
    if x.shape[:-2] != y.shape[:-2] or x.dtype != y.dtype or size > WIDEST or not x.size or not y.size:
        return None
    x, y, out = np.ascontiguousarray(x), np.ascontiguousarray(y), np.empty((*x.shape[:-1], m), x.dtype)
    return out if cross_distances.run(out, x, y, n, m, size, kind_of(p), p, x.size // size, m * size) else None


def paired(x: Array, p: float) -> Array | None:
    """The distances between all pairs of rows, each pair once."""
    n, size = x.shape
    if size > WIDEST or n < 2 or not size:
        return None
    x, out = np.ascontiguousarray(x), np.empty(n * (n - 1) // 2, x.dtype)
    return out if pair_distances.run(out, x, n, size, kind_of(p), p, n, n * size // 2 + 1) else None
