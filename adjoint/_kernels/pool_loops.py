"""Pooling: means over windows of up to three dimensions, and the way back from means and maxima.

`plan` (made by `ops/_pool_windows.py`) begins with the number of places and the size of each of three dimensions, and what follows is
about windows (see below). Behind its HEAD it says where the windows are: for each dimension where they start and where they stop, place by
place. The rows of a window are added up first, some columns at a time, which needs no more than additions of vectors; then columns are.

Windows of one size in equal steps are summed tap by tap, a whole row of places at a time: for each tap the plan goes on with the places
whose window has that element, from the first to before the last. Other windows have no taps, and are summed one after the other.
"""

from __future__ import annotations

from typing import Any

from .loops import Doubles, Floats, Ints, Out, exactly, loop, maximum, narrow, part, room
from .sums import INFINITY

TILE = 512  # columns that are worked on together
SHORT = 16  # elements of a window that are not worth a vector
HEAD = 17
STEP = 11  # of taps, along the last dimension
FIRST_TAP = 6  # how many taps, the position of the first at the first place, and the stride


@part
def add_strided(out: Out, x: Out, to: int, source: int, stride: int, first: int, last: int) -> Any:
    for c in range(first, last):
        out[to + c] += x[source + c * stride]
    return last


@loop(reorder=True)
def means(out: Out, x: Floats, plan: Ints, by: Doubles, rows: range) -> None:
    """A unit is a row of places; `by` says by what the sum at each place of a plane is divided."""
    count_a, count_b, count_c, size_a, size_b, size_c = plan[0], plan[1], plan[2], plan[3], plan[4], plan[5]
    taps, origin, stride = plan[FIRST_TAP], plan[FIRST_TAP + 1], plan[FIRST_TAP + 2]
    for row in rows:
        a, b, to = row // count_b % count_a, row % count_b, row * count_c
        line_b = HEAD + 2 * count_a
        line_c = line_b + 2 * count_b
        line_taps = line_c + 2 * count_c
        plane = row // (count_a * count_b) * (size_a * size_b * size_c)
        for c in range(count_c):
            out[to + c] = 0.0
        begin, end = 0, 0  # the windows that reach into a tile: they are in order
        for left in range(0, size_c, TILE):
            width = min(TILE, size_c - left)
            sums = room(TILE)
            for k in range(width):
                sums[k] = 0.0
            for i in range(plan[HEAD + a], plan[HEAD + count_a + a]):
                for j in range(plan[line_b + b], plan[line_b + count_b + b]):
                    source = plane + (i * size_b + j) * size_c + left
                    for k in range(width):
                        sums[k] += x[source + k]
            for tap in range(taps):
                at = origin + tap - left
                first = max(plan[line_taps + 2 * tap], (stride - 1 - at) // stride if at < 0 else 0)
                last = min(plan[line_taps + 2 * tap + 1], (width - at + stride - 1) // stride if at < width else 0)
                if stride == 1:  # a constant stride lets LLVM use vectors
                    _ = add_strided(out, sums, to, at, 1, first, last)
                elif stride == 2:
                    _ = add_strided(out, sums, to, at, 2, first, last)
                else:
                    _ = add_strided(out, sums, to, at, stride, first, last)
            if not taps:
                while begin < count_c and plan[line_c + count_c + begin] <= left:
                    begin += 1
                while end < count_c and plan[line_c + end] < left + width:
                    end += 1
                for c in range(begin, end):
                    start = max(plan[line_c + c] - left, 0)
                    stop = min(plan[line_c + count_c + c] - left, width)
                    total = out[to + c]
                    if stop - start < SHORT:
                        for k in range(start, stop):
                            total = exactly(total + sums[k])
                    else:
                        for k in range(start, stop):
                            total += sums[k]
                    out[to + c] = total
        divisors = (a * count_b + b) * count_c
        for c in range(count_c):
            out[to + c] = out[to + c] / narrow(by[divisors + c])


@loop
def add_to_windows(out: Out, g: Floats, plan: Ints, by: Doubles, planes: range) -> None:
    """Zeros, and each number divided and added to all elements of its window: the way back of means. A unit is a plane."""
    count_a, count_b, count_c, size_a, size_b, size_c = plan[0], plan[1], plan[2], plan[3], plan[4], plan[5]
    taps, origin, stride = plan[FIRST_TAP], plan[FIRST_TAP + 1], plan[FIRST_TAP + 2]
    for p in planes:
        plane = p * (size_a * size_b * size_c)
        for k in range(plane, plane + size_a * size_b * size_c):
            out[k] = 0.0
        line_b = HEAD + 2 * count_a
        line_c = line_b + 2 * count_b
        line_taps = line_c + 2 * count_c
        for row in range(count_a * count_b):
            a, b, source = row // count_b, row % count_b, (p * (count_a * count_b) + row) * count_c
            divisors = row * count_c
            begin, end = 0, 0
            for left in range(0, size_c, TILE):
                width = min(TILE, size_c - left)
                sums = room(TILE)
                for k in range(width):
                    sums[k] = 0.0
                for tap in range(taps):
                    at = origin + tap - left
                    first = max(plan[line_taps + 2 * tap], (stride - 1 - at) // stride if at < 0 else 0)
                    last = min(plan[line_taps + 2 * tap + 1], (width - at + stride - 1) // stride if at < width else 0)
                    for c in range(first, last):
                        sums[at + c * stride] += g[source + c] / narrow(by[divisors + c])
                if not taps:
                    while begin < count_c and plan[line_c + count_c + begin] <= left:
                        begin += 1
                    while end < count_c and plan[line_c + end] < left + width:
                        end += 1
                    for c in range(begin, end):
                        share = g[source + c] / narrow(by[divisors + c])
                        for k in range(max(plan[line_c + c] - left, 0), min(plan[line_c + count_c + c] - left, width)):
                            sums[k] += share
                for i in range(plan[HEAD + a], plan[HEAD + count_a + a]):
                    for j in range(plan[line_b + b], plan[line_b + count_b + b]):
                        to = plane + (i * size_b + j) * size_c + left
                        for k in range(width):
                            out[to + k] += sums[k]


@loop
def put(out: Out, g: Floats, index: Ints, count: int, plane: int, planes: range) -> None:
    """Zeros, and each number added at its position in its plane; a position outside is passed over. A unit is a plane."""
    for p in planes:
        for k in range(p * plane, p * plane + plane):
            out[k] = 0.0
        for i in range(p * count, p * count + count):
            place = index[i]
            if place >= 0 and place < plane:
                out[p * plane + place] += g[i]


@loop
def set_back(out: Out, x: Floats, index: Ints, strange: Ints, count: int, plane: int, planes: range) -> None:
    """Zeros, and each number at its position in its plane; a position outside is passed over, and kept as `strange`. A unit is a plane."""
    for p in planes:
        for k in range(p * plane, p * plane + plane):
            out[k] = 0.0
        for i in range(p * count, p * count + count):
            place = index[i]
            if place >= 0 and place < plane:
                out[p * plane + place] = x[i]
            else:
                strange[p] = 1


@loop
def take_back(grad: Out, g: Floats, index: Ints, count: int, plane: int, planes: range) -> None:
    """The numbers at positions, and zero where one is outside. A unit is a plane."""
    for p in planes:
        for i in range(p * count, p * count + count):
            place = index[i]
            grad[i] = 0.0
            if place >= 0 and place < plane:
                grad[i] = g[p * plane + place]


@part
def larger_strided(out: Out, x: Floats, to: int, source: int, stride: int, first: int, last: int) -> Any:
    for c in range(first, last):
        out[to + c] = maximum(out[to + c], x[source + c * stride])
    return last


@loop
def maxima_in_line(out: Out, x: Floats, plan: Ints, rows: range) -> None:
    """Maxima over windows of one dimension that have taps, without their positions. A unit is a row of places."""
    count, size, step = plan[2], plan[5], plan[STEP]
    taps, origin, stride = plan[FIRST_TAP], plan[FIRST_TAP + 1], plan[FIRST_TAP + 2]
    line_taps = HEAD + 4 + 2 * count
    for row in rows:
        to = row * count
        for c in range(count):
            out[to + c] = -INFINITY
        for tap in range(taps):
            source, first, last = row * size + origin + tap * step, plan[line_taps + 2 * tap], plan[line_taps + 2 * tap + 1]
            if stride == 1:
                _ = larger_strided(out, x, to, source, 1, first, last)
            elif stride == 2:
                _ = larger_strided(out, x, to, source, 2, first, last)
            else:
                _ = larger_strided(out, x, to, source, stride, first, last)
