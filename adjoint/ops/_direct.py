"""The three convolutions by compiled code (`_kernels/convolve.py`): where things are, and what is done by which thread."""

from __future__ import annotations

import ctypes
import itertools
import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._kernels import pool
from .._kernels.blocks import Table, run, table
from .._kernels.convolve import BACKWARD, DEPTH, DOT_ROWS, DOTS, FORWARD, LANES, LAY, PACK, ROWS, TILES, function, width
from ._registry import Array
from ._warm import KINDS
from ._windows import Sizes

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
    places: int
    step: int
    phases: tuple[int, ...]  # the remainders that taps use
    before: int
    length: int  # of a phase

    @classmethod
    def made(cls, size: int, places: int, taps: Line, step: int) -> Dimension:
        before = max(0, *(-(tap // step) for tap in taps))
        length = before + places + max(tap // step for tap in taps)
        if step == 1 and before == 0 and length <= size:
            length = size  # as it is
        return cls(size, places, step, tuple(sorted({tap % step for tap in taps})), before, length)

    @property
    def unchanged(self) -> bool:
        return self.step == 1 and self.before == 0 and self.length == self.size

    def elements(self) -> list[tuple[int, int, int]]:
        """The elements that are laid out: their number, phase and position."""
        used = (i for i in range(self.size) if i % self.step in self.phases and self.before + i // self.step < self.length)
        return [(i, self.phases.index(i % self.step), self.before + i // self.step) for i in used]


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
            places = np.add.outer(places, np.arange(d.places) * stride)
        self.place_offsets = places.reshape(-1).astype(np.int64)
        last = int(self.place_offsets[-1])
        self.length = -(-(last + 1) // lanes) * lanes  # of the places with the gaps between them, in whole vectors
        more = last + 1 + np.arange(self.tiles * wide - self.places)
        self.place_table = np.concatenate([self.place_offsets, more])
        self.split_table, self.scattered = splits(self.place_table, lanes)
        self.rows, self.runs = self.layout(dims, strides, phase_strides)
        self.gradient_rows, self.gradient_runs = self.gradient_layout(dims)
        self.step = dims[-1].step
        self.at = {name: address(getattr(self, name)) for name in (
            "columns", "place_table", "split_table", "rows", "runs", "gradient_rows", "gradient_runs")}  # fmt: skip

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
        count = dims[-1].places
        starts = np.arange(0, self.places, count)
        rows = np.stack([starts, self.place_offsets[starts]], 1)
        return np.ascontiguousarray(rows, np.int64), np.array([[0, count, 0]], np.int64)


def splits(offsets: Array, lanes: int) -> tuple[Array, bool]:
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


def packed(kernels: Kernels, groups: int, rows: int, depth: int, kind: str) -> Array:
    """The kernels of all groups, arranged for `tiles`."""
    columns = len(kernels.columns)
    result = np.empty((groups, -(-rows // ROWS) * ROWS * columns), kernels.weight.dtype)
    facts = table(
        PACK, weight=address(kernels.weight), packed=address(result), groups=groups, rows=rows, columns=columns, depth=depth,
        group_step=kernels.group_step, row_step=kernels.row_step, column_table=address(kernels.columns),
    )  # fmt: skip
    run(function("pack", kind), facts)
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
    units, channels, rows = x.shape[0] * groups, x.shape[1] // groups, out.shape[1] // groups
    columns = len(plan.columns)
    depth = -(-columns // -(-columns // DEPTH))
    if bias is None:
        bias = np.zeros(out.shape[1], x.dtype)
    kernel = packed(kernels, groups, rows, depth, kind)
    image_at, out_at, bias_at, kernel_at = address(x), address(out), address(bias), address(kernel)
    image_step, out_step = channels * plan.source_plane * size, rows * plan.places * size
    forward = function("forward", kind)

    def work(first: int, last: int, tile: int, stop: int) -> None:
        # An image that is used as it is may be read a little beyond its end; after the last one there is nothing.
        laid = not plan.unchanged or last == units
        if laid and plan.unchanged and last - first > 1:
            work(first, last - 1, tile, stop)
            first = last - 1
        room = np.zeros(channels * plan.plane + plan.slack, x.dtype) if laid else x
        image = image_at + first * image_step
        lay = lay_table(plan, channels, image, address(room))
        tiles = table(
            TILES, image=address(room) if laid else image, packed=0, out=out_at + first * out_step, bias=0,
            column_table=plan.at["columns"], split_table=plan.at["split_table"], place_table=plan.at["place_table"], rows=rows,
            places=plan.places, columns=columns, depth=depth, first=tile, last=stop, scattered=int(plan.scattered),
        )  # fmt: skip
        facts = table(
            FORWARD, units=last - first, group=first % groups, groups=groups, laid=int(laid), lay=ctypes.addressof(lay),
            tiles=ctypes.addressof(tiles), image_step=image_step, out_step=out_step, packed=kernel_at,
            packed_step=kernel.strides[0], bias=bias_at, bias_step=rows * size,
        )  # fmt: skip
        run(forward, facts)

    jobs = divided(units, plan.tiles, float(units * rows * columns * plan.places))
    if len(jobs) == 1:
        work(*jobs[0])
    else:
        pool.run(lambda i: work(*jobs[i]), len(jobs))


def divided(units: int, tiles: int, multiplications: float) -> list[tuple[int, int, int, int]]:
    """Pieces of about equal size: the first and the last unit, and the first and the last tile."""
    threads = pool.get_num_threads()
    pieces = min(4 * threads if threads > 1 else 1, max(1, int(multiplications / LEAST)))
    if units >= pieces:
        return [(a, b, 0, tiles) for a, b in itertools.pairwise(cuts(units, pieces))]
    parts = min(-(-pieces // units), tiles)
    return [(unit, unit + 1, a, b) for unit in range(units) for a, b in itertools.pairwise(cuts(tiles, parts))]


def cuts(count: int, parts: int, multiple: int = 1) -> list[int]:
    """Where to cut `count` things into parts, at multiples of a number."""
    found = (min(count, -(-count * i // parts // multiple) * multiple) for i in range(parts + 1))
    return sorted(set(found))


# ---- the gradient of the kernels ----------------------------------------------------------------------------------------------------


def gradient(x: Array, grad: Array, plan: Plan, groups: int) -> Array:
    """The sum over samples and places of grad[n, row, place] * x[n, column + place]: (rows, columns) of all groups. `x` (N, channels, ...)
    and `grad` (N, rows, places) are contiguous."""
    kind = KINDS[x.dtype.char]
    size = x.itemsize
    samples, channels, rows = x.shape[0], x.shape[1] // groups, grad.shape[1] // groups
    columns = len(plan.columns)
    laid = not (plan.unchanged and plan.length == plan.places)
    batch = max(1, min(samples, CHUNK // plan.length))
    parts = max(1, min(samples // batch, PARTS, ROOM // (groups * rows * columns)))
    total = np.zeros((parts, groups * rows, columns), x.dtype)
    image_step, grad_step = x[0].nbytes, grad[0].nbytes
    image_group, grad_group, out_group = channels * plan.source_plane * size, rows * plan.places * size, rows * columns * size
    image_place, grad_place = channels * plan.plane, rows * plan.length
    image_at, grad_at, total_at = address(x), address(grad), address(total)
    backward = function("backward", kind)

    def work(part: int, group: int, stop_group: int, first: int, last: int) -> None:
        start, stop = samples * part // parts, samples * (part + 1) // parts
        room = np.zeros(batch * (image_place + grad_place) + plan.slack, x.dtype) if laid else x
        image_room = address(room)
        grad_room = image_room + batch * image_place * size
        lay_image = lay_table(plan, channels, 0, image_room)
        lay_grad = table(
            LAY, source=0, target=grad_room, channels=rows, source_plane=plan.places, target_plane=plan.length,
            rows=len(plan.gradient_rows), row_table=plan.at["gradient_rows"], runs=1, run_table=plan.at["gradient_runs"], step=1,
        )  # fmt: skip
        dots = table(
            DOTS, image=image_room, grad=grad_room, out=0, column_table=plan.at["columns"], rows=rows, columns=columns, first=first,
            last=last, samples=0, image_step=image_place if laid else image_step // size,
            grad_step=grad_place if laid else grad_step // size, grad_plane=plan.length, start=0, stop=0,
        )  # fmt: skip
        facts = table(
            BACKWARD, image=image_at + start * image_step + group * image_group, grad=grad_at + start * grad_step + group * grad_group,
            out=total_at + part * total.strides[0] + group * out_group, groups=stop_group - group, image_group=image_group,
            grad_group=grad_group, out_group=out_group, samples=stop - start, batch=batch, laid=int(laid),
            lay_image=ctypes.addressof(lay_image), lay_grad=ctypes.addressof(lay_grad), dots=ctypes.addressof(dots),
            image_step=image_step, grad_step=grad_step, image_place=image_place * size, grad_place=grad_place * size,
            image_room=image_room, grad_room=grad_room, length=plan.length, chunk=min(CHUNK, plan.length),
        )  # fmt: skip
        run(backward, facts)

    spans = list(itertools.pairwise(cuts(groups, min(groups, -(-PARTS // parts)))))
    shares = list(itertools.pairwise(cuts(rows, -(-PARTS // (parts * len(spans))), DOT_ROWS)))
    jobs = [(part, *span, *share) for part in range(parts) for span in spans for share in shares]
    if float(samples * groups * rows * columns * plan.places) < LEAST:
        for job in jobs:
            work(*job)
    else:
        pool.run(lambda i: work(*jobs[i]), len(jobs))
    return total[0] if parts == 1 else total.sum(0)
