"""The gradient of the kernels of a convolution by compiled code: where things are, and how work is cut into pieces.

There are two ways: vectors of channels (`_kernels/convolve_channels.py`) and, where those would be nearly empty, vectors of places
(`_kernels/convolve_weight.py`). What does not depend on the numbers is made once for each kind of convolution and kept.
"""

from __future__ import annotations

import ctypes
import math

import numpy as np

from .._kernels import convolve_channels
from .._kernels.blocks import table
from .._kernels.convolve_channels import HIGH, LOW, PLACES
from .._kernels.convolve_weight import CHUNK, DOTS, SHAPES, function
from .._kernels.pool import get_num_threads
from .._kernels.sharing import rooms
from .._kernels.vectors import LANES, SIZES
from ._direct import LEAST, SHARED, Layout, Part, address, lay_table
from ._registry import Array
from ._windows import Sizes

PARTS = 8  # pieces into which the sums are cut; fixed, so that the order of additions is
ROOM = 1 << 22  # numbers that partial sums may take
TOGETHER = 4  # tiles of lanes that are multiplied while a few rows are in the nearest cache
# What it takes to transpose a number, which is not next to the last one if there is a stride, and to multiply where lanes have to be added,
# as so many multiplications.
TURNING, STRIDED, ADDING = 8, 24, 1.4
CACHE = 1 << 17  # bytes of an image that may well be in the second level of the cache


