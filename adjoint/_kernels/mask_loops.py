"""What a mask selects: where it is true, the elements there, and elements put there.

A large mask is cut into blocks. The first pass counts in each of them, so that the second knows where its results begin.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .loops import FLOATS, HALVES, WHOLE, Bools, Floats, Ints, Out, given, loop, narrow, part, room, select, template

BLOCK = 8192  # elements of a mask that are one piece of work
STRETCH = 512  # elements at a time, which stay in the nearest cache
INT64 = np.dtype(np.int64)
ALL = (*FLOATS, *HALVES, *WHOLE)

elsewhere = given


@loop(kinds=ALL)
def count_true(counts: Ints, mask: Floats, size: int, blocks: range) -> None:
    """How many there are in each block, after a zero."""
    for block in blocks:
        found = 0
        if block == 0:
            counts[0] = 0
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, size)):
            found += 1 if mask[i] != 0.0 else 0
        counts[block + 1] = found


@loop(kinds=ALL)
def true_places(places: Ints, mask: Floats, starts: Ints, sizes: Ints, ndim: int, blocks: range) -> None:
    """The index of each element that is not zero, as a row of `ndim` numbers. Not past the last one: nothing else is written then."""
    for block in blocks:
        i = block * BLOCK
        found = starts[block]
        end = starts[block + 1]
        if ndim == 1:
            while found < end:
                places[found] = i
                found += 1 if mask[i] != 0.0 else 0
                i += 1
        elif ndim == 2:
            width = sizes[1]
            row = i // width
            column = i % width
            while found < end:
                places[2 * found] = row
                places[2 * found + 1] = column
                found += 1 if mask[i] != 0.0 else 0
                i += 1
                column += 1
                row += 1 if column == width else 0
                column = 0 if column == width else column
        else:
            while found < end:
                if mask[i] != 0.0:
                    rest = i
                    for d in range(ndim - 1, -1, -1):
                        places[found * ndim + d] = rest % sizes[d]
                        rest = rest // sizes[d]
                    found += 1
                i += 1


@loop(kinds=ALL)
def take_true(out: Out, x: Floats, mask: Bools, starts: Ints, blocks: range) -> None:
    """The elements where the mask is true."""
    for block in blocks:
        i = block * BLOCK
        found = starts[block]
        end = starts[block + 1]
        while found < end:
            out[found] = x[i]
            found += 1 if mask[i] else 0
            i += 1


@loop
def fill_true(out: Floats, mask: Bools, value: float, size: int, blocks: range) -> None:
    number = narrow(value)
    for block in blocks:
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, size)):
            out[i] = select(mask[i], number, out[i])


# Writing values takes two steps for each stretch: the next value for every place, and then a choice, which is vectorised.


@template(kinds=ALL)
def place(out: Out, values: Floats, mask: Bools, starts: Ints, last: int, size: int, blocks: range) -> None:
    """The values, in order, where the mask is true, and what `elsewhere` makes of the rest of `out`."""
    for block in blocks:
        found = starts[block]
        after = min(block * BLOCK + BLOCK, size)
        for begin in range(block * BLOCK, after, STRETCH):
            width = min(STRETCH, after - begin)
            coming = room(STRETCH)
            for i in range(width):
                coming[i] = values[min(found, last)]
                found += 1 if mask[begin + i] else 0
            for i in range(width):
                out[begin + i] = select(mask[begin + i], coming[i], elsewhere(out[begin + i]))


@part
def as_it_was(element: Any) -> Any:
    return element


@part
def nothing(element: Any) -> Any:
    return narrow(0.0)


put_true = place("put_true", elsewhere=as_it_was)
spread_true = place("spread_true", elsewhere=nothing)


FIRST = np.zeros(1, INT64)  # where the values of a single block begin


def starts_of(mask: np.ndarray) -> np.ndarray | None:
    """Where the results of each block begin, and at the end how many there are; None where NumPy has to do it."""
    size = mask.size
    blocks = -(-size // BLOCK)
    starts = np.empty(blocks + 1, INT64)
    if not size or not count_true.run(starts, mask, size, blocks, min(size, BLOCK)):
        return None
    return starts if blocks == 1 else np.add.accumulate(starts, out=starts)


@lru_cache(1024)
def sizes_of(shape: tuple[int, ...]) -> np.ndarray:
    return np.array(shape, INT64)


def places(x: np.ndarray) -> np.ndarray | None:
    """The indices of the elements that are not zero, a row for each."""
    if x.__class__ is not np.ndarray or not x.shape or (starts := starts_of(x)) is None:
        return None
    found = np.empty((starts[-1], x.ndim), INT64)
    return found if true_places.run(found, x, starts, sizes_of(x.shape), x.ndim, len(starts) - 1, min(x.size, BLOCK)) else None


def taken(x: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """The elements of `x` where a mask of the same shape is true."""
    if x.__class__ is not np.ndarray or x.shape != mask.shape or (starts := starts_of(mask)) is None:
        return None
    found = np.empty(starts[-1], x.dtype)
    return found if take_true.run(found, x, mask, starts, len(starts) - 1, min(x.size, BLOCK)) else None


def filled(out: np.ndarray, mask: np.ndarray, value: float) -> bool | None:
    """Write one number where a mask of the same shape is true."""
    size = out.size
    return fill_true.run(out, mask, value, size, -(-size // BLOCK), min(size, BLOCK)) if size else None


def written(out: np.ndarray, mask: np.ndarray, values: np.ndarray) -> bool | None:
    """Write values, in order, where a mask of the same shape is true. None, and nothing is written, if there are too few of them, or where
    NumPy has to."""
    if out.__class__ is not np.ndarray or out.shape != mask.shape:
        return None
    size, given = out.size, values.size
    if 0 < size <= BLOCK and given >= size:  # enough, however many are true
        return put_true.run(out, values, mask, FIRST, given - 1, size, 1, size)
    if (starts := starts_of(mask)) is None or given < starts[-1]:
        return None
    if not starts[-1]:
        return True
    return put_true.run(out, values, mask, starts, given - 1, size, len(starts) - 1, min(size, BLOCK))


def spread(values: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """Zeros, with values, in order, where a mask is true."""
    if values.__class__ is not np.ndarray or not values.size or (starts := starts_of(mask)) is None or values.size != starts[-1]:
        return None
    out = np.empty(mask.shape, values.dtype)
    size = out.size
    return out if spread_true.run(out, values, mask, starts, values.size - 1, size, len(starts) - 1, min(size, BLOCK)) else None
