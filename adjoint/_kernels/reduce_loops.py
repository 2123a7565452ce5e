"""Reductions: many elements become one.

An array is seen as `outer` matrices of `n` rows and `inner` columns, and the rows are reduced. A reduction is made of parts:

    start()               what an empty one gives
    term(x, level, p)     what an element counts for; `level` is a number for each result (where nobody asks, any), `p` one for all
    step(a, b)            two become one
    finish(t, level, p)   the result

A kernel reduces `take` rows at a time, so that many rows become `blocks` partial results, which are reduced again. How the work is cut
depends on the shape alone. Sums of blocks are taken in double, so that long sums are as precise as pairwise ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .loops import WARM, Floats, Loop, Out, Part, exp, given, log, maximum, minimum, narrow, part, power, select, sqrt, template, wide

INFINITY = math.inf
BLOCK = 1024  # elements of a row that are reduced in their own type
TILE = 2048  # columns at a time, whose partial results stay in the nearest cache
LONG = 16384  # elements of a row that are one piece of work
CUT = 8192  # elements of a piece, where a row is longer
DEPTH = 256  # rows of a piece at most
PIECE = 65536  # elements of a piece of whole rows at most


start = step = term = finish = given


# ---- loops --------------------------------------------------------------------------------------------------------------------------


@template(reorder=True)
def along_rows(
    out: Out, x: Floats, levels: Floats, p: float, n: int, inner: int, take: int, blocks: int, units: range
) -> None:
    """One column: each result comes from contiguous memory."""
    for unit in units:
        row = unit
        first = unit * n
        if blocks > 1:
            row = unit // blocks
            first = row * n + unit % blocks * take
        last = min(first + take, row * n + n)
        level = levels[row]
        q = narrow(p)
        total = wide(start())
        for begin in range(first, last, BLOCK):
            part_of_it = start()
            for j in range(begin, min(begin + BLOCK, last)):
                part_of_it = step(part_of_it, term(x[j], level, q))
            total = step(total, wide(part_of_it))
        out[unit] = narrow(finish(total, wide(level), p))


@template(reorder=True)
def down_columns(
    out: Out, x: Floats, levels: Floats, p: float, n: int, inner: int, take: int, blocks: int, units: range
) -> None:
    """The results of all columns at once, four rows at a time."""
    for unit in units:
        matrix = unit // blocks
        top = unit % blocks * take
        bottom = min(top + take, n)
        fours = top + (bottom - top) // 4 * 4
        q = narrow(p)
        for left in range(0, inner, TILE):
            right = min(left + TILE, inner)
            to = unit * inner
            at = matrix * inner
            for j in range(left, right):
                out[to + j] = start()
            for i in range(top, fours, 4):
                a = (matrix * n + i) * inner
                b = a + inner
                c = b + inner
                d = c + inner
                for j in range(left, right):
                    level = levels[at + j]
                    ab = step(term(x[a + j], level, q), term(x[b + j], level, q))
                    cd = step(term(x[c + j], level, q), term(x[d + j], level, q))
                    out[to + j] = step(step(ab, cd), out[to + j])  # in this order: else "the larger" becomes a slow masked store
            for i in range(fours, bottom):
                a = (matrix * n + i) * inner
                for j in range(left, right):
                    out[to + j] = step(term(x[a + j], levels[at + j], q), out[to + j])
            for j in range(left, right):
                out[to + j] = finish(out[to + j], levels[at + j], q)


# ---- how the work is cut ------------------------------------------------------------------------------------------------------------


def axes_of(axis: Any, ndim: int) -> list[int]:
    """The axes that an int, a tuple of them or None names, in order. No axes are all of them. Nothing if they are not axes."""
    if axis is None or axis == ():
        return list(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    found = {a % ndim for a in given if -ndim <= a < ndim}
    return sorted(found) if len(found) == len(given) else []


@lru_cache(4096)
def plan(shape: tuple[int, ...], axis: Any, keepdim: bool) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The shape of a result, and the steps to it: (n, inner, take, blocks, units, elements of a unit) each."""
    ndim = len(shape)
    axes = axes_of(axis, ndim)
    result = tuple(1 if d in axes else size for d, size in enumerate(shape) if keepdim or d not in axes)
    # Neighbouring axes are reduced together, those furthest back first.
    sizes = list(shape)
    steps: list[tuple[int, ...]] = []
    end = ndim
    while end:
        begin = end - 1
        while begin and (begin - 1 in axes) == (end - 1 in axes):
            begin -= 1
        if begin in axes:
            n = math.prod(sizes[begin:end])
            steps += cuts(math.prod(sizes[:begin]), n, math.prod(sizes[end:]))
            sizes[begin:end] = [1] * (end - begin)
        end = begin
    return result, tuple(steps)


