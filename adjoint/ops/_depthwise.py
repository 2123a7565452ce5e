"""Convolutions of one channel each with a kernel of its own, compiled (`_kernels/depthwise.py`): where things are, and how work is cut.

What does not depend on the numbers is made once for each kind of convolution and kept.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from .._kernels.depthwise import PLACES, function
from .._kernels.sharing import rooms
from .._kernels.vectors import LANES, SIZES
from ._direct import Correlation, Dimension, Part, Task, address, correlation
from ._registry import Array

NEAR = 1 << 11  # vectors that a band of lines may read and write, to be found in the nearest caches
MOST = 1 << 14  # vectors of a line, so that all of them are in the second cache
WAITING = 7  # sums that are taken at once, for none to wait for the one before
BETWEEN = 2  # what it takes to begin with other places, as so many sums
TOGETHER = 4  # multiplications that take as long as what is done with an element elsewhere


class Depthwise:
    """A task, and all tables that compiled code needs for it. An image is a number of lines, whatever its dimensions are."""

    def __init__(self, task: Task) -> None:
        self.task = task
        parts = [part for part in task.parts if 0 not in part.counts]
        self.columns = Dimension.made(task.size[-1], [(part.counts[-1], part.taps[-1]) for part in parts], task.steps[-1])
        self.row = len(self.columns.phases) * self.columns.length + 1  # of a line, after which what nobody reads is put
        self.taps: list[tuple[int, int]] = []
        self.patterns: dict[tuple[object, ...], tuple[int, int]] = {}
        self.lines = sorted(line for part in parts for line in self.lines_of(part))
        self.bands, self.line_table = self.cut()

    def lines_of(self, part: Part) -> list[tuple[int, int, int, int, int, int, int, int]]:
        """Lines of a part: which of the result they are, the first and the last of the image that they read, and an entry of the table."""
        task, dims = self.task, range(len(self.task.size) - 1)
        strides, out_strides = ([math.prod(size[d + 1 : -1]) for d in dims] for size in (task.size, task.out_size))
        found = []
        for place in itertools.product(*(range(part.counts[d]) for d in dims)):
            inside = [
                [(at * strides[d], k) for tap, k in zip(part.taps[d], part.used[d], strict=True)
                 if 0 <= (at := place[d] * task.steps[d] + tap) < task.size[d]] for d in dims
            ]  # fmt: skip
            reads = [
                (sum(at for at, _ in chosen), np.ravel_multi_index([k for _, k in chosen], task.kernel[:-1]) if dims else 0)
                for chosen in itertools.product(*inside)
            ]
            number = sum((place[d] * task.out_steps[d] + part.remainders[d]) * out_strides[d] for d in dims)
            lowest, highest = min(reads, default=(0, 0))[0], max(reads, default=(0, 0))[0]
            pattern = self.pattern([(line - lowest, int(k)) for line, k in reads], part)
            found.append((number, lowest, highest, part.remainders[-1], task.out_steps[-1], part.counts[-1], *pattern))
        return found

    def pattern(self, reads: list[tuple[int, int]], part: Part) -> tuple[int, int]:
        """Where the taps of a line are in the table, which many lines have in common."""
        key = (tuple(reads), part.taps[-1], part.used[-1])
        if key not in self.patterns:
            first = len(self.taps)
            columns = [(self.columns.where(tap), k) for tap, k in zip(part.taps[-1], part.used[-1], strict=True)]
            self.taps += [
                (line * self.row + phase * self.columns.length + position, number * self.task.kernel[-1] + k)
                for line, number in reads for (phase, position), k in columns
            ]  # fmt: skip
            self.patterns[key] = first, len(self.taps)
        return self.patterns[key]

    def cut(self) -> tuple[Array, Array]:
        """Bands of lines, which are the pieces of work, and the table of lines."""
        width, out_width, count = self.task.size[-1], self.task.out_size[-1], math.prod(self.task.out_size[:-1])
        tall = count
        while True:
            bands: list[tuple[int, ...]] = []
            entries: list[tuple[int, ...]] = []
            self.tallest = 0
            for begin in range(0, count, tall):
                lines = [line for line in self.lines if begin <= line[0] < begin + tall]
                lowest, highest = min(line[1] for line in lines), max(line[2] for line in lines)
                self.tallest = max(self.tallest, highest - lowest + 1)
                first, height = len(entries), min(tall, count - begin)
                for number, low, _, remainder, apart, places, *pattern in lines:
                    to, start = (number - begin) * out_width + remainder, (low - lowest) * self.row
                    entries.append((to, apart, places, start, *pattern))
                bands.append(
                    (lowest * width, (highest - lowest + 1) * width, begin * out_width, height * out_width, first, len(entries))
                )
            self.results = tall * out_width
            if tall == 1 or self.tallest * self.row + self.results <= NEAR:
                return np.array(bands, np.int64), np.array(entries, np.int64)
            tall = -(-tall // 2)

    def fits(self) -> bool:
        return self.tallest * self.row + self.results <= MOST

    def finish(self) -> Depthwise:
        """Choose the kernel, and what it is told."""
        task, n = self.task, LANES[self.task.kind]
        counts = [line[5] for line in self.lines]
        choices = [places for places in PLACES if places <= min(counts)]
        self.kernel = function(min(choices, key=lambda p: sum(-(-count // p) * (max(p, WAITING) + BETWEEN) for count in counts)))
        line = np.full(task.size[-1], self.row - 1, np.int64)
        for element, phase, position in self.columns.elements():
            line[element] = phase * self.columns.length + position
        self.place_table = np.add.outer(np.arange(self.tallest) * self.row, line).reshape(-1)
        volume, blocks = math.prod(task.kernel), -(-task.groups // n)
        self.volume_table, self.tap_table = np.arange(volume), np.array(self.taps, np.int64)
        weights = self.tallest * self.row * n
        results = weights + volume * n
        self.room = (results + self.results * n) * SIZES[task.kind]
        self.pieces = task.samples * blocks * len(self.bands)
        work = math.prod(task.out_size) * len(self.taps) // max(1, len(self.patterns)) * n // len(self.bands)
        self.work = max(1, work // TOGETHER)
        self.facts = (
            task.groups, blocks, len(self.bands), math.prod(task.size), math.prod(task.out_size), volume, weights, weights, results,
            address(self.bands), address(self.place_table), address(self.volume_table), address(self.line_table), address(self.tap_table),
        )  # fmt: skip
        return self

    def __call__(self, x: Array, weight: Array, bias: Array | None) -> Array | None:
        """The result; None if the arrays, which are contiguous, are not in the form that compiled code takes."""
        out = np.empty((self.task.samples, self.task.groups, *self.task.out_size), x.dtype)
        if bias is None:
            bias = np.zeros(self.task.groups, x.dtype)
        return out if self.kernel(out, x, weight, bias, *rooms.take(self.room), *self.facts, self.pieces, self.work) else None


@lru_cache(maxsize=256)
def planned(task: Task) -> Correlation | Depthwise:
    """By vectors of channels if there is one channel, and one row, for each kernel, and enough of them; else by vectors of places."""
    if task.rows == task.channels == 1 and 2 * task.groups >= LANES[task.kind] and task.samples and math.prod(task.out_size):
        found = Depthwise(task)
        if found.fits():
            return found.finish()
    return correlation(task)
