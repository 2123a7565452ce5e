"""Searching and counting: whether arrays are equal, where values belong in sorted ones, which are among others, how many are where."""

from __future__ import annotations

from typing import Any

import numpy as np

from .loops import FLOATS, HALVES, WHOLE, Bools, Floats, Ints, Loop, Out, given, loop, part, select, template, wide

BLOCK = 8192  # elements that are one piece of work
GLANCE = 256  # elements that are compared before it is decided whether to go on
STRETCH = 64  # values that are searched for at a time
PARTS = 8  # pieces in which values are counted at most
FEW = 24  # values that are compared one by one with each element
INT64, BOOL = np.dtype(np.int64), np.dtype(bool)
NUMBERS = (*FLOATS, *HALVES, *WHOLE)


is_behind = given


# ---- equality -----------------------------------------------------------------------------------------------------------------------


@loop(kinds=NUMBERS)
def find_difference(x: Floats, y: Floats, differs: Ints, size: int, blocks: range) -> None:
    """`differs` becomes 1. Blocks are passed over when it is."""
    for block in blocks:
        if differs[0] == 0:
            end = min(block * BLOCK + BLOCK, size)
            for first in range(block * BLOCK, end, GLANCE):
                found = 0
                for i in range(first, min(first + GLANCE, end)):
                    found = found | (1 if x[i] != y[i] else 0)
                if found:
                    differs[0] = 1
                    break


