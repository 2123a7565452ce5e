"""Images read at given points (`ops/grid.py`, Note [Taps of a point]), and the gradients of the images and of the points.

There are always three dimensions: a flat image has one layer. Of the points of a block `corners` writes down the combinations of taps, and
all channels are read with these.
"""

from __future__ import annotations

from typing import Any

from .loops import Floats, Ints, Out, bits, floor, index_room, loop, narrow, part, rint, room, select

NEAREST, LINEAR, CUBIC = 1, 2, 4  # modes, by their taps along a dimension
ZEROS, BORDER, REFLECTION = 0, 1, 2  # what lies around an image
POINTS = 64  # in a block
PAIR, TRIPLE = 2 * POINTS, 3 * POINTS
TAPS = 3 * 4 * POINTS  # of a block, along all dimensions
CORNERS = 16 * POINTS  # of a block
CHANNELS = 8  # that are worked on together
LOW = 0xFFFFFFFF
MAGIC = {"f": 2.0**23, "d": 2.0**52}  # see `element`
SHARP = -0.75  # the parameter of the cubic curve


# ---- along one dimension ------------------------------------------------------------------------------------------------------------


@part
def mirrored(x: Any, size: int, align: int) -> Any:
    """A coordinate mirrored at the borders until it is in the image."""
    low = select(align, 0.0, -0.5)
    span = narrow(size) - (1.0 if align else 0.0)
    away = abs(x - low)
    flips = floor(away / span)
    rest = away - flips * span
    inside = select(flips - 2.0 * floor(flips * 0.5) > 0.0, span - rest, rest) + low
    return select(span == 0.0, 0.0, inside)


@part
def direction(x: Any, size: int, align: int) -> Any:
    """1 or -1, as the mirrored coordinate moves with or against the given one."""
    low = select(align, 0.0, -0.5)
    span = narrow(size) - (1.0 if align else 0.0)
    flips = floor(abs(x - low) / span)
    sign = select(x < low, -1.0, 1.0)
    return select(span == 0.0, 0.0, select(flips - 2.0 * floor(flips * 0.5) > 0.0, -sign, sign))


@part
def placed(x: Any, size: int, padding: int, align: int) -> Any:
    """A coordinate after padding."""
    y = x
    if padding == REFLECTION:
        y = mirrored(x, size, align)
    last = narrow(size - 1)
    if padding != ZEROS:
        y = select(y > 0.0, select(y < last, y, last), 0.0)
    return y


@part
def speed(x: Any, size: int, padding: int, align: int) -> Any:
    """How fast that moves with the given one."""
    y, way = x, 1.0
    if padding == REFLECTION:
        y = mirrored(x, size, align)
        way = direction(x, size, align)
    if padding != ZEROS:
        way = select(y > 0.0, select(y < narrow(size - 1), way, 0.0), 0.0)
    return way


@part
def element(index: Ints, keep: Out, to: int, x: Any, size: int, stride: int, magic: Any) -> Any:
    """A whole coordinate as an index, if there is such an element. Adding the number whose last bit counts ones makes its bits an integer,
    which vectors can do."""
    inside = x >= 0.0 and x <= narrow(size - 1)
    index[to] = ((bits(select(inside, x, 0.0) + magic) - bits(magic)) & LOW) * (stride & LOW)
    keep[to] = select(inside, 1.0, 0.0)
    return inside


@part
def near(x: Any) -> Any:
    return ((SHARP + 2.0) * x - (SHARP + 3.0)) * x * x + 1.0


@part
def near_slope(x: Any) -> Any:
    return (3.0 * (SHARP + 2.0) * x - 2.0 * (SHARP + 3.0)) * x


@part
def far(x: Any) -> Any:
    return ((SHARP * x - 5.0 * SHARP) * x + 8.0 * SHARP) * x - 4.0 * SHARP


@part
def far_slope(x: Any) -> Any:
    return (3.0 * SHARP * x - 10.0 * SHARP) * x + 8.0 * SHARP


