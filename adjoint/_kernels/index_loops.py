"""Reading, writing and adding at the places that indices name.

An array is seen as `outer` matrices of `n` rows and `inner` columns; an index names rows. There are `m` indices for all matrices and
columns (`index_select`, `index_add`, embeddings), or as many for each of them (`gather`, `scatter_add`).

Where an array is written to, a thread has columns that no other touches, so that sums are always added up in the same order.

Kernels look at an index before they use it: a part of the work in which one names no row is left undone, and `stray` becomes 1. The
functions below answer None or False then, as in all cases that NumPy has to handle, and has words for. What `along` has written by then is
not to be used; `at_rows` has written nothing.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .loops import Floats, Ints, Loop, Out, given, loop, maximum, minimum, narrow, part, template

PIECE = 4096  # elements of a row that are one piece of work at most
COLUMNS = 128  # columns that a thread writes to at a time
INT64 = np.dtype(np.int64)
Shape = tuple[int, ...]
combined = given


@part
def strays(index: Ints, first: int, last: int, low: int, high: int) -> Any:
    """Whether some of the indices are out of bounds; faster than a look at each as it is used, because this loop is vectorised."""
    found = 0
    for k in range(first, last):
        found = found | (1 if (index[k] < low) | (index[k] >= high) else 0)
    return found


# ---- reading ------------------------------------------------------------------------------------------------------------------------


@loop
def take_rows(out: Out, x: Floats, index: Ints, stray: Ints, low: int, n: int, m: int, inner: int, units: range) -> None:
    for unit in units:
        row = index[unit % m]
        if row < low or row >= n:
            stray[0] = 1
        else:
            row = row + n if row < 0 else row
            to = unit * inner
            at = (unit // m * n + row) * inner
            for j in range(inner):
                out[to + j] = x[at + j]


@loop
def take_elements(out: Out, x: Floats, index: Ints, stray: Ints, low: int, n: int, m: int, blocks: int, units: range) -> None:
    """The same for one column."""
    for unit in units:
        first = unit % blocks * PIECE
        to = unit // blocks * m
        at = unit // blocks * n
        last = min(first + PIECE, m)
        if strays(index, first, last, low, n):
            stray[0] = 1
        else:
            for k in range(first, last):
                row = index[k]
                out[to + k] = x[at + (row + n if row < 0 else row)]


@loop
def gather_rows(out: Out, x: Floats, index: Ints, stray: Ints, n: int, m: int, inner: int, units: range) -> None:
    for unit in units:
        to = unit * inner
        at = unit // m * n * inner
        if strays(index, to, to + inner, 0, n):
            stray[0] = 1
        else:
            for j in range(inner):
                out[to + j] = x[at + index[to + j] * inner + j]


@loop
def gather_elements(out: Out, x: Floats, index: Ints, stray: Ints, n: int, m: int, blocks: int, units: range) -> None:
    """The same for one column."""
    for unit in units:
        first = unit % blocks * PIECE
        to = unit // blocks * m
        at = unit // blocks * n
        last = min(first + PIECE, m)
        if strays(index, to + first, to + last, 0, n):
            stray[0] = 1
        else:
            for k in range(first, last):
                out[to + k] = x[at + index[to + k]]


@lru_cache(1024)
def frame(shape: Shape, index: Shape, dim: int) -> tuple[int, int, int, int, Shape] | None:
    """An array as matrices: how many, their rows, the number of indices, the columns; and the shape of what the indices name. None if there
    is nothing."""
    ndim = len(shape)
    if not -ndim <= dim < ndim or 0 in index or 0 in shape:
        return None
    dim %= ndim
    return (
        math.prod(shape[:dim]), shape[dim], math.prod(index), math.prod(shape[dim + 1 :]), (*shape[:dim], *index, *shape[dim + 1 :])
    )  # fmt: skip


@lru_cache(1024)
def frame_along(shape: Shape, index: Shape, dim: int) -> tuple[int, int, int, int] | None:
    """The same, with the number of indices along the dimension, if the array and the index differ in nothing else."""
    ndim = len(shape)
    if len(index) != ndim or not -ndim <= dim < ndim or 0 in shape or 0 in index:
        return None
    dim %= ndim
    if shape[:dim] != index[:dim] or shape[dim + 1 :] != index[dim + 1 :]:
        return None
    return math.prod(shape[:dim]), shape[dim], index[dim], math.prod(shape[dim + 1 :])


def take(x: np.ndarray, index: np.ndarray, dim: int, negative: bool = False) -> np.ndarray | None:
    """The rows that an index names; numbers from the end are allowed if it may be `negative`."""
    if x.__class__ is not np.ndarray or index.dtype is not INT64 or dim.__class__ is not int:
        return None
    if (found := frame(x.shape, index.shape, dim)) is None:
        return None
    outer, n, m, inner, shape = found
    low = -n if negative else 0
    out = np.empty(shape, x.dtype)
    stray = np.zeros(1, INT64)
    if inner == 1:
        blocks = -(-m // PIECE)
        done = take_elements.run(out, x, index, stray, low, n, m, blocks, outer * blocks, min(m, PIECE))
    else:
        done = take_rows.run(out, x, index, stray, low, n, m, inner, outer * m, inner)
    return out if done and not stray[0] else None


def gather(x: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray | None:
    """The elements that an index names along a dimension."""
    if x.__class__ is not np.ndarray or dim.__class__ is not int or (found := frame_along(x.shape, index.shape, dim)) is None:
        return None
    outer, n, m, inner = found
    out = np.empty(index.shape, x.dtype)
    stray = np.zeros(1, INT64)
    if inner == 1:
        blocks = -(-m // PIECE)
        done = gather_elements.run(out, x, index, stray, n, m, blocks, outer * blocks, min(m, PIECE))
    else:
        done = gather_rows.run(out, x, index, stray, n, m, inner, outer * m, inner)
    return out if done and not stray[0] else None


# ---- writing ------------------------------------------------------------------------------------------------------------------------


@template()
def write_rows(
    out: Out, source: Floats, index: Ints, stray: Ints, scale: float, skipped: int, low: int, n: int, m: int, inner: int, blocks: int,
    units: range,
) -> None:  # fmt: skip
    """The row `skipped` stays as it is. If one index is out of bounds, nothing is written."""
    for unit in units:
        left = unit % blocks * COLUMNS
        width = min(COLUMNS, inner - left)
        factor = narrow(scale)
        if strays(index, 0, m, low, n):
            stray[0] = 1
        else:
            for k in range(m):
                row = index[k]
                row = row + n if row < 0 else row
                to = (unit // blocks * n + row) * inner + left
                at = (unit // blocks * m + k) * inner + left
                if row != skipped:
                    for j in range(width):
                        out[to + j] = combined(out[to + j], factor * source[at + j])


@template()
def write_elements(
    out: Out, source: Floats, index: Ints, stray: Ints, scale: float, skipped: int, low: int, n: int, m: int, units: range
) -> None:
    """The same for one column."""
    for unit in units:
        factor = narrow(scale)
        if strays(index, 0, m, low, n):
            stray[0] = 1
        else:
            for k in range(m):
                row = index[k]
                row = row + n if row < 0 else row
                if row != skipped:
                    out[unit * n + row] = combined(out[unit * n + row], factor * source[unit * m + k])


@template()
def scatter_rows(out: Out, source: Floats, index: Ints, stray: Ints, n: int, m: int, inner: int, blocks: int, units: range) -> None:
    for unit in units:
        left = unit % blocks * COLUMNS
        right = min(left + COLUMNS, inner)
        to = unit // blocks * n * inner
        for k in range(m):
            at = (unit // blocks * m + k) * inner
            if strays(index, at + left, at + right, 0, n):
                stray[0] = 1
            else:
                for j in range(left, right):
                    place = to + index[at + j] * inner + j
                    out[place] = combined(out[place], source[at + j])


@template()
def scatter_elements(out: Out, source: Floats, index: Ints, stray: Ints, n: int, m: int, units: range) -> None:
    """The same for one column."""
    for unit in units:
        first = unit * m
        if strays(index, first, first + m, 0, n):
            stray[0] = 1
        else:
            for k in range(first, first + m):
                place = unit * n + index[k]
                out[place] = combined(out[place], source[k])


@part
def replaced(old: Any, new: Any) -> Any:
    return new


@part
def added(old: Any, new: Any) -> Any:
    return old + new


@part
def multiplied(old: Any, new: Any) -> Any:
    return old * new


@part
def largest(old: Any, new: Any) -> Any:
    return maximum(old, new)


@part
def smallest(old: Any, new: Any) -> Any:
    return minimum(old, new)


class Writing:
    """A way to combine what is there with what comes, and its kernels."""

    def __init__(self, name: str, combined: Any) -> None:
        self.rows: Loop = write_rows(f"{name}_rows", combined=combined)
        self.elements: Loop = write_elements(f"{name}_elements", combined=combined)
        self.scattered_rows: Loop = scatter_rows(f"scatter_{name}_rows", combined=combined)
        self.scattered_elements: Loop = scatter_elements(f"scatter_{name}_elements", combined=combined)

    def at_rows(
        self, out: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, scale: float = 1.0, skipped: int = -1,
        negative: bool = False,
    ) -> bool | None:  # fmt: skip
        """Write rows of `source`, multiplied by `scale`, where an index names rows of `out`."""
        if dim.__class__ is not int or (found := frame(out.shape, index.shape, dim)) is None:
            return None
        outer, n, m, inner, _ = found
        if source.size != outer * m * inner:
            return None
        stray = np.zeros(1, INT64)
        low = -n if negative else 0
        if inner == 1:
            done = self.elements.run(out, source, index, stray, scale, skipped, low, n, m, outer, m)
        else:
            blocks = -(-inner // COLUMNS)
            width = min(inner, COLUMNS)
            done = self.rows.run(out, source, index, stray, scale, skipped, low, n, m, inner, blocks, outer * blocks, m * width)
        return done and not stray[0]

    def along(self, out: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> bool | None:
        """Write each element of `source` where its index names a row of `out`."""
        if index.shape != source.shape or dim.__class__ is not int or (found := frame_along(out.shape, index.shape, dim)) is None:
            return None
        outer, n, m, inner = found
        stray = np.zeros(1, INT64)
        if inner == 1:
            done = self.scattered_elements.run(out, source, index, stray, n, m, outer, m)
        else:
            blocks = -(-inner // COLUMNS)
            width = min(inner, COLUMNS)
            done = self.scattered_rows.run(out, source, index, stray, n, m, inner, blocks, outer * blocks, m * width)
        return done and not stray[0]


put = Writing("put", replaced)
add = Writing("add", added)
BY_UFUNC = {
    np.add: add,
    np.multiply: Writing("multiply", multiplied),
    np.maximum: Writing("maximum", largest),
    np.minimum: Writing("minimum", smallest),
}


# ---- bounds -------------------------------------------------------------------------------------------------------------------------


@loop
def find_strays(like: Floats, index: Ints, stray: Ints, low: int, high: int, count: int, blocks: range) -> None:
    for block in blocks:
        if strays(index, block * PIECE, min(block * PIECE + PIECE, count), low, high):
            stray[0] = 1


def within(index: np.ndarray, low: int, high: int, like: np.ndarray) -> bool | None:
    """Whether all indices are at least `low` and below `high`; None if no kernel can tell."""
    count = index.size
    stray = np.zeros(1, INT64)
    done = find_strays.run(like, index, stray, low, high, count, -(-count // PIECE), min(count, PIECE))
    return not stray[0] if done else None
