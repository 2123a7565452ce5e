"""Reading, writing and adding at the places that indices name.

An array is seen as `outer` matrices of `n` rows and `inner` columns; an index names rows. There are `m` indices for all matrices and
columns (`index_select`, `index_add`, embeddings), or as many for each of them (`gather`, `scatter_add`), which may be the first of more:
then the matrices of the array are wider than those of the index.

Where an array is written to, a thread has rows or columns that no other touches, so that sums are always added up in the same order.

Kernels look at an index before they use it: a part of the work in which one names no row is left undone, and marked as `stray`. The
functions below answer None or False then, as in all cases that NumPy has to handle, and has words for. Nothing has been written by then,
unless `along` was told that the array is fresh, and need not be used.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .loops import FLOATS, HALVES, WHOLE, Floats, Ints, Loop, Mark, Out, given, loop, maximum, minimum, narrow, part, template

PIECE = 4096  # elements of a row that are one piece of work at most
COLUMNS = 128  # columns that a thread scatters to at a time
SHARES = 16  # units at most into which the rows of a matrix are divided,
SHARE = 1 << 15  # with so many elements at least,
NARROW = 16  # unless it has fewer columns than this
ALONE = 1 << 15  # indices that one thread looks at, and writes to their places
KEEP, ZEROS, COPY = range(3)  # what an array that is written to begins as: itself, zeros, or another
INT64 = np.dtype(np.int64)
ANY = (*FLOATS, *HALVES, *WHOLE)
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


@loop(kinds=ANY)
def take_rows(out: Out, x: Floats, index: Ints, stray: Mark, low: int, n: int, m: int, inner: int, units: range) -> None:
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


@loop(kinds=ANY)
def take_elements(out: Out, x: Floats, index: Ints, stray: Mark, low: int, n: int, m: int, blocks: int, units: range) -> None:
    """The same for one column. Indices that are used for many rows are looked at once."""
    wrong = strays(index, 0, m if blocks == 1 else 0, low, n)
    for unit in units:
        row = unit
        first = 0
        last = m
        if blocks > 1:
            row = unit // blocks
            first = unit % blocks * PIECE
            last = min(first + PIECE, m)
            wrong = strays(index, first, last, low, n)
        to = row * m
        at = row * n
        if wrong:
            stray[0] = 1
        elif low == 0:
            for k in range(first, last):
                out[to + k] = x[at + index[k]]
        else:
            for k in range(first, last):
                row = index[k]
                out[to + k] = x[at + (row + n if row < 0 else row)]


@loop(kinds=ANY)
def gather_rows(out: Out, x: Floats, index: Ints, stray: Mark, n: int, m: int, inner: int, width: int, units: range) -> None:
    for unit in units:
        to = unit * inner
        at = unit // m * n * width
        if strays(index, to, to + inner, 0, n):
            stray[0] = 1
        else:
            for j in range(inner):
                out[to + j] = x[at + index[to + j] * width + j]


@loop(kinds=ANY)
def gather_elements(out: Out, x: Floats, index: Ints, stray: Mark, n: int, m: int, blocks: int, units: range) -> None:
    """The same for one column."""
    for unit in units:
        row = unit
        first = 0
        if blocks > 1:
            row = unit // blocks
            first = unit % blocks * PIECE
        to = row * m
        at = row * n
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
def frame_along(shape: Shape, index: Shape, dim: int) -> tuple[int, int, int, int, int, bool] | None:
    """The same for an index with a number for each element: its matrices, the rows of the array, those of the index, its columns, and those
    of the array; and whether both differ in their rows only. The index may have fewer matrices and columns, if it has the first ones."""
    ndim = len(shape)
    if len(index) != ndim or not -ndim <= dim < ndim or 0 in shape or 0 in index:
        return None
    dim %= ndim
    before, after = (shape[:dim], index[:dim]), (shape[dim + 1 :], index[dim + 1 :])
    for ours, theirs in (before, after):
        if ours[1:] != theirs[1:] or ours[:1] < theirs[:1]:
            return None
    whole = before[0] == before[1] and after[0] == after[1]
    return math.prod(before[1]), shape[dim], index[dim], math.prod(after[1]), math.prod(after[0]), whole


def first_of(array: np.ndarray, shape: Shape) -> np.ndarray | None:
    """The elements in front, as many as the shape has; None if there are not so many."""
    if array.shape == shape:
        return array
    if len(shape) != array.ndim or any([size > there for size, there in zip(shape, array.shape, strict=True)]):
        return None
    return np.ascontiguousarray(array[tuple([slice(size) for size in shape])])


def take(x: np.ndarray, index: np.ndarray, dim: int, negative: bool = False) -> np.ndarray | None:
    """The rows that an index names; numbers from the end are allowed if it may be `negative`."""
    if x.__class__ is not np.ndarray or index.dtype is not INT64 or dim.__class__ is not int:
        return None
    if (found := frame(x.shape, index.shape, dim)) is None:
        return None
    outer, n, m, inner, shape = found
    low = -n if negative else 0
    out = np.empty(shape, x.dtype)
    if inner == 1:
        blocks = -(-m // PIECE)
        done = take_elements.run(out, x, index, low, n, m, blocks, outer * blocks, min(m, PIECE))
    else:
        done = take_rows.run(out, x, index, low, n, m, inner, outer * m, inner)
    return out if done else None


def taken(x: np.ndarray, index: np.ndarray) -> np.ndarray | None:
    """The elements that an index names as if the array had one dimension; those from the end by negative numbers."""
    n, m = x.size, index.size
    if x.__class__ is not np.ndarray or not n or not m:
        return None
    out, blocks = np.empty(index.shape, x.dtype), -(-m // PIECE)
    return out if take_elements.run(out, x, index, -n, n, m, blocks, blocks, min(m, PIECE)) else None


def gather(x: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray | None:
    """The elements that an index names along a dimension."""
    if x.__class__ is not np.ndarray or dim.__class__ is not int or (found := frame_along(x.shape, index.shape, dim)) is None:
        return None
    outer, n, m, inner, width, _ = found
    out = np.empty(index.shape, x.dtype)
    if width == 1:
        blocks = -(-m // PIECE)
        done = gather_elements.run(out, x, index, n, m, blocks, outer * blocks, min(m, PIECE))
    else:
        done = gather_rows.run(out, x, index, n, m, inner, width, outer * m, inner)
    return out if done else None


# ---- several indices ----------------------------------------------------------------------------------------------------------------


@loop(kinds=("i64",))
def join_two(joined: Out, first: Ints, second: Ints, stray: Mark, n: int, m: int, size: int, blocks: range) -> None:
    """Places in rows of `m` columns, counted in one line."""
    for block in blocks:
        begin = block * PIECE
        end = min(begin + PIECE, size)
        if strays(first, begin, end, -n, n) | strays(second, begin, end, -m, m):
            stray[0] = 1
        else:
            for i in range(begin, end):
                joined[i] = (first[i] + (n if first[i] < 0 else 0)) * m + second[i] + (m if second[i] < 0 else 0)


@loop(kinds=("i64",))
def count_from_front(out: Out, index: Floats, n: int, size: int, blocks: range) -> None:
    for block in blocks:
        for i in range(block * PIECE, min(block * PIECE + PIECE, size)):
            out[i] = index[i] + (n if index[i] < 0 else 0)


def counted(index: np.ndarray, n: int) -> np.ndarray | None:
    """An index without negative numbers, which count from the end."""
    out, size = np.empty(index.shape, INT64), index.size
    return out if size and count_from_front.run(out, np.ascontiguousarray(index), n, size, -(-size // PIECE), min(size, PIECE)) else None


def join(indices: tuple[np.ndarray, ...], shape: Shape) -> np.ndarray | None:
    """One index for the first dimensions, which have an index each, taken as one; None where NumPy has to find the places."""
    whole, n = indices[0], shape[0]
    for index, m in zip(indices[1:], shape[1:], strict=False):
        size = index.size
        if index.shape != whole.shape or not size:
            return None
        joined = np.empty(whole.shape, INT64)
        if not join_two.run(joined, whole, index, n, m, size, -(-size // PIECE), min(size, PIECE)):
            return None
        whole, n = joined, n * m
    return whole


# ---- classes ------------------------------------------------------------------------------------------------------------------------


@loop(kinds=("i64",))
def mark_rows(out: Out, index: Ints, stray: Mark, n: int, rows: range) -> None:
    """Rows of zeros with a one each."""
    for row in rows:
        at = row * n
        for j in range(at, at + n):
            out[j] = 0
        if index[row] >= 0 and index[row] < n:
            out[at + index[row]] = 1
        else:
            stray[0] = 1


def marks(index: np.ndarray, n: int) -> np.ndarray | None:
    """A row of `n` zeros with a one for each index; None if an index is out of bounds, or NumPy has to do it."""
    out = np.empty((*index.shape, n), INT64)
    return out if mark_rows.run(out, index, n, index.size, n) else None


# ---- writing ------------------------------------------------------------------------------------------------------------------------


@template()
def write_rows(
    out: Out, base: Floats, source: Floats, index: Ints, stray: Mark, scale: float, skipped: int, low: int, n: int, m: int, inner: int,
    begin: int, take: int, ranges: int, units: range,
) -> None:  # fmt: skip
    """A unit has `take` rows of a matrix, which may `begin` as zeros or as those of `base`. The row `skipped` is not written to. If one
    index is out of bounds, nothing is written."""
    for unit in units:
        matrix = unit // ranges
        first = unit % ranges * take
        last = min(first + take, n)
        factor = narrow(scale)
        if strays(index, 0, m, low, n):
            stray[0] = 1
        else:
            if begin == ZEROS:
                for j in range((matrix * n + first) * inner, (matrix * n + last) * inner):
                    out[j] = 0.0
            if begin == COPY:
                for j in range((matrix * n + first) * inner, (matrix * n + last) * inner):
                    out[j] = base[j]
            for k in range(m):
                row = index[k]
                row = row + n if row < 0 else row
                if row >= first and row < last and row != skipped:
                    to = (matrix * n + row) * inner
                    at = (matrix * m + k) * inner
                    for j in range(inner):
                        out[to + j] = combined(out[to + j], factor * source[at + j])


@template()
def write_elements(
    out: Out, base: Floats, source: Floats, index: Ints, stray: Mark, scale: float, skipped: int, low: int, n: int, m: int, begin: int,
    units: range,
) -> None:  # fmt: skip
    """The same for one column."""
    for unit in units:
        factor = narrow(scale)
        if strays(index, 0, m, low, n):
            stray[0] = 1
        else:
            if begin == ZEROS:
                for j in range(unit * n, unit * n + n):
                    out[j] = 0.0
            if begin == COPY:
                for j in range(unit * n, unit * n + n):
                    out[j] = base[j]
            for k in range(m):
                row = index[k]
                row = row + n if row < 0 else row
                if row != skipped:
                    out[unit * n + row] = combined(out[unit * n + row], factor * source[unit * m + k])


@template(kinds=(*FLOATS, "i64"))
def scatter_rows(
    out: Out, base: Floats, source: Floats, index: Ints, stray: Mark, ahead: int, n: int, m: int, inner: int, width: int, blocks: int,
    begin: int, units: range,
) -> None:  # fmt: skip
    """So many indices are looked at ahead of all others: all of them, if there are few and the array is not fresh."""
    if strays(index, 0, ahead, 0, n):
        stray[0] = 1
    else:
        for unit in units:
            left = unit % blocks * COLUMNS
            right = min(left + COLUMNS, inner)
            to = unit // blocks * n * width
            if begin == COPY:
                for k in range(n):
                    for j in range(to + k * width + left, to + k * width + right):
                        out[j] = base[j]
            for k in range(m):
                at = (unit // blocks * m + k) * inner
                if strays(index, at + left, at + right, 0, n):
                    stray[0] = 1
                else:
                    for j in range(left, right):
                        place = to + index[at + j] * width + j
                        out[place] = combined(out[place], source[at + j])


@template(kinds=(*FLOATS, "i64"))
def scatter_elements(
    out: Out, base: Floats, source: Floats, index: Ints, stray: Mark, ahead: int, n: int, m: int, begin: int, units: range
) -> None:
    """The same for one column."""
    if strays(index, 0, ahead, 0, n):
        stray[0] = 1
    else:
        for unit in units:
            first = unit * m
            if begin == COPY:
                for j in range(unit * n, unit * n + n):
                    out[j] = base[j]
            if strays(index, first, first + m, 0, n):
                stray[0] = 1
            else:
                for k in range(first, first + m):
                    place = unit * n + index[k]
                    out[place] = combined(out[place], source[k])


@loop
def fill_rows(out: Out, index: Ints, stray: Mark, value: float, n: int, m: int, inner: int, units: range) -> None:
    """One number in the rows that an index names, of each matrix. If an index is out of bounds, nothing is written."""
    number = narrow(value)
    for unit in units:
        if strays(index, 0, m, -n, n):
            stray[0] = 1
        else:
            for k in range(m):
                row = index[k]
                row = row + n if row < 0 else row
                to = (unit * n + row) * inner
                for j in range(to, to + inner):
                    out[j] = number


@loop
def fill_places(
    out: Out, index: Ints, stray: Mark, value: float, ahead: int, n: int, m: int, inner: int, width: int, rows: range
) -> None:
    """One number where each index names a row: `m` for each column of a matrix. So many of them are looked at, before anything is written;
    the others are known to be within bounds."""
    number = narrow(value)
    if strays(index, 0, ahead, 0, n):
        stray[0] = 1
    else:
        for row in rows:
            to = row // m * n * width
            at = row * inner
            for j in range(inner):
                out[to + index[at + j] * width + j] = number


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


@lru_cache(1024)
def shares(outer: int, n: int, m: int, inner: int) -> tuple[int, int]:
    """How many rows of a matrix a unit has, and how many units a matrix: each of them looks at all indices."""
    wanted = min(SHARES, (n + m) * inner // SHARE) if outer < SHARES and inner >= NARROW else 1
    take = -(-n // max(1, wanted))
    return take, -(-n // take)


class Writing:
    """A way to combine what is there with what comes, and its kernels."""

    def __init__(self, name: str, combined: Any) -> None:
        self.rows: Loop = write_rows(f"{name}_rows", combined=combined)
        self.elements: Loop = write_elements(f"{name}_elements", combined=combined)
        self.scattered_rows: Loop = scatter_rows(f"scatter_{name}_rows", combined=combined)
        self.scattered_elements: Loop = scatter_elements(f"scatter_{name}_elements", combined=combined)

    def at_rows(
        self, out: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, scale: float = 1.0, skipped: int = -1,
        negative: bool = False, base: np.ndarray | None = None, begin: int = KEEP,
    ) -> bool | None:  # fmt: skip
        """Write rows of `source`, multiplied by `scale`, where an index names rows of `out`."""
        if dim.__class__ is not int or (found := frame(out.shape, index.shape, dim)) is None:
            return None
        outer, n, m, inner, _ = found
        if source.size != outer * m * inner:
            return None
        base = source if base is None else base
        low = -n if negative else 0
        if inner == 1:
            work = m if begin == KEEP else m + n
            return self.elements.run(out, base, source, index, scale, skipped, low, n, m, begin, outer, work)
        take, ranges = shares(outer, n, m, inner)
        work = (m // ranges + 1 if begin == KEEP else m // ranges + take) * inner
        units = outer * ranges
        return self.rows.run(out, base, source, index, scale, skipped, low, n, m, inner, begin, take, ranges, units, work)

    def into_zeros(
        self, shape: Shape, dim: int, index: np.ndarray, source: np.ndarray, skipped: int = -1, negative: bool = False
    ) -> np.ndarray | None:
        """The same in an array of zeros."""
        if source.__class__ is not np.ndarray:
            return None
        out = np.empty(shape, source.dtype)
        return out if self.at_rows(out, dim, index, source, 1.0, skipped, negative, None, ZEROS) else None

    def into_copy(
        self, base: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, scale: float = 1.0, negative: bool = False
    ) -> np.ndarray | None:
        """The same in a copy."""
        if base.__class__ is not np.ndarray:
            return None
        out = np.empty(base.shape, base.dtype)
        return out if self.at_rows(out, dim, index, source, scale, -1, negative, base, COPY) else None

    def along(
        self, out: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, fresh: bool = False, base: np.ndarray | None = None
    ) -> bool | None:
        """Write each element of `source` where its index names a row of `out`, which may begin as a copy of `base`."""
        if dim.__class__ is not int or (found := frame_along(out.shape, index.shape, dim)) is None:
            return None
        if (used := first_of(source, index.shape)) is None:
            return None
        source = used
        outer, n, m, inner, width, whole = found
        begin = KEEP
        if base is None:
            base = source
        elif whole:
            begin = COPY
        else:
            out[...] = base
        ahead = 0 if fresh else index.size
        if ahead > ALONE:
            if not within(index, 0, n, source):
                return None
            ahead = 0
        if width == 1:
            return self.scattered_elements.run(out, base, source, index, ahead, n, m, begin, outer, m)
        blocks = -(-inner // COLUMNS)
        work = m * min(inner, COLUMNS)
        return self.scattered_rows.run(out, base, source, index, ahead, n, m, inner, width, blocks, begin, outer * blocks, work)

    def copied_along(self, base: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray | None:
        """The same in a copy."""
        if base.__class__ is not np.ndarray:
            return None
        out = np.empty(base.shape, base.dtype)
        return out if self.along(out, dim, index, source, True, base) else None


def filled(out: np.ndarray, dim: int, index: np.ndarray, value: float) -> bool | None:
    """Write one number into the rows that an index names. None, and nothing is written, where NumPy has to."""
    if (found := frame(out.shape, index.shape, dim)) is None:
        return None
    outer, n, m, inner, _ = found
    return fill_rows.run(out, index, value, n, m, inner, outer, m * inner)


def filled_along(out: np.ndarray, dim: int, index: np.ndarray, value: float) -> bool | None:
    """Write one number where each index names a row."""
    if dim.__class__ is not int or (found := frame_along(out.shape, index.shape, dim)) is None:
        return None
    outer, n, m, inner, width, _ = found
    ahead = index.size
    if ahead > ALONE:
        if m > 1:  # rows of a matrix would be written to by several threads
            return put.along(out, dim, index, np.full(index.shape, value, out.dtype))
        if not within(index, 0, n, out):
            return None
        ahead = 0
    return fill_places.run(out, index, value, ahead, n, m, inner, width, outer * m, inner)


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
def find_strays(like: Floats, index: Ints, stray: Mark, low: int, high: int, count: int, blocks: range) -> None:
    for block in blocks:
        if strays(index, block * PIECE, min(block * PIECE + PIECE, count), low, high):
            stray[0] = 1


def within(index: np.ndarray, low: int, high: int, like: np.ndarray) -> bool | None:
    """Whether all indices are at least `low` and below `high`; None if no kernel can tell."""
    count = index.size
    return find_strays.run(like, index, low, high, count, -(-count // PIECE), min(count, PIECE))
