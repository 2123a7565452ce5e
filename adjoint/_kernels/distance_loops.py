"""Distances between rows: of each of one array from each of another, and between all pairs of one.

One row is compared with many at a time, whose elements of one column follow each other: the other array is given transposed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .loops import Floats, Loop, Out, given, loop, maximum, narrow, part, power, room, sqrt, template

Array = Any
LANES = 64  # rows that one is compared with at a time
ROWS = 8  # that are compared with the same ones, as long as those are at hand
CHUNK = 128  # elements of a row that are summed before a new sum is begun
PULLS = ROWS * LANES
LEFT, RIGHT, PAIRS = range(3)  # the distances stand in the row of their first point, in the column of their second, or in a list of pairs

grown = joined = finished = weighed = pulled = given

# ---- norms of differences -----------------------------------------------------------------------------------------------------------


@part
def sum_of_sizes(total: Any, apart: Any, p: Any) -> Any:
    return total + abs(apart)


@part
def sum_of_squares(total: Any, apart: Any, p: Any) -> Any:
    return total + apart * apart


@part
def largest_size(total: Any, apart: Any, p: Any) -> Any:
    return maximum(total, abs(apart))


@part
def count_of_others(total: Any, apart: Any, p: Any) -> Any:
    return total + (apart if apart != apart else 1.0 if apart != 0.0 else 0.0)


@part
def sum_of_powers(total: Any, apart: Any, p: Any) -> Any:
    return total + power(abs(apart), p)


@part
def added(a: Any, b: Any) -> Any:
    return a + b


@part
def larger(a: Any, b: Any) -> Any:
    return maximum(a, b)


@part
def as_it_is(total: Any, p: Any) -> Any:
    return total


@part
def root(total: Any, p: Any) -> Any:
    return sqrt(total)


@part
def root_of_power(total: Any, p: Any) -> Any:
    return power(total, 1.0 / p)


@part
def before_pairs(i: int, n: int) -> Any:
    """Where the distances of a row from later ones would begin in the list of pairs if there were some from earlier ones."""
    return i * (2 * n - i - 1) // 2 - i - 1


@template(reorder=True)
def distances_from(
    out: Out, x: Floats, columns: Floats, n: int, m: int, size: int, pairs: int, p: float, blocks: int, units: range
) -> None:
    """A unit is some of the `n` rows of a matrix, which are compared with `m` others, or with those of their pairs that come later."""
    sums = room(LANES)
    totals = room(LANES)
    for unit in units:
        batch, start = unit // blocks, unit % blocks * ROWS
        for first in range(0, m, LANES):
            for i in range(start, min(start + ROWS, n)):
                low = max(first, i + 1) if pairs else first
                count = min(first + LANES, m) - low
                to = low + (before_pairs(i, n) if pairs else (batch * n + i) * m)
                for c in range(count):
                    totals[c] = 0.0
                for chunk in range(0, size, CHUNK):
                    for c in range(count):
                        sums[c] = 0.0
                    for k in range(chunk, min(chunk + CHUNK, size)):
                        element, column = x[(batch * n + i) * size + k], (batch * size + k) * m + low
                        for c in range(count):
                            sums[c] = grown(sums[c], element - columns[column + c], narrow(p))
                    for c in range(count):
                        totals[c] = joined(totals[c], sums[c])
                for c in range(count):
                    out[to + c] = finished(totals[c], narrow(p))


KERNELS: dict[float, Loop] = {
    1.0: distances_from("sums_of_sizes", grown=sum_of_sizes, joined=added, finished=as_it_is),
    2.0: distances_from("lengths", grown=sum_of_squares, joined=added, finished=root),
    math.inf: distances_from("largest_sizes", grown=largest_size, joined=larger, finished=as_it_is),
    0.0: distances_from("counts_of_others", grown=count_of_others, joined=added, finished=as_it_is),
}
OTHERS = distances_from("roots_of_powers", grown=sum_of_powers, joined=added, finished=root_of_power)


def turned(x: Array) -> Array:
    return np.ascontiguousarray(x.swapaxes(-1, -2))


def units_of(x: Array) -> tuple[int, int]:
    """The blocks of rows of a matrix, and of all matrices."""
    blocks = -(-x.shape[-2] // ROWS)
    return blocks, math.prod(x.shape[:-2]) * blocks


def crossed(x: Array, y: Array, p: float) -> Array | None:
    """The distances of the rows of x from those of y; None where NumPy has to compute them."""
    (n, size), m = x.shape[-2:], y.shape[-2]
    if x.shape[:-2] != y.shape[:-2] or x.dtype != y.dtype or not x.size or not y.size:
        return None
    (blocks, units), out = units_of(x), np.empty((*x.shape[:-1], m), x.dtype)
    done = KERNELS.get(p, OTHERS).run(out, np.ascontiguousarray(x), turned(y), n, m, size, 0, p, blocks, units, ROWS * m * size)
    return out if done else None


def paired(x: Array, p: float) -> Array | None:
    """The distances between all pairs of rows, each pair once."""
    n, size = x.shape
    if n < 2 or not size:
        return None
    (blocks, units), out = units_of(x), np.empty(n * (n - 1) // 2, x.dtype)
    done = KERNELS.get(p, OTHERS).run(out, np.ascontiguousarray(x), turned(x), n, n, size, 1, p, blocks, units, ROWS * n * size // 2)
    return out if done else None


@loop(reorder=True)
def finish_products(out: Floats, squares: Floats, others: Floats, n: int, m: int, rows: range) -> None:
    """From products of rows and their squares to distances."""
    for row in rows:
        for j in range(m):
            found = squares[row] + others[row // n * m + j] - 2.0 * out[row * m + j]
            out[row * m + j] = sqrt(maximum(found, 0.0))


def from_products(products: Array, squares: Array, others: Array) -> Array | None:
    """`|a - b|` from `ab`, which it takes the place of, and from `a²` and `b²`."""
    n, m = products.shape[-2:]
    if squares.shape[:-2] != others.shape[:-2]:
        return None
    return products if finish_products.run(products, squares, others, n, m, squares.size, m) else None


# ---- their gradients ----------------------------------------------------------------------------------------------------------------


@part
def of_sizes(g: Any, distance: Any, p: Any) -> Any:
    return g


@part
def of_lengths(g: Any, distance: Any, p: Any) -> Any:
    return g / distance if distance != 0.0 else 0.0


@part
def of_powers(g: Any, distance: Any, p: Any) -> Any:
    return g / power(distance, p - 1.0) if distance != 0.0 else 0.0


@part
def by_sign(pull: Any, apart: Any, p: Any) -> Any:
    return pull if apart > 0.0 else -pull if apart < 0.0 else 0.0


@part
def by_length(pull: Any, apart: Any, p: Any) -> Any:
    return pull * apart


@part
def by_power(pull: Any, apart: Any, p: Any) -> Any:
    size = power(abs(apart), p - 1.0)
    return pull * (size if apart > 0.0 else -size)


@template(reorder=True)
def distances_back(
    grad: Out, g: Floats, distances: Floats, x: Floats, columns: Floats, n: int, m: int, size: int, side: int, p: float, blocks: int,
    units: range,
) -> None:  # fmt: skip
    """What the distances of rows from others give to their gradients."""
    pull = room(PULLS)
    for unit in units:
        batch, start = unit // blocks, unit % blocks * ROWS
        rows = min(start + ROWS, n) - start
        for k in range((batch * n + start) * size, (batch * n + start + rows) * size):
            grad[k] = 0.0
        for first in range(0, m, LANES):
            count = min(LANES, m - first)
            for r in range(PULLS):
                pull[r] = 0.0
            for r in range(rows):  # those that follow each other in the row of a point
                i = start + r
                at = first + ((batch * n + i) * m if side == LEFT else before_pairs(i, n))
                for c in range(0 if side == LEFT else max(i + 1 - first, 0) if side == PAIRS else count, count):
                    pull[r * LANES + c] = weighed(g[at + c], distances[at + c], narrow(p))
            for c in range(count):  # and those that follow each other in the row of another
                j = first + c
                at = start + ((batch * m + j) * n if side == RIGHT else before_pairs(j, n))
                for r in range(0 if side == RIGHT else max(j + 1 - start, 0) if side == PAIRS else rows, rows):
                    pull[r * LANES + c] = weighed(g[at + r], distances[at + r], narrow(p))
            for r in range(rows):
                for k in range(size):
                    at, column = (batch * n + start + r) * size + k, (batch * size + k) * m + first
                    element, total = x[at], 0.0
                    for c in range(count):
                        total += pulled(pull[r * LANES + c], element - columns[column + c], narrow(p))
                    grad[at] += total


BACK: dict[float, Loop] = {
    1.0: distances_back("sums_of_sizes_back", weighed=of_sizes, pulled=by_sign),
    2.0: distances_back("lengths_back", weighed=of_lengths, pulled=by_length),
}
OTHERS_BACK = distances_back("roots_of_powers_back", weighed=of_powers, pulled=by_power)


def gradient(g: Array, distances: Array, x: Array, y: Array, p: float, side: int) -> Array | None:
    """The gradient by the rows of x; None where NumPy has to find it."""
    (n, size), m = x.shape[-2:], y.shape[-2]
    if not 1.0 <= p < math.inf or x.shape[:-2] != y.shape[:-2] or not x.size or not y.size or not g.size:
        return None
    g, distances, (blocks, units), grad = np.ascontiguousarray(g), np.ascontiguousarray(distances), units_of(x), np.empty(x.shape, x.dtype)
    numbers = n, m, size, side, p, blocks, units, 2 * ROWS * m * size
    done = BACK.get(p, OTHERS_BACK).run(grad, g, distances, np.ascontiguousarray(x), turned(y), *numbers)
    return grad if done else None
