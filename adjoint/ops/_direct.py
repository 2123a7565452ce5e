"""The three convolutions by compiled code (`_kernels/convolve.py`): where things are, and how work is cut into pieces.

What does not depend on the numbers, tables of offsets above all, is made once for each kind of convolution and kept.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._kernels import winograd
from .._kernels.blocks import Table, table
from .._kernels.calls import PIECE
from .._kernels.convolve import DEPTH, FOLD, LAY, LINE_VECTORS, LINES, PART, SPREAD, TILES, function
from .._kernels.pool import get_num_threads
from .._kernels.sharing import rooms
from .._kernels.vectors import LANES, ROWS, SIZES, width
from .._kernels.winograd import WINOGRAD
from ._registry import Array
from ._windows import Sizes

Line = tuple[int, ...]

LEAST = 2e5  # multiplications that are worth a piece of work of their own
SHARED = 4 * PIECE  # elements of a piece of work, for it to be handed to a thread by itself
PIECES = 16  # of a convolution at most: enough for a few threads to finish at about the same time
ROWS_OF_PIECE, TILES_OF_PIECE = 64, 4  # so few that preparing the others' share of an image is not worth it
CHANNELS = 12  # and as many rows, from which on the transforms of `winograd.py` pay
NEAR = 3 << 14  # numbers of what is to be folded, to be found in the second cache
# What it takes to fold a number, to gather one, and to multiply a line of places, as so many multiplications.
FOLDING, GATHERING, BY_LINES = 16, 4, 2
FOLDS = (1, 2, 4, 8, 16)  # samples that may be computed together
NONE_STRANGE = np.zeros(1, np.int64)  # the plain ways take infinite numbers as they are
MANY = 1500  # places from which on it does not matter how many are left over for a last tile


def address(array: Array) -> int:
    return array.ctypes.data  # type: ignore[no-any-return]


# ---- where things are ---------------------------------------------------------------------------------------------------------------


class Part(NamedTuple):
    """An ordinary convolution that gives a part of the result: along each dimension, those elements that leave one remainder by a step."""

    counts: Sizes  # places
    taps: tuple[Line, ...]  # what a place reads along each dimension, counted from where it stands
    used: tuple[Line, ...]  # which elements of the kernel that is multiplied by
    remainders: Sizes


class Dimension(NamedTuple):
    """One dimension of an image as it is laid out.

    Place `o` of the result reads elements `o * step + tap`. Elements whose numbers leave the same remainder by the step are put next to
    each other (a phase), after `before` zeros, so that neighbouring places read neighbouring elements. Or each tap has a copy of its own of
    the elements that it reads (`copied`), so that there are no gaps between lines of places.
    """

    size: int
    step: int
    phases: tuple[int, ...]  # the remainders that taps use, or the taps
    before: int
    length: int  # of a phase
    copied: bool = False

    @classmethod
    def made(cls, size: int, reads: list[tuple[int, Line]], step: int) -> Dimension:
        """For parts with so many places and these taps."""
        taps = [tap for _, line in reads for tap in line]
        before = max(0, *(-(tap // step) for tap in taps)) if taps else 0
        length = before + max((places + max(tap // step for tap in line) for places, line in reads if line), default=1)
        if step == 1 and before == 0 and length <= size:
            length = size  # as it is
        return cls(size, step, tuple(sorted({tap % step for tap in taps})), before, length)

    @classmethod
    def copies(cls, size: int, reads: list[tuple[int, Line]], step: int) -> Dimension:
        taps = {tap for _, line in reads for tap in line}
        return cls(size, step, tuple(sorted(taps)), 0, max((places for places, _ in reads), default=1), True)

    @property
    def unchanged(self) -> bool:
        return not self.copied and self.step == 1 and self.before == 0 and self.length == self.size

    def elements(self) -> list[tuple[int, int, int]]:
        """The elements that are laid out: their number, phase and position."""
        used = (i for i in range(self.size) if i % self.step in self.phases and self.before + i // self.step < self.length)
        return [(i, self.phases.index(i % self.step), self.before + i // self.step) for i in used]

    def where(self, tap: int) -> tuple[int, int]:
        """The phase that a tap reads, and the position there for the first place."""
        if self.copied:
            return self.phases.index(tap), 0
        return self.phases.index(tap % self.step), self.before + tap // self.step

    def runs(self) -> list[tuple[int, int, int]]:
        """For each phase: its first element, how many are laid out, and the position of the first."""
        found = []
        for phase in self.phases:
            skipped = max(0, -(phase // self.step))
            first, begin = phase + skipped * self.step, self.before + skipped
            found.append((first, max(0, min(-(-(self.size - first) // self.step), self.length - begin)), begin))
        return found


class Layout:
    """How an image is laid out for some convolutions. If the first dimension is of samples, it says how far `apart` those are. If lines
    are `narrow`, each tap has a copy of its own of them."""

    def __init__(
        self, size: Sizes, parts: tuple[Part, ...], steps: Sizes, channels: int, kind: str, apart: int = 0, narrow: bool = False
    ) -> None:
        reads = [[(part.counts[d], part.taps[d]) for part in parts] for d in range(len(size))]
        self.dims = [Dimension.made(*facts) for facts in zip(size, reads, steps, strict=True)]
        if narrow:
            self.dims[-1] = Dimension.copies(size[-1], reads[-1], steps[-1])
        self.kind, self.channels = kind, channels
        self.strides = [math.prod(d.length for d in self.dims[i + 1 :]) for i in range(len(size))]
        one = math.prod(d.length for d in self.dims)
        self.phase_strides = [one * math.prod(len(d.phases) for d in self.dims[i + 1 :]) for i in range(len(size))]
        self.plane = one * math.prod(len(d.phases) for d in self.dims)
        self.source_plane = math.prod(size[1:] if apart else size)
        self.unchanged = all(d.unchanged for d in self.dims)
        self.slack = 2 * width(kind)  # numbers that may be read after the image
        self.rows, self.runs = self.tables(apart)
        self.lay = lay_table(size[0] if apart else 1, self.source_plane, self.plane, self.rows, self.runs, steps[-1])

    def tables(self, apart: int) -> tuple[Array, Array]:
        """Where the rows of an image come from and go to, and the runs within a row."""
        dims = self.dims
        if self.unchanged:
            samples = np.arange(dims[0].size if apart else 1)[:, None]
            return samples * np.array([[apart, self.source_plane]], np.int64), np.array([[0, self.source_plane, 0]], np.int64)
        sources = [math.prod(d.size for d in dims[i + 1 :]) for i in range(len(dims))]
        if apart:
            sources[0] = apart
        outer = [
            [(i * sources[k], phase * self.phase_strides[k] + position * self.strides[k]) for i, phase, position in d.elements()]
            for k, d in enumerate(dims[:-1])
        ]
        rows = [[sum(source for source, _ in row), sum(target for _, target in row)] for row in itertools.product(*outer)]
        runs = [(first, count, place * self.phase_strides[-1] + begin) for place, (first, count, begin) in enumerate(dims[-1].runs())]
        return np.array(rows, np.int64).reshape(-1, 2), np.array(runs, np.int64)

    def offsets(self, taps: tuple[Line, ...], inner: int = 0, apart: int = 1) -> Array:
        """The offsets of all combinations of taps of some dimensions, `inner` being after them, where phases are so many times nearer."""
        found = np.zeros(1, np.int64)
        for d, line in enumerate(taps, len(self.dims) - inner - len(taps)):
            where = [self.dims[d].where(tap) for tap in line]
            found = np.add.outer(found, [phase * self.phase_strides[d] // apart + position * self.strides[d] for phase, position in where])
        return found.reshape(-1)

    def columns(self, taps: tuple[Line, ...]) -> Array:
        """The offsets of columns: of each channel, for each combination of taps."""
        return np.add.outer(np.arange(self.channels) * self.plane, self.offsets(taps)).reshape(-1)

    def places(self, counts: Sizes, samples: int = 1) -> Array:
        """The offsets of places, for samples that follow each other."""
        places = np.arange(samples) * self.channels * self.plane
        for count, stride in zip(counts, self.strides, strict=True):
            places = np.add.outer(places, np.arange(count) * stride)
        return places.reshape(-1).astype(np.int64)


def lay_table(samples: int, source_plane: int, target_plane: int, rows: Array, runs: Array, step: int) -> Table:
    return table(
        LAY, source_plane=source_plane, target_plane=target_plane, rows=len(rows) // samples, row_table=address(rows),
        runs=len(runs), run_table=address(runs), step=step,
    )  # fmt: skip


def in_tiles(places: Array, kind: str) -> Array:
    """The offsets of places, and of more to fill the last tile."""
    missing = -len(places) % width(kind)
    return np.concatenate([places, places[-1] + 1 + np.arange(missing)])


def splits(offsets: Array, lanes: int) -> tuple[Array, bool]:
    """For each vector of places: where its first and its second part begin, and how long the first is. Second: whether that does not do."""
    vectors = offsets.reshape(-1, lanes)
    breaks = np.diff(vectors, axis=1) != 1
    split = np.where(breaks.any(1), breaks.argmax(1) + 1, lanes)
    second = np.take_along_axis(vectors, np.minimum(split, lanes - 1)[:, None], 1)[:, 0] - split
    second = np.where(split == lanes, vectors[:, 0], second)
    found = np.ascontiguousarray(np.stack([vectors[:, 0], second, split], 1), np.int64)
    return found, bool((breaks.sum(1) > 1).any() or (second < 0).any())


# ---- rows times columns -------------------------------------------------------------------------------------------------------------


class Task(NamedTuple):
    """What a correlation computes: so many samples of images of `size` with `channels`, and kernels with `rows` outputs, in each of
    `groups`. A transposed kernel is (channels, rows, kernel...), others are (rows, channels, kernel...)."""

    samples: int
    size: Sizes
    out_size: Sizes
    parts: tuple[Part, ...]
    steps: Sizes  # of places in the image
    out_steps: Sizes  # of the places of a part in the result
    kernel: Sizes
    transposed: bool
    channels: int
    rows: int
    groups: int
    kind: str
    plain: bool = False  # with as many multiplications as the definition has


class Packing(NamedTuple):
    """How the kernels of a part are packed."""

    function: Callable[..., bool | None]
    facts: tuple[int, ...]
    pieces: int
    work: int  # numbers of a piece


class Correlation:
    """A task, and all tables that compiled code needs for it."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.arrays: list[object] = []  # what the addresses in tables point to
        self.packings: list[Packing] = []
        self.packed_size = 0
        self.scratch = 0
        self.work = 0
        self.fixed = [part for part in task.parts if 0 in map(len, part.taps)]  # nothing is read: the result is the bias
        parts = tuple(part for part in task.parts if part not in self.fixed and 0 not in part.counts)
        fours = self.fours(parts)
        longest = max((part.counts[-1] for part in parts), default=0)
        self.short = task.rows == 1 and len(task.size) <= 2 and longest < LINE_VECTORS[1] * LANES[task.kind]
        few = task.rows in LINE_VECTORS and all(
            (math.prod(part.counts) if self.short else part.counts[-1]) >= LANES[task.kind] for part in parts
        )
        folds = task.transposed and not fours and self.folding(parts, few)
        few = few and not folds
        self.way = "winograd" if fours else f"lines{task.rows}" if few else "folds" if folds else "tiles"
        self.forward = function(f"forward_{self.way}")
        add = self.add_winograd if fours else self.add_lines if few else self.add_folds if folds else self.add_tiles
        parts, steps = ((fours,), (*task.steps[:-2], 2, 2)) if fours else (parts, task.steps)
        size = task.size
        if folds:  # every number of the image by itself
            size, steps, self.fixed = (math.prod(size),), (1,), []
            parts = (Part(size, ((0,),), ((0,),), (0,)),)
        narrow = not few and max((part.counts[-1] for part in parts), default=0) < LANES[task.kind] - bool(fours)
        self.layout = Layout(size, parts, steps, task.channels, task.kind, narrow=narrow)
        self.fold = 1 if few else self.chosen_fold(max((math.prod(part.counts) for part in parts), default=1))
        self.parts = self.kept([number for part in parts for number in add(part)])
        self.count = len(parts)
        self.multiplications = sum(math.prod(map(len, part.taps)) * math.prod(part.counts) for part in parts) * task.rows * task.channels
        if folds:
            self.multiplications *= math.prod(task.kernel)
        self.plan()

    def kept(self, numbers: list[int] | Array) -> Array:
        array = np.array(numbers, np.int64)
        self.arrays.append(array)
        return array

    def fours(self, parts: tuple[Part, ...]) -> Part | None:
        """The part as `winograd.py` takes it, if that can be done and pays: a place is 2x2 elements of the result, and reads 4x4."""
        task = self.task
        if task.plain or len(parts) != 1 or len(task.size) < 2 or any(step != 1 for step in (*task.steps[-2:], *task.out_steps)):
            return None
        counts, taps, used, remainders = parts[0]
        channels = task.channels * math.prod(map(len, taps[:-2]))
        if min(channels, task.rows) < CHANNELS or any(sorted(line) != list(range(min(line), min(line) + 3)) for line in taps[-2:]):
            return None
        counts = (*counts[:-2], *(-(-count // 2) for count in counts[-2:]))
        in_order = tuple(tuple(k for _, k in sorted(zip(*both, strict=True))) for both in zip(taps[-2:], used[-2:], strict=True))
        more = tuple(tuple(range(min(line), min(line) + 4)) for line in taps[-2:])
        if 2 * math.prod(counts[-2:]) < LANES[task.kind] or 4 * math.prod(counts[-2:]) * task.samples < width(task.kind) * 3:
            return None
        return Part(counts, (*taps[:-2], *more), (*used[:-2], *in_order), remainders)

    def folding(self, parts: tuple[Part, ...], few: bool) -> bool:
        """Whether it takes less time to multiply the image by each element of the kernel and to fold that, than to multiply zeros around
        the image and to gather columns."""
        task = self.task
        gathered = task.rows * BY_LINES if few else task.rows + GATHERING
        direct = sum(math.prod(part.counts) * math.prod(map(len, part.taps)) for part in parts) * gathered * task.channels
        volume = math.prod(task.kernel)
        return volume > 1 and math.prod(task.size) * volume * task.rows * (task.channels + FOLDING) < direct

    def chosen_fold(self, places: int) -> int:
        """How many samples are computed together, so that there are few places too many in the last tile."""
        task, wide = self.task, width(self.task.kind)
        if task.groups > 1 or places > MANY:
            return 1
        shares = max(1, task.rows // ROWS_OF_PIECE)  # if there are few units, rows are shared
        choices = [fold for fold in FOLDS if task.samples % fold == 0 and task.samples // fold * shares >= 4]
        wasted = {fold: -(-places * fold // wide) * wide / (places * fold) for fold in choices or [1]}
        return min(wasted, key=lambda fold: max(wasted[fold], 1.05))

    def entry(
        self, part: Part, multiplier: Table, name: str, block: int, depth: int, per_column: int, spreads: list[int], split: Line
    ) -> Line:
        """The entry of a part in the table, after its packing. What is folded has a row for every element of the kernel."""
        task = self.task
        volume = math.prod(task.kernel)
        if self.way == "folds":
            rows, row_step, chosen = task.rows * volume, 1, np.zeros(1, np.int64)
        else:
            rows, row_step = task.rows, volume if task.transposed else task.channels * volume
            chosen = np.arange(volume).reshape(task.kernel)[np.ix_(*part.used)].reshape(-1)
        step = (task.rows if task.transposed else 1) * volume
        columns = self.kept(np.add.outer(np.arange(task.channels) * step, chosen).reshape(-1))
        blocks = -(-rows // block)
        counted = len(columns) // 9 if name == "pack_winograd" else len(columns)
        size = blocks * block * counted * per_column
        ordered = int((np.diff(columns) == 1).all() and columns[0] == 0)
        facts = (self.packed_size, size, rows, counted, depth, task.rows * task.channels * volume, row_step, address(columns), ordered)
        self.packings.append(Packing(function(name), facts, task.groups * blocks, max(1, size // blocks)))
        self.arrays.append(multiplier)
        at, self.packed_size = self.packed_size, self.packed_size + size * task.groups
        count, places, wide = split
        entries = {
            "multiplier": ctypes.addressof(multiplier), "packed": at, "packed_step": size, "count": count, "places": places,
            "wide": wide, "spreads": len(spreads) // len(SPREAD.split()), "spread_table": address(self.kept(spreads)),
        }  # fmt: skip
        return tuple(table(PART, **entries))

    def spread(self, part: Part, source: int, plane: int, line: int, count: int, lines: Array) -> list[int]:
        """The entry that brings `count` elements of each line to where they belong."""
        task = self.task
        step, start = task.out_steps[-1], part.remainders[-1]
        where = self.kept(np.where(lines < 0, -1, lines + start))
        entries = {
            "source": source, "source_plane": plane, "source_line": line, "lines": len(where), "count": count,
            "target_plane": math.prod(task.out_size), "step": step, "line_table": address(where),
        }  # fmt: skip
        return list(table(SPREAD, **entries))

    def lines(self, part: Part, dims: int) -> Array:
        """Where in the result the lines of a part are, counting its first dimensions only."""
        task = self.task
        where = np.arange(self.fold) * task.rows * math.prod(task.out_size)
        for d, count in enumerate(part.counts[:dims]):
            below = math.prod(task.out_size[d + 1 :])
            where = np.add.outer(where, (np.arange(count) * task.out_steps[d] + part.remainders[d]) * below)
        return where.reshape(-1)

    def spread_whole(self, part: Part, plane: int) -> tuple[list[int], int]:
        """How to spread a part, and the length of a line; nothing if the part is the result."""
        whole, line = all(step == 1 for step in self.task.out_steps), part.counts[-1]
        if whole:
            line = math.prod(part.counts)
            if self.fold == 1:
                return [], line
        self.scratch = max(self.scratch, self.task.rows * plane)
        return self.spread(part, 0, plane, line, line, self.lines(part, 0 if whole else len(part.counts) - 1)), line

    def add_tiles(self, part: Part) -> Line:
        task, kind = self.task, self.task.kind
        places, columns = self.layout.places(part.counts, self.fold), self.kept(self.layout.columns(part.taps))
        filled = self.kept(in_tiles(places, kind))
        split_table, scattered = splits(filled, LANES[kind])
        self.arrays.append(split_table)
        depth = -(-len(columns) // -(-len(columns) // DEPTH))
        spreads, line = self.spread_whole(part, len(filled))
        plane = len(filled) if spreads else len(places)
        multiplier = table(
            TILES, column_table=address(columns), split_table=address(split_table), place_table=address(filled), rows=task.rows,
            places=plane, out_plane=plane, columns=len(columns), depth=depth, scattered=int(scattered),
        )  # fmt: skip
        wide = width(kind)
        split = (len(places) // line, line, wide) if spreads else (len(filled) // wide, 1, 1)
        return self.entry(part, multiplier, f"pack{ROWS}", ROWS, depth, 1, spreads, split)

    def add_folds(self, part: Part) -> Line:
        """Place o goes to element o - tap of a phase. In its plane those are in order, and there is room for what is outside the result."""
        task, kind, fold = self.task, self.task.kind, self.fold
        dims = range(len(task.size))
        taps = [[tap for phase in task.parts for tap in phase.taps[d]] for d in dims]
        before = [max(0, *line) for line in taps]
        lengths = [before[d] + max(task.size[d] - min(taps[d]), *(phase.counts[d] for phase in task.parts)) for d in dims]
        strides = [math.prod(lengths[d + 1 :]) for d in dims]
        plane, volume, line = math.prod(lengths), math.prod(task.kernel), task.size[-1]
        tap_table, line_table = np.zeros(task.kernel, np.int64), np.arange(fold) * plane * len(task.parts)
        spreads: list[int] = []
        for number, phase in enumerate(task.parts):
            offsets = np.ix_(*((before[d] - np.array(phase.taps[d], np.int64)) * strides[d] for d in dims))
            tap_table[np.ix_(*phase.used)] = sum(offsets, number * plane)
            where = np.zeros(1, np.int64)
            for d in dims[:-1]:
                element = np.arange(-before[d], lengths[d] - before[d])
                inside = (element >= 0) & (element < phase.counts[d])
                steps = (element * task.out_steps[d] + phase.remainders[d]) * math.prod(task.out_size[d + 1 :])
                where = np.where(np.logical_and.outer(where >= 0, inside), np.add.outer(where, steps), -1).reshape(-1)
            spreads += self.spread(phase, number * plane + before[-1], 0, lengths[-1], phase.counts[-1], where)
        for d in dims[:-1]:
            line_table = np.add.outer(line_table, np.arange(task.size[d]) * strides[d]).reshape(-1)
        # A few rows and lines at a time, whole blocks of rows unless it is all of them.
        wide, chunk = width(kind), ROWS // math.gcd(volume, ROWS)
        filled = self.kept(in_tiles(self.layout.places(part.counts, fold), kind))
        split_table, scattered = splits(filled, LANES[kind])
        chunk = min(task.rows, chunk * max(1, NEAR // (chunk * volume * len(filled))))
        self.chunk, band = chunk, len(line_table)
        if fold == 1:
            band = min(band, max(1, NEAR // (chunk * volume * line)))
        source_plane = (-(-band * line // wide) + 1) * wide
        sample_size = plane * len(task.parts)
        size = (fold * sample_size // LANES[kind] + 2) * LANES[kind]  # whole vectors, and one more
        self.scratch, self.work = chunk * volume * source_plane + wide, chunk * size
        columns = self.kept(self.layout.columns(part.taps))
        depth = -(-len(columns) // -(-len(columns) // DEPTH))
        self.arrays += [split_table, tap_table]
        multiplier = table(
            TILES, column_table=address(columns), split_table=address(split_table), place_table=address(filled), rows=task.rows * volume,
            places=len(filled), out_plane=source_plane, columns=len(columns), depth=depth, scattered=int(scattered),
        )  # fmt: skip
        facts = table(
            FOLD, chunk=chunk, taps=volume, lines=len(line_table), band=band, line=line, source_plane=source_plane, size=size,
            tap_table=address(tap_table), line_table=address(self.kept(line_table)), samples=fold, sample_size=sample_size,
            target_sample=task.rows * math.prod(task.out_size), target_plane=math.prod(task.out_size), spreads=len(task.parts),
            spread_table=address(self.kept(spreads)),
        )  # fmt: skip
        return self.entry(part, multiplier, f"pack{ROWS}", ROWS, depth, 1, list(facts), (len(filled) // wide, 1, 1))

    def add_lines(self, part: Part) -> Line:
        """Short lines are computed as one, in two halves, with what is between them."""
        columns, line = self.kept(self.layout.columns(part.taps)), part.counts[-1]
        places = self.layout.places(part.counts)
        starts, plane = places[::line], len(places)
        if self.short:
            half = max(LANES[self.task.kind], (int(places[-1]) + 2) // 2)
            starts, plane = np.array([0, half]), 2 * half
            self.scratch = max(self.scratch, plane + width(self.task.kind))
            where = self.lines(part, len(part.counts) - 1)
            spreads = self.spread(part, 0, plane, self.layout.dims[-1].length, line, where)
            line, split = half, (len(where), len(starts), len(where))
        else:
            spreads, split = self.spread_whole(part, plane)[0], (len(starts), 1, 1)
        starts = self.kept(starts)
        multiplier = table(
            LINES, column_table=address(columns), line_table=address(starts), columns=len(columns), line=line, out_plane=plane,
        )  # fmt: skip
        return self.entry(part, multiplier, f"pack{self.task.rows}", self.task.rows, len(columns), 1, spreads, split)

    def add_winograd(self, part: Part) -> Line:
        task, kind = self.task, self.task.kind
        columns = self.layout.columns(part.taps).reshape(-1, winograd.TAPS)
        channel_table, tap_table = self.kept(columns[:, 0]), self.kept(columns[0] - columns[0, 0])
        filled = in_tiles(self.layout.places(part.counts, self.fold), kind)
        split_table = self.kept(splits(filled, LANES[kind])[0])
        channels, rows, plane = len(columns), task.rows, 2 * len(filled)
        depth = -(-channels // -(-channels // winograd.DEPTH))
        self.scratch, self.work = 2 * rows * plane, winograd.work_size(channels, rows, kind)
        *_, high, wide = task.out_size
        spreads: list[int] = []
        for lower in range(2):
            line = np.arange(part.counts[-2]) * 2 + lower
            where = np.where(line < high, np.add.outer(self.lines(part, len(part.counts) - 2), line * wide), -1).reshape(-1)
            spreads += self.spread(part, lower * rows * plane, plane, 2 * part.counts[-1], wide, where)
        multiplier = table(
            WINOGRAD, channel_table=address(channel_table), tap_table=address(tap_table), split_table=address(split_table), rows=rows,
            channels=channels, depth=depth, out_plane=plane, lower=rows * plane,
            sum_step=ROWS * winograd.TAPS * width(kind) if channels > depth else 0,
        )  # fmt: skip
        split = (len(where), part.counts[-1], width(kind))
        return self.entry(part, multiplier, "pack_winograd", ROWS, depth, winograd.TAPS, spreads, split)

    def packed(self, weight: Array) -> Array | None:
        """The kernels of all groups, arranged for multiplication; None if they are not in the form that compiled code takes."""
        result = np.empty(self.packed_size, weight.dtype)
        done = [pack(result, weight, *facts, pieces, work) for pack, facts, pieces, work in self.packings]
        return result if all(done) else None

    def plan(self) -> None:
        """How the work is cut into pieces, and what `forward` is told about it."""
        task, layout = self.task, self.layout
        units = task.samples * task.groups // self.fold
        self.pieces = 0
        if not self.count or not units:
            return
        splits, row_splits, step = self.cut(units)
        self.pieces, self.size = units * splits * row_splits, PIECE // step if step > 1 else SHARED
        # Images that several threads work on are laid out before.
        self.arranged = splits * row_splits > 1
        laid = not (layout.unchanged or self.arranged)
        image = self.fold * task.channels * layout.plane + layout.slack
        image += -image % 16
        scratch = self.scratch + -self.scratch % 16
        self.room = (image + scratch + self.work) * SIZES[task.kind]
        self.facts = (
            -1 if self.arranged else units - 1, splits, row_splits, task.groups, task.channels, self.fold, int(laid), image if laid else 0,
            task.channels * (layout.plane if self.arranged else layout.source_plane), task.channels * layout.plane,
            self.fold * task.rows * math.prod(task.out_size), task.rows, image, image + scratch, ctypes.addressof(layout.lay), self.count,
            address(self.parts),
        )  # fmt: skip

    def __call__(self, x: Array, weight: Array, bias: Array | None) -> Array | None:
        """out[n, row] = bias[row] + the sum over columns of kernel[row, column] * x[n, column + place]. All are contiguous. None if they
        are not in the form that compiled code takes."""
        task, layout = self.task, self.layout
        out = np.empty((task.samples, task.rows * task.groups, *task.out_size), x.dtype)
        if self.fixed:
            out[...] = 0 if bias is None else bias.reshape(-1, *(1,) * len(task.size))
        if not self.pieces:
            return out
        if bias is None:
            bias = np.zeros(out.shape[1], x.dtype)
        if self.way == "folds":
            bias = np.concatenate([bias, np.zeros(task.rows * math.prod(task.kernel), x.dtype)])
        kernel, image = self.packed(weight), x
        if kernel is None:
            return None
        if self.arranged:
            planes = task.samples * task.groups * task.channels
            image = np.empty(planes * layout.plane + layout.slack, x.dtype)
            facts = layout.source_plane, layout.plane, ctypes.addressof(layout.lay)
            if not function("arrange")(image, x, *facts, planes, layout.plane):
                return None
        strange = np.zeros(1, np.int64) if self.way == "winograd" else NONE_STRANGE
        if not self.forward(out, image, kernel, bias, strange, *rooms.take(self.room), *self.facts, self.pieces, self.size):
            return None
        return correlation(task._replace(plain=True))(x, weight, bias) if strange[0] else out

    def cut(self, units: int) -> tuple[int, int, int]:
        """Into how many pieces the places of a unit are cut, into how many its rows, and how many pieces are done at a time. No number of
        the result depends on it."""
        pieces = max(1, min(PIECES, int(units * self.fold * self.multiplications / LEAST)))
        few = min(pieces, 2 * get_num_threads())  # each piece of a unit gathers or transforms what it reads
        if units >= few:
            return 1, 1, -(-units // pieces)
        wanted = -(-few // units)
        if self.way == "folds":
            return 1, min(wanted, -(-self.task.rows // self.chunk)), 1
        rows = min(wanted, max(1, self.task.rows // ROWS_OF_PIECE))
        counts, places, wide = (self.parts.reshape(self.count, -1)[:, PART.split().index(name)] for name in ("count", "places", "wide"))
        tiles = int((counts * places // wide).min())
        return min(-(-wanted // rows), max(1, tiles // TILES_OF_PIECE), int(counts.min())), rows, 1


@lru_cache(maxsize=256)
def correlation(task: Task) -> Correlation:
    return Correlation(task)