class ByChannels:
    """The sum over samples and places of grad[n, row, place] * x[n, column + place]: (rows, columns) of all groups. What `inner` dimensions
    of the kernel read is in lanes of its own; other elements of the kernel are taken one by one."""

    def __init__(
        self, samples: int, size: Sizes, part: Part, steps: Sizes, channels: int, rows: int, groups: int, kind: str, inner: int
    ) -> None:
        wide, places = convolve_channels.lanes(kind), math.prod(part.counts)
        batch = max(1, min(samples, PLACES // places))  # samples that are laid out together
        part = with_samples(part, batch)
        apart = groups * channels * math.prod(size)
        self.layout = layout = Layout((batch, *size), (part,), (1, *steps), channels, kind, apart)
        dims = len(part.taps) - inner
        segment = math.prod(d.length for d in layout.dims)
        inner_phases = math.prod(len(d.phases) for d in layout.dims[dims:])
        lane_taps, elements = layout.offsets(part.taps[dims:]), layout.offsets(part.taps[:dims], inner, inner_phases)
        volume = math.prod(map(len, part.taps))
        lanes = channels * len(lane_taps)  # of each channel, for each of its taps in them
        together = min(-(-lanes // wide), max(1, TOGETHER // len(elements)))  # tiles of a block, while a few rows are in the nearest cache
        segments = layout.plane // (segment * inner_phases)
        turned_step = (segments * segment + LANES[kind]) * wide
        self.elements = np.add.outer(np.arange(together) * turned_step, elements * wide).reshape(-1)
        entries = []
        most_channels = 0
        for first in range(0, lanes, together * wide):
            channel, tap = np.divmod(np.minimum(np.arange(first, first + together * wide), lanes - 1), len(lane_taps))
            count = int(channel[-1] - channel[0]) + 1
            most_channels = max(most_channels, count)
            sources, targets = (channel - channel[0]) * layout.plane + lane_taps[tap], channel * volume + tap
            entries.append([channel[0], count, min(together * wide, lanes - first), *sources, *targets])
        self.blocks = np.array(entries, np.int64)
        grads = np.add.outer(np.arange(batch) * groups * rows * places, np.arange(places)).reshape(-1)
        positions = layout.places(part.counts)
        self.places = np.ascontiguousarray(np.stack([positions * wide, grads], 1))
        # Up to where the places of each chunk read, in whole vectors.
        last_places = np.minimum(np.arange(PLACES, len(positions) + PLACES, PLACES), len(positions)) - 1
        limits = np.minimum(positions[last_places] + int((elements % segment).max()) + 1, segment)
        self.limits = -(-limits // LANES[kind]) * LANES[kind]
        laid = not layout.unchanged or batch > 1 or segment < LANES[kind]

        low = min(range(3), key=lambda low: (-(-max(0, rows - LOW * low) // HIGH) * HIGH + LOW * low, low))
        high = -(-max(0, rows - LOW * low) // HIGH)
        tiles = high + low
        columns = channels * volume
        units = groups * len(self.blocks)
        parts = max(1, min(-(-samples // batch), PARTS // units, ROOM // (groups * rows * columns)))
        self.shape = parts, groups * rows, columns
        shares = min(tiles, -(-2 * get_num_threads() // (parts * units)))  # no number depends on it
        self.pieces = parts * units * shares
        turned = most_channels * layout.plane + int(lane_taps.max()) + LANES[kind] if laid else 0
        turned += -turned % 16
        sums = turned + together * turned_step
        sums_size = -(-tiles // shares) * len(self.elements) * HIGH * wide
        self.room = (sums + sums_size) * SIZES[kind]
        self.facts = (
            samples, parts, groups, len(self.blocks), shares, rows, tiles, high, batch, places, places, groups * rows * columns,
            rows * columns, columns, channels * layout.source_plane, apart, rows * places, groups * rows * places, layout.source_plane,
            int(laid), turned, turned, sums, sums_size, segments, segment, segment * inner_phases,
            max(0, segment - LANES[kind]), together, turned_step, len(elements), len(lane_taps),
            ctypes.addressof(layout.lay), address(self.blocks), address(self.places), address(self.limits), address(self.elements),
        )  # fmt: skip
        self.work = 1 if float(samples * groups * rows * columns * places) < LEAST else SHARED

    def __call__(self, x: Array, grad: Array) -> Array | None:
        total = np.empty(self.shape, x.dtype)
        if not convolve_channels.function()(total, x, grad, *rooms.take(self.room), *self.facts, self.pieces, self.work):
            return None
        return total[0] if len(total) == 1 else np.add.reduce(total, 0)


def with_samples(part: Part, batch: int) -> Part:
    """The same places of several samples, which are another dimension."""
    return Part((batch, *part.counts), ((0,), *part.taps), ((0,), *part.used), (0, *part.remainders))




class ByPlaces:
    """The sum over samples and places of grad[n, row, place] * x[n, column + place]: (rows, columns) of all groups."""

    def __init__(self, samples: int, size: Sizes, part: Part, steps: Sizes, channels: int, rows: int, groups: int, kind: str) -> None:
        narrow = 1 < part.counts[-1] < LANES[kind]
        one = Layout(size, (part,), steps, 1, kind, narrow=narrow)
        self.places, self.sample = math.prod(part.counts), math.prod(d.length for d in one.dims)
        self.batch = -(-samples // -(-samples // max(1, CHUNK // self.sample)))  # samples that are laid out together
        part = with_samples(part, self.batch)
        apart = groups * channels * one.source_plane
        self.layout = Layout((self.batch, *size), (part,), (1, *steps), channels, kind, apart, narrow)
        self.columns = self.layout.columns(part.taps)
        offsets, line = self.layout.places(part.counts), part.counts[-1]
        self.length = int(offsets[self.places - 1]) + 1  # of the places of a sample with the gaps between them
        self.grad_plane = int(offsets[-1]) + 1
        self.laid = not (self.batch == 1 and one.unchanged and self.length == self.places)
        starts = np.arange(0, len(offsets), line)
        sample, within = np.divmod(starts, self.places)
        self.line_rows = np.ascontiguousarray(np.stack([sample * groups * rows * self.places + within, offsets[starts]], 1), np.int64)
        self.line_runs = np.array([[0, line, 0]], np.int64)
        self.lay = lay_table(self.batch, self.places, self.grad_plane, self.line_rows, self.line_runs, 1)
        self.block = 1 if rows == 1 else 4
        near = max(1, CACHE // (min(self.layout.plane, 2 * CHUNK) * SIZES[kind])) * math.prod(map(len, part.taps))
        self.column_block = -(-near // SHAPES[self.block]) * SHAPES[self.block]
        self.dots = table(DOTS, rows=rows, columns=len(self.columns), grad_plane=self.grad_plane)

        columns, layout = len(self.columns), self.layout
        self.shape = parts, *_ = max(1, min(samples // self.batch, PARTS, ROOM // (groups * rows * columns))), groups * rows, columns
        image = channels * layout.plane
        room = image + layout.slack + rows * self.grad_plane if self.laid else 0
        self.room = room * SIZES[kind]
        spans = min(groups, -(-PARTS // parts))
        blocks = -(-rows // self.block)
        share_rows = -(-blocks // -(-2 * get_num_threads() // (parts * spans))) * self.block  # no number depends on it
        shares = -(-rows // share_rows)
        self.pieces = parts * spans * shares
        self.facts = (
            samples, parts, groups, spans, rows, share_rows, shares, groups * rows * columns, rows * columns,
            channels * layout.source_plane, rows * self.places, apart, groups * rows * self.places, int(self.laid), room,
            image + layout.slack, layout.source_plane, self.places, layout.plane, self.grad_plane, channels, self.batch, self.sample,
            self.length, ctypes.addressof(layout.lay), ctypes.addressof(self.lay), ctypes.addressof(self.dots), columns,
            self.column_block, address(self.columns),
        )  # fmt: skip
        self.alone = float(samples * groups * rows * columns * self.places) < LEAST

    def __call__(self, x: Array, grad: Array) -> Array | None:
        total = np.zeros(self.shape, x.dtype)
        work = 1 if self.alone else SHARED
        if not function(self.block)(total, x, grad, *rooms.take(self.room), *self.facts, self.pieces, work):
            return None
        return total[0] if len(total) == 1 else np.add.reduce(total, 0)


Gradient = ByChannels | ByPlaces


def gradient(samples: int, size: Sizes, part: Part, steps: Sizes, channels: int, rows: int, groups: int, kind: str) -> Gradient:
    """The way that should take least time."""
    wide, taps = convolve_channels.lanes(kind), [*map(len, part.taps)]
    turning = TURNING if set(steps) == {1} else STRIDED
    reads = math.prod(size) / math.prod(steps) / math.prod(part.counts)  # numbers of a channel for each place and phase

    def multiplications(inner: int) -> float:
        """For each place; transposing a number takes as long as some multiplications."""
        lanes = -(-channels * math.prod(taps[len(taps) - inner :]) // wide) * wide
        phases = math.prod(min(step, n) for step, n in [*zip(steps, taps, strict=True)][: len(taps) - inner])
        return lanes * (rows * math.prod(taps[: len(taps) - inner]) + turning * reads * phases)

    inner = min(range(len(taps) + 1), key=multiplications)
    facts = samples, size, part, steps, channels, rows, groups, kind
    gaps = 1 + (max(part.taps[-1]) - min(part.taps[-1])) / steps[-1] / part.counts[-1]  # between lines, where zeros are multiplied
    if rows * channels * math.prod(taps) * ADDING * gaps < multiplications(inner):
        return ByPlaces(*facts)
    return ByChannels(*facts, inner)
