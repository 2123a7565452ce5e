"""Numbers at equal distances, in single precision: the arithmetic of `_ranges.py`; and the places of triangles."""

from __future__ import annotations

import numpy as np

from .loops import Out, loop, narrow, wide

LANES = 8  # numbers in 32 bytes


@loop(kinds=("f32",))
def linear(out: Out, first: float, last: float, step: float, count: int, places: range) -> None:
    """From `first` on in the lower half, down from `last` in the upper."""
    for i in places:
        lower, back = i < count // 2, count - 1 - i
        out[i] = narrow(first + step * i if lower else last - step * back)


@loop(kinds=("f32",))
def stepped(out: Out, first: float, step: float, whole: int, places: range) -> None:
    """From `first` on; of the `whole` vectors in the beginning all numbers but the first are computed from that one, rounded."""
    for i in places:
        lane = i % LANES
        start = wide(narrow(first + step * (i - lane)))
        out[i] = narrow(start + step * lane if i < whole else first + step * i)


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
    below = _lower_count(rows, columns, diagonal - upper)
    count = rows * columns - below if upper else below
    out = np.empty((2, count), np.int64)
    return out if triangle_places.run(out, columns, diagonal, int(upper), count, rows, 1, 2 * count + 1) else None


def _lower_count(rows: int, columns: int, diagonal: int) -> int:
    """How many elements are on a diagonal or below: rows that have none, then one more each, then all."""
    first = min(max(0, -diagonal), rows)
    full = min(max(columns - diagonal, first), rows)
    return (full - first) * (first + full + 1 + 2 * diagonal) // 2 + (rows - full) * columns
