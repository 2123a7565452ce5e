"""Elements that are found: where the largest or smallest of each column is, what is there, and gradients that go back there.

An array is seen as `outer` matrices of `n` rows and `inner` columns, as in axes.py.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .axes import Along, dense, matrices, plan, suits
from .loops import FLOATS, HALVES, Floats, Ints, Out, Part, given, loop, maximum, narrow, part, room, select, template
from .reduce_loops import highest, larger, lowest, smaller

SPAN = 256  # elements of a row whose best is found at once, before its place is looked for
PIECE = 8192  # elements of a row that are one piece of work, where it is longer than LONG
LONG = 16384
TILE = 256  # columns at a time
COUNTABLE = 1 << 24  # whole numbers below this are exact in float32

INT64 = np.dtype("int64")

worst = better = reaches = given

# ---- the place of the best element --------------------------------------------------------------------------------------------------


@template(reorder=True, kinds=(*FLOATS, *HALVES, "i64", "i32", "i16", "i8", "u8"))
def place_along_rows(
    place: Ints, x: Floats, best: Out, p: float, n: int, inner: int, take: int, blocks: int, units: range
) -> None:
    """The first place of the best element of each piece of a row. NaN is better than everything."""
    for unit in units:
        row = unit // blocks
        first = row * n + unit % blocks * take
        last = min(first + take, row * n + n)
        top = worst()
        where = first
        for begin in range(first, last, SPAN):
            found = worst()
            for j in range(begin, min(begin + SPAN, last)):
                found = better(found, x[j])
            if better(found, top) != top:
                top = found
                where = begin
            if found != found:
                break
        while x[where] != top and x[where] == x[where]:
            where += 1
        best[unit] = x[where]
        place[unit] = where - row * n


@template(reorder=True, kinds=(*FLOATS, *HALVES, "i64", "i32"))
def place_down_columns(
    place: Ints, x: Floats, best: Out, p: float, n: int, inner: int, results: int, tiles: int, units: range
) -> None:
    """The first place of the best element of each column. Places are counted in the type of the elements."""
    for unit in units:
        matrix = unit // tiles
        left = unit % tiles * TILE
        width = min(TILE, inner - left)
        to = matrix * inner + left
        start = matrix * n * inner + left
        tops = room(TILE)
        found = room(TILE)
        for j in range(width):
            tops[j] = x[start + j]
            found[j] = 0.0
        for i in range(1, n):
            at = start + i * inner
            number = narrow(i)
            for j in range(width):
                old = tops[j]
                new = better(x[at + j], old)
                changed = (new != old) & (old == old)
                tops[j] = new
                found[j] = maximum(select(changed, number, 0.0), found[j])  # numbers grow
        for j in range(width):
            place[to + j] = int(found[j])


class Place(Along):
    """A search for the place of an extreme element, in each slice along an axis, or in all for None. The option keeps the axis."""

    kind, limits = "place", (COUNTABLE, LONG, TILE)

    def __init__(self, name: str, worst: Part, better: Part, of_blocks: Any) -> None:
        down = place_down_columns(f"{name}_down_columns", worst=worst, better=better)
        super().__init__(name, (down, place_along_rows(f"{name}_along_rows", worst=worst, better=better)))
        self.of_blocks = of_blocks

    def by_python(self, x: np.ndarray, axis: Any, option: bool) -> np.ndarray | None:
        if x.__class__ is not np.ndarray:
            return None
        found = cut(x.shape, axis, option)
        if found is None:
            return None
        x = dense(x)
        shape, size, n, inner, units, work, blocks = found
        along = inner == 1
        place, best = np.empty(shape if blocks == 1 or not along else size, INT64), np.empty(size if along else 1, x.dtype)
        if not self.kernels[along].run(place, x, best, 1.0, n, inner, work if along else size, blocks, units, work):
            return None
        self.learn(x, place, along)
        if blocks == 1 or not along:
            return place
        best = best.reshape(-1, blocks)
        return np.take_along_axis(place.reshape(-1, blocks), self.of_blocks(best, axis=1, keepdims=True), axis=1).reshape(shape)


@lru_cache(4096)
def cut(shape: tuple[int, ...], axis: int | None, keepdim: bool) -> tuple[Any, ...] | None:
    """The shape of the result and how the search is cut: (shape, numbers to remember, n, inner, units, elements of a unit, blocks)."""
    found = matrices(shape, axis)
    if found is None or not math.prod(shape):
        return None
    outer, n, inner = found
    result, _ = plan(shape, axis, keepdim)
    if inner > 1:
        tiles = -(-inner // TILE)
        return (result, outer * inner, n, inner, outer * tiles, n * min(inner, TILE), tiles) if n <= COUNTABLE else None
    take = PIECE if n > LONG else n
    blocks = -(-n // take)
    return result, outer * blocks, n, 1, outer * blocks, take, blocks


argmax = Place("argmax", lowest, larger, np.argmax)
argmin = Place("argmin", highest, smaller, np.argmin)


# ---- running extremes ---------------------------------------------------------------------------------------------------------------


@part
def at_least(x: Any, top: Any) -> Any:
    return x >= top


@part
def at_most(x: Any, top: Any) -> Any:
    return x <= top


@template()
def records(place: Ints, x: Floats, best: Out, n: int, inner: int, tiles: int, units: range) -> None:
    """The best element so far and where it stands, in each column: the last of several, and NaN beats everything. A unit is a tile of
    columns, which are followed side by side."""
    for unit in units:
        left = unit % tiles * TILE
        width = min(TILE, inner - left)
        start = unit // tiles * n * inner + left
        if inner == 1:
            top = x[start]
            where = 0
            for i in range(n):
                new = reaches(x[start + i], top) | (x[start + i] != x[start + i])
                top = select(new, x[start + i], top)
                where = select(new, i, where)
                best[start + i] = top
                place[start + i] = where
        else:
            for j in range(width):
                best[start + j] = x[start + j]
                place[start + j] = 0
            for i in range(1, n):
                at = start + i * inner
                for j in range(width):
                    value = x[at + j]
                    top = best[at - inner + j]
                    new = reaches(value, top) | (value != value)
                    best[at + j] = select(new, value, top)
                    place[at + j] = select(new, i, place[at - inner + j])


highs = records("cummax", reaches=at_least)
lows = records("cummin", reaches=at_most)


def running_best(x: np.ndarray, axis: int, largest: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """The records along an axis, and their places."""
    if x.__class__ is not np.ndarray or x.dtype.char not in "fd" or (found := matrices(x.shape, axis)) is None:
        return None
    outer, n, inner = found
    x = x if x.flags.c_contiguous else dense(x)
    place, best = np.empty(x.shape, INT64), np.empty(x.shape, x.dtype)
    tiles = -(-inner // TILE)
    kernel = highs if largest else lows
    return (best, place) if n and kernel.run(place, x, best, n, inner, tiles, outer * tiles, n * min(inner, TILE)) else None


# ---- what is there, and back --------------------------------------------------------------------------------------------------------


@loop
def take_at(out: Out, x: Floats, place: Ints, n: int, inner: int, k: int, rows: range) -> None:
    """Row by row of `k` to each matrix, the elements at a place in each column."""
    for row in rows:
        matrix = row // k * n * inner
        at = row * inner
        for j in range(inner):
            out[at + j] = x[matrix + min(max(place[at + j], 0), n - 1) * inner + j]


@loop
def take_along(out: Out, x: Floats, place: Ints, n: int, k: int, rows: range) -> None:
    """`take_at` for one column."""
    for row in rows:
        for j in range(row * k, row * k + k):
            out[j] = x[row * n + min(max(place[j], 0), n - 1)]


@loop
def put_back(out: Out, g: Floats, place: Ints, n: int, inner: int, k: int, matrices: range) -> None:
    """Zeros, to which numbers are added at `k` places of each column."""
    for matrix in matrices:
        at = matrix * n * inner
        for j in range(at, at + n * inner):
            out[j] = 0.0
        for i in range(matrix * k, matrix * k + k):
            for j in range(inner):
                where = place[i * inner + j]
                if where >= 0 and where < n:
                    out[at + where * inner + j] += g[i * inner + j]


@loop
def put_one_back(out: Out, g: Floats, place: Ints, n: int, inner: int, rows: range) -> None:
    """The same for one place of each column, row by row."""
    for row in rows:
        matrix = row // n * inner
        number = row % n
        for j in range(inner):
            out[row * inner + j] = select(place[matrix + j] == number, g[matrix + j], 0.0)


def taken(x: np.ndarray, place: np.ndarray, axis: int) -> np.ndarray | None:
    """The elements of `x` at some places of each slice along an axis, in the shape of the places."""
    if not suits(x) or place.__class__ is not np.ndarray:
        return None
    found = matrices(x.shape, axis)
    if found is None:
        return None
    outer, n, inner = found
    if not x.size or place.size % (outer * inner):
        return None
    out = np.empty(place.shape, x.dtype)
    k = out.size // (outer * inner)
    if inner == 1:  # rows of k elements, not k rows of one: the same memory, and more to do at a time
        return out if take_along.run(out, x, place, n, k, outer, k) else None
    return out if take_at.run(out, x, place, n, inner, k, outer * k, inner) else None


def returned(g: np.ndarray, place: np.ndarray, axis: int, shape: tuple[int, ...]) -> np.ndarray | None:
    """Zeros of a shape, to which `g` is added at some places of each slice along an axis."""
    if not suits(g) or place.__class__ is not np.ndarray:
        return None
    found = matrices(shape, axis)
    if found is None:
        return None
    outer, n, inner = found
    if not math.prod(shape) or place.size != g.size or g.size % (outer * inner):
        return None
    k = g.size // (outer * inner)
    out = np.empty(shape, g.dtype)
    if k == 1 and inner > 1:
        return out if put_one_back.run(out, g, place, n, inner, outer * n, inner) else None
    return out if put_back.run(out, g, place, n, inner, k, outer, (n + k) * inner) else None
