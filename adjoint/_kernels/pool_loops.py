"""Pooling: means over windows of up to three dimensions, and the way back from means and maxima.

`lines` says where the windows are: for each dimension where they start and where they stop, place by place. The rows of a window are added
up first, some columns at a time, which needs no more than additions of vectors; then columns are.

Windows of one size in equal steps are summed tap by tap, a whole row of places at a time: for each tap `lines` goes on with the places
whose window has that element, from the first to before the last. Other windows have no taps, and are summed one after the other.
"""

from __future__ import annotations

from typing import Any

from .loops import Doubles, Floats, Ints, Out, exactly, loop, narrow, part, room

TILE = 512  # columns that are worked on together
SHORT = 16  # elements of a window that are not worth a vector


@part
def add_strided(out: Out, x: Out, to: int, source: int, stride: int, first: int, last: int) -> Any:
    for c in range(first, last):
        out[to + c] += x[source + c * stride]
    return last


@loop(reorder=True)
def means(
    out: Out, x: Floats, lines: Ints, by: Doubles, count_a: int, count_b: int, count_c: int, size_a: int, size_b: int, size_c: int,
    taps: int, origin: int, stride: int, rows: range,
) -> None:  # fmt: skip
    """A unit is a row of places; `by` says by what the sum at each place of a plane is divided."""
    for row in rows:
        a, b, to = row // count_b % count_a, row % count_b, row * count_c
        line_b = 2 * count_a
        line_c = line_b + 2 * count_b
        line_taps = line_c + 2 * count_c
        plane = row // (count_a * count_b) * (size_a * size_b * size_c)
        for c in range(count_c):
            out[to + c] = 0.0
        for left in range(0, size_c, TILE):
            width = min(TILE, size_c - left)
            sums = room(TILE)
            for k in range(width):
                sums[k] = 0.0
            for i in range(lines[a], lines[count_a + a]):
                for j in range(lines[line_b + b], lines[line_b + count_b + b]):
                    source = plane + (i * size_b + j) * size_c + left
                    for k in range(width):
                        sums[k] += x[source + k]
            for tap in range(taps):
                at = origin + tap - left
                first = max(lines[line_taps + 2 * tap], (stride - 1 - at) // stride if at < 0 else 0)
                last = min(lines[line_taps + 2 * tap + 1], (width - at + stride - 1) // stride if at < width else 0)
                if stride == 1:  # a constant stride lets LLVM use vectors
                    _ = add_strided(out, sums, to, at, 1, first, last)
                elif stride == 2:
                    _ = add_strided(out, sums, to, at, 2, first, last)
                else:
                    _ = add_strided(out, sums, to, at, stride, first, last)
            if not taps:
                for c in range(count_c):
                    start = max(lines[line_c + c] - left, 0)
                    stop = min(lines[line_c + count_c + c] - left, width)
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
def add_to_windows(
    out: Out, g: Floats, lines: Ints, count_a: int, count_b: int, count_c: int, size_a: int, size_b: int, size_c: int, taps: int,
    origin: int, stride: int, planes: range,
) -> None:  # fmt: skip
    """Zeros, and each number added to all elements of its window: the way back of sums. A unit is a plane."""
    for p in planes:
        plane = p * (size_a * size_b * size_c)
        for k in range(plane, plane + size_a * size_b * size_c):
            out[k] = 0.0
        line_b = 2 * count_a
        line_c = line_b + 2 * count_b
        line_taps = line_c + 2 * count_c
        for row in range(count_a * count_b):
            a, b, source = row // count_b, row % count_b, (p * (count_a * count_b) + row) * count_c
            for left in range(0, size_c, TILE):
                width = min(TILE, size_c - left)
                sums = room(TILE)
                for k in range(width):
                    sums[k] = 0.0
                for tap in range(taps):
                    at = origin + tap - left
                    first = max(lines[line_taps + 2 * tap], (stride - 1 - at) // stride if at < 0 else 0)
                    last = min(lines[line_taps + 2 * tap + 1], (width - at + stride - 1) // stride if at < width else 0)
                    for c in range(first, last):
                        sums[at + c * stride] += g[source + c]
                if not taps:
                    for c in range(count_c):
                        for k in range(max(lines[line_c + c] - left, 0), min(lines[line_c + count_c + c] - left, width)):
                            sums[k] += g[source + c]
                for i in range(lines[a], lines[count_a + a]):
                    for j in range(lines[line_b + b], lines[line_b + count_b + b]):
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
