"""Pixels moved about: blocks taken out of images and added up to images, and channels made into pixels and back.

For blocks, `plan` has the size of an image, of a block, and the number of places, each in two dimensions; then the stride, padding and
dilation in both.
"""

from __future__ import annotations

from typing import Any

from .loops import FLOATS, WHOLE, Floats, Ints, Out, loop, part


@part
def first_inside(offset: int, stride: int) -> Any:
    """The first place from which an element at an offset is inside the image."""
    return (stride - 1 - offset) // stride if offset < 0 else 0


@part
def last_inside(offset: int, stride: int, size: int, places: int) -> Any:
    """The place before which such an element is inside."""
    return min(places, (size - offset + stride - 1) // stride) if offset < size else 0


@loop
def unfold(out: Out, x: Floats, plan: Ints, entries: range) -> None:
    """A unit is all places, for one element of the blocks of one channel."""
    height, width, taps_a, taps_b, places_a, places_b = plan[0], plan[1], plan[2], plan[3], plan[4], plan[5]
    stride_a, stride_b, padding_a, padding_b, dilation_a, dilation_b = plan[6], plan[7], plan[8], plan[9], plan[10], plan[11]
    for entry in entries:
        offset = entry % taps_b * dilation_b - padding_b
        first = min(first_inside(offset, stride_b), places_b)
        last = max(first, last_inside(offset, stride_b, width, places_b))
        for place in range(places_a):
            a = place * stride_a + entry // taps_b % taps_a * dilation_a - padding_a
            to = (entry * places_a + place) * places_b
            if a < 0 or a >= height:
                for b in range(places_b):
                    out[to + b] = 0.0
                continue
            source = (entry // (taps_a * taps_b) * height + a) * width + offset
            for b in range(first):
                out[to + b] = 0.0
            if stride_b == 1:
                for b in range(first, last):
                    out[to + b] = x[source + b]
            else:
                for b in range(first, last):
                    out[to + b] = x[source + b * stride_b]
            for b in range(last, places_b):
                out[to + b] = 0.0


@loop
def fold(out: Out, x: Floats, plan: Ints, planes: range) -> None:
    """The transpose. A unit is an image of one channel."""
    height, width, taps_a, taps_b, places_a, places_b = plan[0], plan[1], plan[2], plan[3], plan[4], plan[5]
    stride_a, stride_b, padding_a, padding_b, dilation_a, dilation_b = plan[6], plan[7], plan[8], plan[9], plan[10], plan[11]
    for p in planes:
        for k in range(p * height * width, (p + 1) * height * width):
            out[k] = 0.0
        for entry in range(taps_a * taps_b):
            offset = entry % taps_b * dilation_b - padding_b
            first = first_inside(offset, stride_b)
            last = last_inside(offset, stride_b, width, places_b)
            for place in range(places_a):
                a = place * stride_a + entry // taps_b * dilation_a - padding_a
                if a < 0 or a >= height:
                    continue
                to = (p * height + a) * width + offset
                source = ((p * (taps_a * taps_b) + entry) * places_a + place) * places_b
                if stride_b == 1:
                    for b in range(first, last):
                        out[to + b] += x[source + b]
                else:
                    for b in range(first, last):
                        out[to + b * stride_b] += x[source + b]


@loop(kinds=(*FLOATS, *WHOLE))
def shuffle(out: Out, x: Floats, factor: int, height: int, width: int, rows: range) -> None:
    """(..., factor, factor, height, width) as (..., height, factor, width, factor). A unit is a row of the result."""
    for row in rows:
        a, line = row // factor % height, row % factor
        source, to = ((row // (factor * height) * factor + line) * factor * height + a) * width, row * width * factor
        if factor == 2:
            for b in range(width):
                out[to + 2 * b] = x[source + b]
                out[to + 2 * b + 1] = x[source + height * width + b]
        else:
            for phase in range(factor):
                for b in range(width):
                    out[to + b * factor + phase] = x[source + phase * height * width + b]


@loop(kinds=(*FLOATS, *WHOLE))
def unshuffle(out: Out, x: Floats, factor: int, height: int, width: int, rows: range) -> None:
    """The inverse: height and width are those of the result. A unit is a row of the input."""
    for row in rows:
        a, line = row // factor % height, row % factor
        to, source = ((row // (factor * height) * factor + line) * factor * height + a) * width, row * width * factor
        if factor == 2:
            for b in range(width):
                out[to + b] = x[source + 2 * b]
                out[to + height * width + b] = x[source + 2 * b + 1]
        else:
            for phase in range(factor):
                for b in range(width):
                    out[to + phase * height * width + b] = x[source + b * factor + phase]


@loop(kinds=(*FLOATS, *WHOLE))
def shuffle_channels(out: Out, x: Floats, groups: int, channels: int, plane: int, units: range) -> None:
    """The first channel of each group, then the second of each, and so on. A unit is a channel of the result."""
    for unit in units:
        place = unit % channels
        source = (unit - place + place % groups * (channels // groups) + place // groups) * plane
        for k in range(plane):
            out[unit * plane + k] = x[source + k]
