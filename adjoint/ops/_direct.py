"""The three convolutions by compiled code (`_kernels/convolve.py`): where things are, and what is done by which thread."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._kernels import pool
from .._kernels.convolve import (
    BACKWARD, DEPTH, DOT_ROWS, DOTS, FORWARD, LANES, LAY, PACK, ROWS, TILES, Table, function, table, width,
)  # fmt: skip
from ._registry import Array
from ._windows import Sizes

KINDS = {"f": "f32", "d": "f64"}
Line = tuple[int, ...]

CHUNK = 1024  # places whose products are summed before the sum goes to memory
PARTS = 8  # pieces into which the gradient of the kernels is cut; fixed, so that the order of additions is
ROOM = 1 << 22  # numbers that partial sums may take
LEAST = 4e6  # multiplications that are worth a piece of work of their own


def address(array: Array) -> int:
    return array.ctypes.data  # type: ignore[no-any-return]


# ---- where things are ---------------------------------------------------------------------------------------------------------------


class Dimension(NamedTuple):
    """One dimension of an image as it is laid out.

    Place `o` of the result reads elements `o * step + tap`. Elements whose numbers leave the same remainder by the step are put next to
    each other (a phase), after `before` zeros, so that neighbouring places read neighbouring elements.
    """

    size: int
    count: int  # places
    step: int
    phases: tuple[int, ...]  # the remainders that taps use
    before: int
    length: int  # of a phase

    @classmethod
    def made(cls, size: int, count: int, taps: Line, step: int) -> Dimension:
        before = max(0, *(-(tap // step) for tap in taps))
        length = before + count + max(tap // step for tap in taps)
        if step == 1 and before == 0 and length <= size:
            length = size  # as it is
        return cls(size, count, step, tuple(sorted({tap % step for tap in taps})), before, length)

    @property
    def unchanged(self) -> bool:
        return self.step == 1 and self.before == 0 and self.length == self.size

    def elements(self) -> list[tuple[int, int, int]]:
        """The elements that are laid out: their number, phase and position."""
        found = ((i, self.phases.index(i % self.step), self.before + i // self.step) for i in range(self.size) if i % self.step in self.phases)
        return [entry for entry in found if entry[2] < self.length]


class Plan:
    """How an image is laid out for a convolution with `taps` along each dimension, and the tables that compiled code needs for it."""

    def __init__(self, size: Sizes, counts: Sizes, taps: tuple[Line, ...], steps: Sizes, channels: int, kind: str) -> None:
        dims = [Dimension.made(*facts) for facts in zip(size, counts, taps, steps, strict=True)]
        lanes, wide = LANES[kind], width(kind)
        strides = [math.prod(d.length for d in dims[i + 1 :]) for i in range(len(dims))]
        one = math.prod(d.length for d in dims)
        phase_strides = [one * math.prod(len(d.phases) for d in dims[i + 1 :]) for i in range(len(dims))]
        self.plane = one * math.prod(len(d.phases) for d in dims)
        self.source_plane = math.prod(size)
        self.unchanged = all(d.unchanged for d in dims)
        self.slack = 2 * wide
        self.places = math.prod(counts)
        self.tiles = -(-self.places // wide)

        def offset(tap: int, d: int) -> int:
            whole, rest = divmod(tap, dims[d].step)
            return dims[d].phases.index(rest) * phase_strides[d] + (dims[d].before + whole) * strides[d]

        tap_offsets = [sum(offset(tap, d) for d, tap in enumerate(combination)) for combination in itertools.product(*taps)]
        self.columns = np.add.outer(np.arange(channels) * self.plane, tap_offsets).astype(np.int64).reshape(-1)
        places = np.zeros((), np.int64)
        for d, stride in zip(dims, strides, strict=True):
            places = np.add.outer(places, np.arange(d.count) * stride)
        self.place_offsets = places.reshape(-1).astype(np.int64)
        last = int(self.place_offsets[-1])
        self.length = -(-(last + 1) // lanes) * lanes  # of the places with the gaps between them, in whole vectors
        more = last + 1 + np.arange(self.tiles * wide - self.places)
        self.place_table = np.concatenate([self.place_offsets, more])
        self.half_table, self.scattered = halves(self.place_table, lanes)
        self.rows, self.runs = self.layout(dims, strides, phase_strides)
        self.gradient_rows, self.gradient_runs = self.gradient_layout(dims)
        self.step = dims[-1].step
        self.at = {name: address(getattr(self, name)) for name in (
            "columns", "place_table", "half_table", "rows", "runs", "gradient_rows", "gradient_runs")}  # fmt: skip

    def layout(self, dims: list[Dimension], strides: list[int], phase_strides: list[int]) -> tuple[Array, Array]:
        """Where the rows of an image come from and go to, and the runs within a row."""
        if self.unchanged:
            return np.zeros((1, 2), np.int64), np.array([[0, self.plane, 0]], np.int64)
        sources = [math.prod(d.size for d in dims[i + 1 :]) for i in range(len(dims))]
        outer = [
            [(i * sources[k], phase * phase_strides[k] + position * strides[k]) for i, phase, position in d.elements()]
            for k, d in enumerate(dims[:-1])
        ]
        rows = [[sum(source for source, _ in row), sum(target for _, target in row)] for row in itertools.product(*outer)]
        inner = dims[-1]
        runs = []
        for place, phase in enumerate(inner.phases):
            count = min(-(-(inner.size - phase) // inner.step), inner.length - inner.before)
            runs.append([phase, max(0, count), place * phase_strides[-1] + inner.before])
        return np.array(rows, np.int64).reshape(-1, 2), np.array(runs, np.int64)

    def gradient_layout(self, dims: list[Dimension]) -> tuple[Array, Array]:
        """The same for a gradient of the result: its rows as far apart as those of the image."""
        count = dims[-1].count
        starts = np.arange(0, self.places, count)
        rows = np.stack([starts, self.place_offsets[starts]], 1)
        return np.ascontiguousarray(rows, np.int64), np.array([[0, count, 0]], np.int64)


def halves(offsets: Array, lanes: int) -> tuple[Array, bool]:
    """For each vector of places: where its first and its second part begin, and how long the first is. Second: whether that does not do."""
    vectors = offsets.reshape(-1, lanes)
    breaks = np.diff(vectors, axis=1) != 1
    split = np.where(breaks.any(1), breaks.argmax(1) + 1, lanes)
    second = np.take_along_axis(vectors, np.minimum(split, lanes - 1)[:, None], 1)[:, 0] - split
    second = np.where(split == lanes, vectors[:, 0], second)
    found = np.ascontiguousarray(np.stack([vectors[:, 0], second, split], 1), np.int64)
    return found, bool((breaks.sum(1) > 1).any() or (second < 0).any())


@lru_cache(maxsize=256)
def plan(size: Sizes, counts: Sizes, taps: tuple[Line, ...], steps: Sizes, channels: int, kind: str) -> Plan:
    return Plan(size, counts, taps, steps, channels, kind)


class Kernels(NamedTuple):
    """Where the kernels are in memory: that of a group, its rows, and in a row its columns (a table)."""

    weight: Array
    group_step: int
    row_step: int
    columns: Array


# ---- rows times columns -------------------------------------------------------------------------------------------------------------


def packed(kernels: Kernels, group: int, rows: int, depth: int, kind: str) -> Array:
    columns = len(kernels.columns)
    result = np.empty(-(-rows // ROWS) * ROWS * columns, kernels.weight.dtype)
    size = result.itemsize
    facts = table(
        PACK, weight=address(kernels.weight) + group * kernels.group_step * size, packed=address(result), rows=rows, columns=columns,
        depth=depth, row_step=kernels.row_step, column_table=address(kernels.columns),
    )  # fmt: skip
    function("pack", kind)(ctypes.addressof(facts))
    return result


def lay_table(plan: Plan, channels: int, source: int, target: int) -> Table:
    return table(
        LAY, source=source, target=target, channels=channels, source_plane=plan.source_plane, target_plane=plan.plane,
        rows=len(plan.rows), row_table=plan.at["rows"], runs=len(plan.runs), run_table=plan.at["runs"], step=plan.step,
    )  # fmt: skip


def correlate(x: Array, kernels: Kernels, bias: Array | None, out: Array, plan: Plan, groups: int) -> None:
    """out[n, row] = bias[row] + the sum over columns of kernel[row, column] * x[n, column + place]. `x` (N, channels, ...) and `out`
    (N, rows, places) are contiguous."""
    kind = KINDS[x.dtype.char]
    size = x.itemsize
    samples, channels, rows = x.shape[0], x.shape[1] // groups, out.shape[1] // groups
    columns = len(plan.columns)
    depth = -(-columns // -(-columns // DEPTH))
    if bias is None:
        bias = np.zeros(out.shape[1], x.dtype)
    kernel = [packed(kernels, group, rows, depth, kind) for group in range(groups)]
    image_at, out_at, bias_at = address(x), address(out), address(bias)
    image_step, out_step = channels * groups * plan.source_plane * size, groups * rows * plan.places * size
    run = function("forward", kind)

    def work(group: int, first: int, last: int, tile: int, stop: int) -> None:
        # An image that is used as it is may be read a little beyond its end; after the last one there is nothing.
        laid = not plan.unchanged or last == samples
        if laid and plan.unchanged and last - first > 1:
            work(group, first, last - 1, tile, stop)
            first = last - 1
        room = np.zeros(channels * plan.plane + plan.slack, x.dtype) if laid else x
        image = image_at + first * image_step + group * channels * plan.source_plane * size
        lay = lay_table(plan, channels, image, address(room))
        tiles = table(
            TILES, image=address(room) if laid else image, packed=address(kernel[group]),
            out=out_at + first * out_step + group * rows * plan.places * size, bias=bias_at + group * rows * size,
            column_table=plan.at["columns"], half_table=plan.at["half_table"], place_table=plan.at["place_table"], rows=rows,
            places=plan.places, columns=columns, depth=depth, first=tile, last=stop, scattered=int(plan.scattered),
        )  # fmt: skip
        facts = table(
            FORWARD, samples=last - first, laid=int(laid), lay=ctypes.addressof(lay), tiles=ctypes.addressof(tiles),
            image_step=image_step, out_step=out_step,
        )  # fmt: skip
        run(ctypes.addressof(facts))

    each = float(rows * columns * plan.places)
    in_parallel(work, groups, samples, plan.tiles, each)


def in_parallel(work: Callable[[int, int, int, int, int], None], groups: int, samples: int, tiles: int, each: float) -> None:
    """Call `work(group, first sample, last, first tile, last)` so that all is done, by pieces of about equal size. `each` is the number of
    multiplications for a sample in a group."""
    threads = pool.get_num_threads()
    pieces = min(4 * threads if threads > 1 else 1, max(1, int(each * groups * samples / LEAST)))
    per_group = -(-pieces // groups)
    if samples >= per_group:
        cuts = [samples * i // per_group for i in range(per_group + 1)]
        jobs = [(group, a, b, 0, tiles) for group in range(groups) for a, b in itertools.pairwise(cuts)]
    else:
        parts = min(-(-per_group // samples), tiles)
        cuts = [tiles * i // parts for i in range(parts + 1)]
        jobs = [(group, n, n + 1, a, b) for group in range(groups) for n in range(samples) for a, b in itertools.pairwise(cuts)]
    if pieces == 1:
        for job in jobs:
            work(*job)
    else:
        pool.run(lambda i: work(*jobs[i]), len(jobs))


# ---- the gradient of the kernels ----------------------------------------------------------------------------------------------------


def gradient(x: Array, grad: Array, plan: Plan, groups: int) -> Array:
    """The sum over samples and places of grad[n, row, place] * x[n, column + place]: (rows, columns) of all groups. `x` (N, channels, ...)
    and `grad` (N, rows, places) are contiguous."""
    kind = KINDS[x.dtype.char]
    size, lanes = x.itemsize, LANES[kind]
    samples, channels, rows = x.shape[0], x.shape[1] // groups, grad.shape[1] // groups
    columns = len(plan.columns)
    laid = not plan.unchanged or plan.places % lanes != 0 or plan.length != plan.places
    batch = max(1, min(samples, CHUNK // plan.length))
    parts = max(1, min(samples // batch, PARTS, ROOM // (groups * rows * columns)))
    shares = 1 if parts * groups >= PARTS else min(-(-PARTS // (parts * groups)), -(-rows // (4 * DOT_ROWS)))
    total = np.zeros((parts, groups * rows, columns), x.dtype)
    image_step, grad_step = groups * channels * plan.source_plane * size, groups * rows * plan.places * size
    image_place, grad_place = channels * plan.plane, rows * plan.length
    chunk = CHUNK if plan.length > CHUNK else plan.length
    image_at, grad_at, total_at = address(x), address(grad), address(total)
    run = function("backward", kind)

    def work(group: int, part: int, first: int, last: int) -> None:
        start, stop = samples * part // parts, samples * (part + 1) // parts
        image = image_at + start * image_step + group * channels * plan.source_plane * size
        given = grad_at + start * grad_step + group * rows * plan.places * size
        room = np.zeros(batch * (image_place + grad_place) + plan.slack, x.dtype) if laid else x
        image_room = address(room)
        grad_room = image_room + batch * image_place * size
        lay_image = lay_table(plan, channels, image, image_room)
        lay_grad = table(
            LAY, source=given, target=grad_room, channels=rows, source_plane=plan.places, target_plane=plan.length,
            rows=len(plan.gradient_rows), row_table=plan.at["gradient_rows"], runs=1, run_table=plan.at["gradient_runs"], step=1,
        )  # fmt: skip
        dots = table(
            DOTS, image=image_room if laid else image, grad=grad_room if laid else given,
            out=total_at + (part * groups + group) * rows * columns * size, column_table=plan.at["columns"], rows=rows, columns=columns,
            first=first, last=last, samples=0, image_step=image_place if laid else image_step // size,
            grad_step=grad_place if laid else grad_step // size, grad_plane=plan.length, start=0, stop=0,
        )  # fmt: skip
        facts = table(
            BACKWARD, samples=stop - start, batch=batch, laid=int(laid), lay_image=ctypes.addressof(lay_image),
            lay_grad=ctypes.addressof(lay_grad), dots=ctypes.addressof(dots), image_step=image_step, grad_step=grad_step,
            image_place=image_place * size, grad_place=grad_place * size, image_room=image_room, grad_room=grad_room,
            length=plan.length, chunk=chunk,
        )  # fmt: skip
        run(ctypes.addressof(facts))

    cuts = [min(rows, -(-rows * i // shares // DOT_ROWS) * DOT_ROWS) for i in range(shares + 1)]
    spans = [span for span in itertools.pairwise(cuts) if span[0] < span[1]]
    jobs = [(group, part, *span) for group in range(groups) for part in range(parts) for span in spans]
    if float(samples) * groups * rows * columns * plan.places < LEAST:
        for job in jobs:
            work(*job)
    else:
        pool.run(lambda i: work(*jobs[i]), len(jobs))
    return total[0] if parts == 1 else total.sum(0)