@lru_cache(4096)
def matrices(shape: tuple[int, ...], axis: Any) -> tuple[int, int, int] | None:
    """(outer, n, inner) of an array whose axes are neighbours; None where they are not, or where there are none."""
    axes = axes_of(axis, len(shape))
    if not axes or axes[-1] - axes[0] != len(axes) - 1:
        return None
    return math.prod(shape[: axes[0]]), math.prod(shape[axes[0] : axes[-1] + 1]), math.prod(shape[axes[-1] + 1 :])


def cuts(outer: int, n: int, inner: int) -> list[tuple[int, ...]]:
    steps: list[tuple[int, ...]] = []
    while True:
        if inner == 1:
            take = CUT if n > LONG else n
        else:
            take = min(n, DEPTH, max(16, PIECE // inner // 4 * 4)) if outer * n * inner > PIECE or n > DEPTH else n
        blocks = -(-n // take) if take else 1
        steps.append((n, inner, take, blocks, outer * blocks, take * inner))
        if blocks == 1:
            return steps
        n = blocks


def suits(x: Any) -> bool:
    """Whether kernels compute with such an array."""
    return x.__class__ is np.ndarray and x.dtype.char in "fd"


class Along:
    """What is computed along an axis: by kernels down columns and along rows. `run` takes an array, an axis and so on, and gives the
    result, or None where NumPy has to. It becomes a built-in, which knows what to do with small arrays and calls `by_python` for others."""

    kind: str
    limits: tuple[int, ...]

    def __init__(self, name: str, kernels: tuple[Loop, Loop]) -> None:
        self.name = name
        self.kernels = kernels  # by whether there is one column
        self.run: Callable[..., np.ndarray | None] = self.by_python
        self.entry: Any = None

    def by_python(self, x: np.ndarray, axis: Any, option: bool) -> np.ndarray | None:
        raise NotImplementedError

    def learn(self, x: np.ndarray, along: bool) -> None:
        """Tell the built-in of a kernel that has been compiled."""
        from . import along as small
        from . import translate

        if self.entry is None:
            self.entry = small.Entry(self.name, self.by_python, self.kind, small.Limits(*self.limits))
            self.run = self.entry.call
        kind = "f32" if x.dtype.char == "f" else "f64"
        if not self.entry.knows(kind, along):
            self.entry.tell(kind, along, translate.load(self.kernels[along], kind))


class Reduction(Along):
    """A reduction with its kernels."""

    kind, limits = "reduction", (DEPTH, LONG)

    def __init__(self, name: str, *, start: Part, step: Part, term: Part, finish: Part) -> None:
        def shapes(what: str, term: Part, finish: Part) -> tuple[Loop, Loop]:
            parts = {"start": start, "step": step, "term": term, "finish": finish}
            return down_columns(f"{name}_{what}_columns", **parts), along_rows(f"{name}_{what}_rows", **parts)

        super().__init__(name, shapes("whole", term, finish))
        self.first = shapes("first", term, unfinished)
        self.last = self.kernels if term is itself else shapes("last", itself, finish)
        self.between = self.first if term is itself else shapes("between", itself, unfinished)

    def by_python(self, x: np.ndarray, axis: Any, option: bool, p: float = 1.0, levels: np.ndarray | None = None) -> np.ndarray | None:
        if not suits(x):
            return None
        shape, steps = plan(x.shape, axis, option)
        if levels is None:
            levels = x
        elif levels.size != math.prod(shape) or matrices(x.shape, axis) is None:
            return None
        if len(steps) == 1:
            n, inner, take, blocks, units, work = steps[0]
            out = np.empty(shape, x.dtype)
            if not self.kernels[inner == 1].run(out, x, levels, p, n, inner, take, blocks, units, work):
                return None
            self.learn(x, inner == 1)
            return out
        for place, (n, inner, take, blocks, units, work) in enumerate(steps):
            done = place == len(steps) - 1
            kernel = ((self.last if done else self.between) if place else self.first)[inner == 1]
            if place:
                kernel.heat = WARM  # as worth compiling as the first
            out = np.empty(shape if done else units * inner, x.dtype)
            if not kernel.run(out, x, levels, p, n, inner, take, blocks, units, work):
                return None
            x = out
        return x if steps else None


# ---- parts --------------------------------------------------------------------------------------------------------------------------


@part
def itself(x: Any, level: Any, p: Any) -> Any:
    return x


@part
def unfinished(t: Any, level: Any, p: Any) -> Any:
    return t


@part
def zero() -> Any:
    return 0.0


@part
def one() -> Any:
    return 1.0


@part
def lowest() -> Any:
    return -INFINITY


@part
def highest() -> Any:
    return INFINITY


@part
def add(a: Any, b: Any) -> Any:
    return a + b


@part
def multiply(a: Any, b: Any) -> Any:
    return a * b


@part
def larger(a: Any, b: Any) -> Any:
    return maximum(a, b)


@part
def smaller(a: Any, b: Any) -> Any:
    return minimum(a, b)


@part
def divided(t: Any, level: Any, p: Any) -> Any:
    return t / p


@part
def unless_nan(x: Any, level: Any, p: Any) -> Any:
    return select(x == x, x, 0.0)


@part
def nonzero(x: Any, level: Any, p: Any) -> Any:
    return select(x != 0.0, 1.0, 0.0)


@part
def alike(x: Any, level: Any, p: Any) -> Any:
    """Whether an element equals the level, or both are NaN."""
    return select((x == level) | ((x != x) & (level != level)), 1.0, 0.0)


@part
def equal(x: Any, level: Any, p: Any) -> Any:
    return select(x == level, 1.0, 0.0)


@part
def size_alike(x: Any, level: Any, p: Any) -> Any:
    return select(abs(x) == level, 1.0, 0.0)


@part
def size(x: Any, level: Any, p: Any) -> Any:
    return abs(x)


@part
def missing(x: Any, level: Any, p: Any) -> Any:
    return select(x == 0.0, 1.0, 0.0)


@part
def square(x: Any, level: Any, p: Any) -> Any:
    return x * x


@part
def power_of_size(x: Any, level: Any, p: Any) -> Any:
    return power(abs(x), p)


@part
def root(t: Any, level: Any, p: Any) -> Any:
    return sqrt(t)


@part
def root_of_power(t: Any, level: Any, p: Any) -> Any:
    return power(t, 1.0 / p)


@part
def squared_deviation(x: Any, level: Any, p: Any) -> Any:
    d = x - level
    return d * d


@part
def root_of_quotient(t: Any, level: Any, p: Any) -> Any:
    return sqrt(t / p)


@part
def finite_level(level: Any) -> Any:
    return select(abs(level) == INFINITY, 0.0, level)


@part
def exponential(x: Any, level: Any, p: Any) -> Any:
    return exp(x - finite_level(level))


@part
def logarithm(t: Any, level: Any, p: Any) -> Any:
    return log(t) + finite_level(level)


# ---- reductions ---------------------------------------------------------------------------------------------------------------------

total = Reduction("sum", start=zero, step=add, term=itself, finish=divided)  # p = 1, or the number of elements for the mean
product = Reduction("prod", start=one, step=multiply, term=itself, finish=unfinished)
largest = Reduction("max", start=lowest, step=larger, term=itself, finish=unfinished)
smallest = Reduction("min", start=highest, step=smaller, term=itself, finish=unfinished)
nan_total = Reduction("nansum", start=zero, step=add, term=unless_nan, finish=unfinished)
count = Reduction("count", start=zero, step=add, term=nonzero, finish=unfinished)
count_alike = Reduction("count_alike", start=zero, step=add, term=alike, finish=unfinished)
count_equal = Reduction("count_equal", start=zero, step=add, term=equal, finish=unfinished)
count_size_alike = Reduction("count_size_alike", start=zero, step=add, term=size_alike, finish=unfinished)
norm_1 = Reduction("norm_1", start=zero, step=add, term=size, finish=unfinished)
norm_2 = Reduction("norm_2", start=zero, step=add, term=square, finish=root)
norm_p = Reduction("norm_p", start=zero, step=add, term=power_of_size, finish=root_of_power)
norm_most = Reduction("norm_inf", start=zero, step=larger, term=size, finish=unfinished)
norm_least = Reduction("norm_least", start=highest, step=smaller, term=size, finish=unfinished)
variance = Reduction("var", start=zero, step=add, term=squared_deviation, finish=divided)  # level: the mean
deviation = Reduction("std", start=zero, step=add, term=squared_deviation, finish=root_of_quotient)
log_sum = Reduction("logsumexp", start=zero, step=add, term=exponential, finish=logarithm)  # level: the largest


# ---- truth --------------------------------------------------------------------------------------------------------------------------

some_nonzero = Reduction("any", start=zero, step=larger, term=nonzero, finish=unfinished)
some_zero = Reduction("all", start=zero, step=larger, term=missing, finish=unfinished)


def whether_any(x: np.ndarray, axis: Any, keepdim: bool) -> np.ndarray | None:
    found = some_nonzero.run(x, axis, keepdim)
    return None if found is None else found != 0


def whether_all(x: np.ndarray, axis: Any, keepdim: bool) -> np.ndarray | None:
    found = some_zero.run(x, axis, keepdim)
    return None if found is None else found == 0