@part
def taps(
    index: Ints, keep: Out, weight: Out, grid: Floats, start: int, count: int, dims: int, axis: int, size: int, stride: int, mode: int,
    padding: int, align: int, magic: Any,
) -> Any:  # fmt: skip
    """The taps of a block's points along a dimension."""
    factor, shift = narrow(size - (1 if align else 0)) * 0.5, select(align, 0.0, 0.5)
    to = axis * 4 * POINTS
    if mode == CUBIC:
        for p in range(count):
            x = (grid[(start + p) * dims + 2 - axis] + 1.0) * factor - shift
            below = floor(x)
            t = x - below
            weight[to + p] = far(t + 1.0)
            weight[to + POINTS + p] = near(t)
            weight[to + 2 * POINTS + p] = near(1.0 - t)
            weight[to + 3 * POINTS + p] = far(2.0 - t)
            for tap in range(4):
                at = placed(below + narrow(tap - 1), size, padding, align)
                element(index, keep, to + tap * POINTS + p, at, size, stride, magic)
    elif mode == LINEAR:
        for p in range(count):
            y = placed((grid[(start + p) * dims + 2 - axis] + 1.0) * factor - shift, size, padding, align)
            below = floor(y)
            weight[to + p] = 1.0 - (y - below)
            weight[to + POINTS + p] = y - below
            element(index, keep, to + p, below, size, stride, magic)
            element(index, keep, to + POINTS + p, below + 1.0, size, stride, magic)
    else:
        for p in range(count):
            y = placed((grid[(start + p) * dims + 2 - axis] + 1.0) * factor - shift, size, padding, align)
            weight[to + p] = 1.0
            element(index, keep, to + p, rint(y), size, stride, magic)
    return to


@part
def steepness(
    slope: Out, grid: Floats, start: int, count: int, dims: int, axis: int, size: int, mode: int, padding: int, align: int
) -> Any:
    """The derivatives of the weights by the coordinate as it was given."""
    factor, shift = narrow(size - (1 if align else 0)) * 0.5, select(align, 0.0, 0.5)
    to = axis * 4 * POINTS
    for p in range(count):
        x = (grid[(start + p) * dims + 2 - axis] + 1.0) * factor - shift
        if mode == CUBIC:
            t = x - floor(x)
            slope[to + p] = far_slope(t + 1.0) * factor
            slope[to + POINTS + p] = near_slope(t) * factor
            slope[to + 2 * POINTS + p] = -near_slope(1.0 - t) * factor
            slope[to + 3 * POINTS + p] = -far_slope(2.0 - t) * factor
        else:
            steep = speed(x, size, padding, align) * factor
            slope[to + p] = -steep
            slope[to + POINTS + p] = steep
    return to


# ---- all dimensions together --------------------------------------------------------------------------------------------------------


@part
def corners(
    at: Ints, kept: Out, share: Out, weight: Out, grid: Floats, start: int, count: int, dims: int, depth: int, height: int, width: int,
    mode: int, padding: int, align: int, magic_number: Any,
) -> Any:  # fmt: skip
    """The corners of a block's points: where they are in the image, whether they exist, and what they count. All do if it says so."""
    index = index_room(TAPS)
    keep = room(TAPS)
    magic = narrow(magic_number)
    for p in range(count):
        index[p] = 0
        keep[p] = 1.0
        weight[p] = 1.0
    for axis in range(3 - dims, 3):
        size = height if axis == 1 else width if axis == 2 else depth
        stride = width if axis == 1 else 1 if axis == 2 else height * width
        taps(index, keep, weight, grid, start, count, dims, axis, size, stride, mode, padding, align, magic)
    missing = 0.0
    for k in range(mode * mode * (mode if dims == 3 else 1)):
        a, b, c = k // (mode * mode) * POINTS, (4 + k // mode % mode) * POINTS, (8 + k % mode) * POINTS
        for p in range(count):
            at[k * POINTS + p] = index[a + p] + index[b + p] + index[c + p]
            share[k * POINTS + p] = weight[a + p] * weight[b + p] * weight[c + p]
            there = keep[a + p] * keep[b + p] * keep[c + p]
            kept[k * POINTS + p] = there
            missing += 1.0 - there
    return missing == 0.0


@part
def value(x: Floats, image: int, at: Ints, kept: Out, k: int) -> Any:
    return select(kept[k] != 0.0, x[image + at[k]], 0.0)


