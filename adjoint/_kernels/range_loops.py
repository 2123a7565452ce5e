"""Numbers at equal distances, in single precision: the arithmetic of `_ranges.py`; and the places of triangles."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .loops import Out, loop, narrow, wide

LANES = 8  # numbers in 32 bytes


@loop(kinds=("f32",))
def linear(out: Out, first: float, last: float, count: int, places: range) -> None:
    """From `first` on in the lower half, down from `last` in the upper. The distance is that of the rounded ends, rounded."""
    low, high = narrow(first), narrow(last)
    step = wide((high - low) / narrow(max(count - 1, 1)))
    for i in places:
        lower, back = i < count // 2, count - 1 - i
        out[i] = narrow(wide(low) + step * i if lower else wide(high) - step * back)


@loop(kinds=("f32",))
def stepped(out: Out, first: float, step: float, whole: int, places: range) -> None:
    """From `first` on; of the `whole` vectors in the beginning all numbers but the first are computed from that one, rounded."""
    for i in places:
        lane = i % LANES
        start = wide(narrow(first + step * (i - lane)))
        out[i] = narrow(start + step * lane if i < whole else first + step * i)


@loop(kinds=("f32",))
def exact(out: Out, first: float, step: float, places: range) -> None:
    """From `first` on, in steps that need no rounding."""
    for i in places:
        out[i] = narrow(first + step * i)


@loop(kinds=("i64",))
def triangle_places(out: Out, columns: int, diagonal: int, upper: int, count: int, rows: int, once: range) -> None:
    """The rows, and after `count` of them the columns, of the elements up to a diagonal, or with `upper` from it on."""
    for _ in once:
        at = 0
        for row in range(rows):
            edge = max(0, min(columns, row + diagonal + 1 - upper))
            for column in range(edge if upper else 0, columns if upper else edge):
                out[at] = row
                out[count + at] = column
                at = at + 1


def triangle(rows: int, columns: int, diagonal: int, upper: bool) -> np.ndarray | None:
    """The places of a triangle: rows first, then columns. None where NumPy has to find them."""
    count = _count(rows, columns, diagonal, upper)
    out = np.empty((2, count), np.int64)
    return out if triangle_places.run(out, columns, diagonal, int(upper), count, rows, 1, 2 * count + 1) else None


@lru_cache(256)
def _count(rows: int, columns: int, diagonal: int, upper: bool) -> int:
    """How many elements there are: below come rows that have none, then one more each, then all; above are the others."""
    last = diagonal - upper
    first = min(max(0, -last), rows)
    full = min(max(columns - last, first), rows)
    below = (full - first) * (first + full + 1 + 2 * last) // 2 + (rows - full) * columns
    return rows * columns - below if upper else below