def equal(x: np.ndarray, y: np.ndarray) -> bool | None:
    """Whether all elements of two arrays of one shape are equal; None where NumPy has to say it."""
    size = x.size
    differs = np.zeros(1, INT64)
    if not size or not find_difference.run(x, y, differs, size, -(-size // BLOCK), min(size, BLOCK)):
        return None
    return not differs[0]


# ---- in sorted sequences ------------------------------------------------------------------------------------------------------------


@part
def at_least(element: Any, value: Any) -> Any:
    return element >= value


@part
def above(element: Any, value: Any) -> Any:
    return element > value


@template(kinds=NUMBERS)
def search_rows(found: Ints, sequence: Floats, values: Floats, n: int, m: int, blocks: int, units: range) -> None:
    """How many elements of a sorted row of `n` stand before each of `m` values. Many values take a step at a time, all as many steps: no
    step waits for another, and there are no branches."""
    for unit in units:
        row = unit // blocks * n
        end = unit // blocks * m + min(unit % blocks * BLOCK + BLOCK, m)
        for first in range(unit // blocks * m + unit % blocks * BLOCK, end, STRETCH):
            last = min(first + STRETCH, end)
            for i in range(first, last):
                found[i] = 0
            count = n
            while count > 1:
                half = count // 2
                middle = row + half - 1
                for i in range(first, last):
                    found[i] += select(is_behind(sequence[middle + found[i]], values[i]), 0, half)
                count -= half
            for i in range(first, last):
                found[i] += select(is_behind(sequence[row + found[i]], values[i]), 0, 1)


search_left = search_rows("search_left", is_behind=at_least)
search_right = search_rows("search_right", is_behind=above)


def insertion_places(sequence: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray | None:
    """Where values would have to be inserted: into the one sequence, or each row of values into a row of sequences."""
    if values.__class__ is not np.ndarray or not values.size or not sequence.size:
        return None
    n = sequence.shape[-1]
    rows = sequence.size // n
    m = values.size // rows
    blocks = -(-m // BLOCK)
    found = np.empty(values.shape, INT64)
    work = min(m, BLOCK) * n.bit_length()
    kernel = search_right if right else search_left
    return found if kernel.run(found, sequence, values, n, m, blocks, rows * blocks, work) else None


# ---- among others -------------------------------------------------------------------------------------------------------------------


@loop(kinds=NUMBERS)
def compare_each(found: Bools, x: Floats, others: Floats, m: int, size: int, blocks: range) -> None:
    for block in blocks:
        first = block * BLOCK
        last = min(first + BLOCK, size)
        for i in range(first, last):
            found[i] = x[i] == others[0]
        for k in range(1, m):
            other = others[k]
            for i in range(first, last):
                found[i] = found[i] | (x[i] == other)


@loop(kinds=NUMBERS)
def compare_one(found: Bools, x: Floats, others: Floats, places: Ints, m: int, size: int, blocks: range) -> None:
    """The same where it is known which of the others to look at."""
    for block in blocks:
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, size)):
            found[i] = others[min(places[i], m - 1)] == x[i]


def among(x: np.ndarray, others: np.ndarray) -> np.ndarray | None:
    """Whether each element is one of the others; None where NumPy has to say it."""
    size, m = x.size, others.size
    if not size or not m:
        return None
    found = np.empty(x.shape, BOOL)
    blocks, width = -(-size // BLOCK), min(size, BLOCK)
    if m <= FEW:
        return found if compare_each.run(found, x, others, m, size, blocks, width * m) else None
    others = np.sort(others, axis=None)
    places = insertion_places(others, x, False)
    return found if places is not None and compare_one.run(found, x, others, places, m, size, blocks, width) else None


# ---- in runs ------------------------------------------------------------------------------------------------------------------------


@loop(kinds=NUMBERS)
def find_runs(values: Out, number: Ints | None, lengths: Ints | None, total: Ints, x: Floats, size: int, once: range) -> None:
    """Of runs of equal elements: the first element of each, the number of the run of each element, the lengths of the runs, and how many
    there are."""
    for _ in once:
        count = 0
        begin = 0
        values[0] = x[0]
        if number is not None:
            number[0] = 0
        if lengths is not None:
            lengths[0] = 1
        for i in range(1, size):
            values[count + 1] = x[i]  # which stays there only if the next run begins
            goes_on = x[i] == x[i - 1]
            count += 0 if goes_on else 1
            begin = begin if goes_on else i
            if lengths is not None:
                lengths[count] = i + 1 - begin
            if number is not None:
                number[i] = count
        total[0] = count + 1


def runs(x: np.ndarray, numbered: bool, counted: bool) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None] | None:
    """The first elements of runs of equal ones in a vector and, if they are asked for, the number of the run of each element and the
    lengths of the runs."""
    if x.__class__ is not np.ndarray or not x.size:
        return None
    size, total, values = x.size, np.empty(1, INT64), np.empty(x.size + 1, x.dtype)
    number, lengths = (np.empty(size, INT64) if asked else None for asked in (numbered, counted))
    if not find_runs.run(values, number, lengths, total, x, size, 1, size):
        return None
    for found in (values, lengths):
        if found is not None:
            found.resize(int(total[0]), refcheck=False)  # where it is: nobody else has seen its memory
    return values, number, lengths


# ---- in their own places ------------------------------------------------------------------------------------------------------------


@loop(kinds=("i64",))
def count_each(counts: Ints, x: Floats, bins: int, take: int, size: int, units: range) -> None:
    """Each unit has `take` numbers, all from zero to `bins`, and a row of counts of its own."""
    for unit in units:
        row = unit * bins
        for k in range(row, row + bins):
            counts[k] = 0
        for i in range(unit * take, min(unit * take + take, size)):
            counts[row + x[i]] += 1


def counted(kernel: Loop, x: np.ndarray, bins: int, *numbers: float) -> np.ndarray | None:
    """The sum of the counts that a kernel makes in several parts of an array; None where NumPy has to count."""
    size = x.size
    units = max(1, min(PARTS, size // max(bins, BLOCK)))
    take = -(-size // units)
    counts = np.empty((units, bins), INT64)
    if not size or not kernel.run(counts, x, *numbers, bins, take, size, units, take + bins):
        return None
    total: np.ndarray = counts[0] if units == 1 else np.add.reduce(counts, 0)
    return total


def frequencies(x: np.ndarray, bins: int) -> np.ndarray | None:
    """How often each number from zero to `bins` occurs. There are no others."""
    return counted(count_each, x, bins)


# ---- in intervals -------------------------------------------------------------------------------------------------------------------


@loop
def count_in_intervals(counts: Ints, x: Floats, low: float, high: float, bins: int, take: int, size: int, units: range) -> None:
    """Each unit has `take` elements, and a row of counts of its own. An interval includes its left edge, the last one both."""
    step = (high - low) / wide(bins)
    for unit in units:
        row = unit * bins
        for k in range(row, row + bins):
            counts[k] = 0
        for i in range(unit * take, min(unit * take + take, size)):
            value = wide(x[i])
            if value >= low and value <= high:
                place = min(int((value - low) / (high - low) * wide(bins)), bins - 1)
                # The quotient may be rounded over an edge.
                place = place - 1 if (place > 0) & (value < low + wide(place) * step) else place
                place = place + 1 if (place < bins - 1) & (value >= low + wide(place + 1) * step) else place
                counts[row + place] += 1


def histogram(x: np.ndarray, bins: int, low: float, high: float) -> np.ndarray | None:
    """How many elements lie in each of some equal intervals between two finite numbers."""
    return counted(count_in_intervals, x, bins, low, high)