@loop(reorder=True, unroll=False)
def read(
    out: Out, x: Floats, grid: Floats, magic: float, dims: int, depth: int, height: int, width: int, mode: int, padding: int, align: int,
    channels: int, points: int, blocks: range,
) -> None:  # fmt: skip
    """A unit is a block of points of a sample."""
    weight = room(TAPS)
    at = index_room(CORNERS)
    kept = room(CORNERS)
    share = room(CORNERS)
    sums = room(POINTS)
    per = (points + POINTS - 1) // POINTS
    for b in blocks:
        sample, first = b // per, b % per * POINTS
        start, count = sample * points + first, min(POINTS, points - first)
        all_there = corners(at, kept, share, weight, grid, start, count, dims, depth, height, width, mode, padding, align, magic)
        for c in range(sample * channels, (sample + 1) * channels):
            image, to = c * depth * height * width, c * points + first
            if mode == NEAREST:
                for p in range(count):
                    out[to + p] = value(x, image, at, kept, p) * share[p]
                continue
            for p in range(count):
                sums[p] = 0.0
            for k in range(0, mode * mode * (mode if dims == 3 else 1) * POINTS, 4 * POINTS):
                if all_there:
                    for p in range(k, k + count):
                        first_two = x[image + at[p]] * share[p] + x[image + at[p + POINTS]] * share[p + POINTS]
                        others = x[image + at[p + PAIR]] * share[p + PAIR] + x[image + at[p + TRIPLE]] * share[p + TRIPLE]
                        sums[p - k] += first_two + others
                else:
                    for p in range(k, k + count):
                        first_two = value(x, image, at, kept, p) * share[p] + value(x, image, at, kept, p + POINTS) * share[p + POINTS]
                        others = value(x, image, at, kept, p + PAIR) * share[p + PAIR]
                        sums[p - k] += first_two + (others + value(x, image, at, kept, p + TRIPLE) * share[p + TRIPLE])
            for p in range(count):
                out[to + p] = sums[p]


@loop(reorder=True, unroll=False)
def read_back(
    grad: Out, g: Floats, grid: Floats, magic: float, dims: int, depth: int, height: int, width: int, mode: int, padding: int, align: int,
    channels: int, points: int, units: range,
) -> None:  # fmt: skip
    """The gradient of the images. A unit is a few channels of a sample."""
    weight = room(TAPS)
    at = index_room(CORNERS)
    kept = room(CORNERS)
    share = room(CORNERS)
    per, plane = (channels + CHANNELS - 1) // CHANNELS, depth * height * width
    for u in units:
        sample = u // per
        begin = sample * channels + u % per * CHANNELS
        end = min(begin + CHANNELS, (sample + 1) * channels)
        for i in range(begin * plane, end * plane):
            grad[i] = 0.0
        for first in range(0, points, POINTS):
            start, count = sample * points + first, min(POINTS, points - first)
            corners(at, kept, share, weight, grid, start, count, dims, depth, height, width, mode, padding, align, magic)
            for c in range(begin, end):
                for k in range(0, mode * mode * (mode if dims == 3 else 1) * POINTS, POINTS):
                    for p in range(count):
                        if kept[k + p] != 0.0:
                            grad[c * plane + at[k + p]] += g[c * points + first + p] * share[k + p]


@loop(reorder=True, unroll=False)
def moved(
    grad: Out, g: Floats, x: Floats, grid: Floats, magic: float, dims: int, depth: int, height: int, width: int, mode: int, padding: int,
    align: int, channels: int, points: int, blocks: range,
) -> None:  # fmt: skip
    """The gradient of the points, which are the units in blocks; not if the nearest elements are read."""
    weight = room(TAPS)
    slope = room(TAPS)
    at = index_room(CORNERS)
    kept = room(CORNERS)
    share = room(CORNERS)
    along = room(CORNERS)
    sums = room(POINTS)
    per, found = (points + POINTS - 1) // POINTS, mode * mode * (mode if dims == 3 else 1)
    for b in blocks:
        sample, first = b // per, b % per * POINTS
        start, count = sample * points + first, min(POINTS, points - first)
        corners(at, kept, share, weight, grid, start, count, dims, depth, height, width, mode, padding, align, magic)
        for k in range(found * POINTS):
            along[k] = 0.0
        for c in range(sample * channels, (sample + 1) * channels):
            image = c * depth * height * width
            for k in range(0, found * POINTS, POINTS):
                for p in range(count):
                    along[k + p] += value(x, image, at, kept, k + p) * g[c * points + first + p]
        for axis in range(3 - dims, 3):
            size = height if axis == 1 else width if axis == 2 else depth
            steepness(slope, grid, start, count, dims, axis, size, mode, padding, align)
            for p in range(count):
                sums[p] = 0.0
            for k in range(found):
                of_layer, of_row, of_column = k // (mode * mode) * POINTS, (4 + k // mode % mode) * POINTS, (8 + k % mode) * POINTS
                own = of_layer if axis == 0 else of_row if axis == 1 else of_column
                one, other = of_row if axis == 0 else of_layer, of_row if axis == 2 else of_column
                for p in range(count):
                    sums[p] += along[k * POINTS + p] * (slope[own + p] * weight[one + p] * weight[other + p])
            for p in range(count):
                grad[(start + p) * dims + 2 - axis] = sums[p]
