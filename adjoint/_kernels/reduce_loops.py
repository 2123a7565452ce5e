"""Reductions: many elements become one.

An array is seen as `outer` matrices of `n` rows and `inner` columns, and the rows are reduced. A reduction is made of parts:

    start()               what an empty one gives
    term(x, level, p)     what an element counts for; `level` is a number for each result (where nobody asks, any), `p` one for all
    step(a, b)            two become one
    finish(t, level, p)   the result; of a complex number each part, with the other one as the level

A kernel reduces `take` rows at a time, so that many rows become `blocks` partial results, which are reduced again. How the work is cut
depends on the shape alone. Sums of blocks are taken in double, so that long sums are as precise as pairwise ones.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np

from .axes import CUT, DEPTH, LONG, NARROW, Along, axes_of, dense, matrices, plan
from .copy_loops import copy
from .emit_types import BY_DTYPE
from .loops import (
    FLOATS,
    HALVES,
    WHOLE,
    Floats,
    Loop,
    Part,
    Results,
    Strided,
    element_room,
    exp,
    given,
    log,
    maximum,
    minimum,
    narrow,
    part,
    power,
    room,
    select,
    sqrt,
    template,
    wide,
)  # fmt: skip

INFINITY = math.inf
BLOCK = 1024  # elements of a row that are reduced in their own type
TILE = 2048  # columns at a time, whose partial results stay in the nearest cache
PIECES, PARTS = 2, 3  # the numbers, in along.py, of the loops for pieces of a long row, and for their results
SMALL = 1 << 15  # elements of an array that is copied in no time


ALL = (*FLOATS, *HALVES, *WHOLE)

start = step = term = finish = beside = given


# ---- loops --------------------------------------------------------------------------------------------------------------------------


@template(reorder=True, kinds=ALL)
def along_rows(
    out: Results, x: Floats, levels: Floats, p: float, n: int, inner: int, take: int, blocks: int, units: range
) -> None:
    """One column: each result comes from contiguous memory. Whole rows are reduced four at a time."""
    q = narrow(p)
    unit = units.start
    while blocks == 1 and unit + 4 <= units.stop:
        a = unit * n
        b = a + n
        c = b + n
        d = c + n
        level_a, level_b, level_c, level_d = levels[unit], levels[unit + 1], levels[unit + 2], levels[unit + 3]
        total_a = wide(start())
        total_b = wide(start())
        total_c = wide(start())
        total_d = wide(start())
        for begin in range(0, n, BLOCK):
            some_a, some_b, some_c, some_d = start(), start(), start(), start()
            for j in range(begin, min(begin + BLOCK, n)):
                some_a = step(some_a, term(x[a + j], level_a, q))
                some_b = step(some_b, term(x[b + j], level_b, q))
                some_c = step(some_c, term(x[c + j], level_c, q))
                some_d = step(some_d, term(x[d + j], level_d, q))
            total_a = step(total_a, wide(some_a))
            total_b = step(total_b, wide(some_b))
            total_c = step(total_c, wide(some_c))
            total_d = step(total_d, wide(some_d))
        out[unit] = narrow(finish(total_a, wide(level_a), p))
        out[unit + 1] = narrow(finish(total_b, wide(level_b), p))
        out[unit + 2] = narrow(finish(total_c, wide(level_c), p))
        out[unit + 3] = narrow(finish(total_d, wide(level_d), p))
        unit += 4
    for piece in range(unit, units.stop):
        row = piece
        first = piece * n
        if blocks > 1:
            row = piece // blocks
            first = row * n + piece % blocks * take
        last = min(first + take, row * n + n)
        level = levels[row]
        total = wide(start())
        for begin in range(first, last, BLOCK):
            some = start()
            for j in range(begin, min(begin + BLOCK, last)):
                some = step(some, term(x[j], level, q))
            total = step(total, wide(some))
        out[piece] = narrow(finish(total, wide(level), p))


@template(reorder=True, kinds=ALL)
def down_columns(
    out: Results, x: Floats, levels: Floats, p: float, n: int, inner: int, take: int, blocks: int, units: range
) -> None:
    """The results of all columns at once, four rows at a time. Rows of few columns are taken together as one of many."""
    together = max(1, min(NARROW // inner, take // 8))
    apart = together * inner
    for unit in units:
        matrix = unit // blocks
        top = unit % blocks * take
        height = min(take, n - top)
        rows = height // together
        fours = rows // 4 * 4
        q = narrow(p)
        so_far = room(TILE)
        level = element_room(TILE)
        for left in range(0, inner, TILE):
            width = min(TILE, inner - left)
            wider = width * together
            first = (matrix * n + top) * inner + left
            for i in range(0, wider, width):
                for j in range(width):
                    level[i + j] = levels[matrix * inner + left + j]
            for j in range(wider):
                so_far[j] = start()
            for i in range(0, fours, 4):
                a = first + i * apart
                b = a + apart
                c = b + apart
                d = c + apart
                for j in range(wider):
                    ab = step(term(x[a + j], level[j], q), term(x[b + j], level[j], q))
                    cd = step(term(x[c + j], level[j], q), term(x[d + j], level[j], q))
                    so_far[j] = step(step(ab, cd), so_far[j])  # in this order: else "the larger" becomes a slow masked store
            for i in range(fours, rows + 1):
                a = first + i * apart
                for j in range(min(wider, (height - i * together) * width)):
                    so_far[j] = step(term(x[a + j], level[j], q), so_far[j])
            parts = together
            while parts > 1:
                half = (parts + 1) // 2
                for j in range((parts - half) * width):
                    so_far[j] = step(so_far[j + half * width], so_far[j])
                parts = half
            to = unit * inner + left
            for j in range(width):
                out[to + j] = finish(so_far[j], beside(level[j], so_far[j ^ 1]), q)


@template(reorder=True, kinds=FLOATS)
def along_pairs(
    out: Results, x: Floats, levels: Floats, p: float, n: int, inner: int, take: int, blocks: int, units: range
) -> None:
    """One column of complex numbers, whose parts are reduced each by itself."""
    q = narrow(p)
    for unit in units:
        end = (unit // blocks + 1) * n
        first = end - n + unit % blocks * take
        last = min(first + take, end)
        total_a, total_b = wide(start()), wide(start())
        for begin in range(first, last, BLOCK):
            some_a, some_b = start(), start()
            for j in range(begin, min(begin + BLOCK, last)):
                some_a = step(some_a, term(x[2 * j], start(), q))
                some_b = step(some_b, term(x[2 * j + 1], start(), q))
            total_a = step(total_a, wide(some_a))
            total_b = step(total_b, wide(some_b))
        out[2 * unit] = narrow(finish(total_a, total_b, p))
        out[2 * unit + 1] = narrow(finish(total_b, total_a, p))


@template(reorder=True, kinds=ALL)
def along_strided_rows(
    out: Results, x: Strided, p: float, n: int, apart: int, rows1: int, apart0: int, apart1: int, take: int, blocks: int, units: range
) -> None:
    """Partial results of rows whose elements are `apart`, and which are themselves some distances apart."""
    q = narrow(p)
    for unit in units:
        row = unit // blocks
        at = row // rows1 * apart0 + row % rows1 * apart1
        end = min(unit % blocks * take + take, n)
        total = wide(start())
        for first in range(unit % blocks * take, end, BLOCK):
            last = min(first + BLOCK, end)
            some = start()
            if apart == 1:
                for j in range(at + first, at + last):
                    some = step(some, term(x[j], start(), q))
            elif apart == 2:  # a constant, so that it is vectorised
                for j in range(first, last):
                    some = step(some, term(x[at + 2 * j], start(), q))
            else:
                for j in range(first, last):
                    some = step(some, term(x[at + apart * j], start(), q))
            total = step(total, wide(some))
        out[unit] = narrow(total)


# ---- how a reduction is made of them ------------------------------------------------------------------------------------------------

INT64, BOOL, FLOAT32 = np.dtype("int64"), np.dtype("bool"), np.dtype("float32")
OWN, SUM, COUNT, TRUTH = range(4)  # dtypes of results: that of the elements; the same unless they are whole numbers; int64; bool


@cache
def dtypes_of(dtype: np.dtype[Any], kinds: tuple[str, ...], results: int) -> tuple[Any, Any] | None:
    """The dtypes of the results of a reduction, and of partial ones. None where there are no kernels."""
    kind = BY_DTYPE.get(dtype.name)
    if kind not in kinds:
        return None
    if results == TRUTH:
        result = dtype if kind == "u8" else BOOL
    else:
        result = INT64 if results == COUNT or (results == SUM and kind in WHOLE) else dtype
    return result, FLOAT32 if kind in HALVES and result is dtype else result


@lru_cache(1024)
def in_memory_order(shape: tuple[int, ...], strides: tuple[int, ...], axis: Any) -> tuple[list[int], Any, list[int]]:
    """The axes in the order of memory, those that `axis` names there, and how to put them back."""
    order = sorted(range(len(shape)), key=lambda d: (-abs(strides[d]), d))
    axes = axes_of(axis, len(shape))
    return order, None if len(axes) == len(shape) else tuple(order.index(d) for d in axes), [order.index(d) for d in range(len(shape))]


@lru_cache(1024)
def strided_rows(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[int, ...] | None:
    """The numbers that `along_strided_rows` takes, without the last: how long and how far apart rows are. None if it takes more."""
    rows: list[tuple[int, int]] = []
    for size, stride in [(n, step) for n, step in zip(shape[:-1], strides[:-1], strict=True) if n != 1]:
        if rows and rows[-1][1] == size * stride:
            rows[-1] = rows[-1][0] * size, stride
        else:
            rows.append((size, stride))
    if len(rows) > 2 or strides[-1] % itemsize or any(stride % itemsize for _, stride in rows):
        return None
    (_, apart0), (rows1, apart1) = [(1, 0)] * (2 - len(rows)) + rows
    n = shape[-1]
    take = CUT if n > LONG else n
    return n, strides[-1] // itemsize, rows1, apart0 // itemsize, apart1 // itemsize, take, -(-n // take)


class Reduction(Along):
    """A reduction with its kernels, of some kinds of elements. `results` says of which dtype its results are."""

    kind, limits = "reduction", (DEPTH, LONG)

    def __init__(
        self, name: str, *, start: Part, step: Part, term: Part, finish: Part, kinds: tuple[str, ...] = FLOATS, results: int = OWN,
        mean: bool = False, finish_part: Part | None = None,
    ) -> None:  # fmt: skip
        def shapes(what: str, term: Part, finish: Part) -> tuple[Loop, Loop]:
            parts = {"start": start, "step": step, "term": term, "finish": finish}
            return down_columns(f"{name}_{what}_columns", beside=level_itself, **parts), along_rows(f"{name}_{what}_rows", **parts)

        super().__init__(name, shapes("whole", term, finish))
        as_it_is = finish is unfinished  # then the first and the last part of a long reduction are the same code
        self.first = self.kernels if as_it_is else shapes("first", term, unfinished)
        self.of_strided = along_strided_rows(f"{name}_strided_rows", start=start, step=step, term=term)
        self.last = self.kernels if term is itself else shapes("last", itself, finish)
        self.between = self.first if term is itself else self.last if as_it_is else shapes("between", itself, unfinished)
        self.kinds, self.results, self.mean = kinds, results, mean
        self.finish_part = finish_part  # how to finish a part of a complex number, if parts are reduced each by itself
        if finish_part is not None:
            parts = {"start": start, "step": step, "term": term}
            self.of_complex = [
                (down_columns(f"{name}_{what}_parts", finish=end, beside=other_part, **parts),
                 along_pairs(f"{name}_{what}_pairs", finish=end, **parts))
                for what, end in (("first", unfinished), ("whole", finish_part))
            ]  # fmt: skip
        if mean:
            self.kind = "mean"

    def by_python(self, x: np.ndarray, axis: Any, option: bool, p: float = 1.0, levels: np.ndarray | None = None) -> np.ndarray | None:
        if x.__class__ is not np.ndarray or (dtypes := dtypes_of(x.dtype, self.kinds, self.results)) is None:
            return self.of_parts(x, axis, option) if self.finish_part and x.__class__ is np.ndarray and x.dtype.char in "FD" else None
        if not x.flags.c_contiguous:
            if x.size > SMALL and levels is None:
                out = self.reordered(x, axis, option, p)
                if out is not None or (out := self.strided(x, axis, option, p, *dtypes)) is not None:
                    return out
            x = copy(x)
        result, partial = dtypes
        shape, steps = plan(x.shape, axis, option)
        if levels is not None and levels.size != math.prod(shape):
            return None
        if levels is not None and matrices(x.shape, axis) is None:
            axes = axes_of(axis, x.ndim)
            x = copy(np.moveaxis(x, axes, range(-len(axes), 0)))
            steps = plan(x.shape, tuple(range(x.ndim - len(axes), x.ndim)), option)[1]
        if self.mean:
            p = x.size / max(1, math.prod(shape))
        if len(steps) == 1:
            n, inner, take, blocks, units, work = steps[0]
            out = np.empty(shape, result)
            if not self.kernels[inner == 1].run(out, x, x if levels is None else levels, p, n, inner, take, blocks, units, work):
                return None
            self.learn(x, out, inner == 1)
            return out
        done = self.in_steps(x, levels, p, steps, shape, result, partial)
        if done is not None and len(steps) == 2 and steps[0][1] == steps[1][4] == 1 and (x.dtype, result, PIECES) not in self.known:
            self.tell(x.dtype, result, PARTS, self.last[1], partial, result)
            self.tell(x.dtype, result, PIECES, self.first[1], x.dtype, partial)
        return done

    def of_parts(self, x: np.ndarray, axis: Any, option: bool) -> np.ndarray | None:
        """The same for complex numbers: the parts of those in a row are pairs, and others are columns of their own."""
        shape, steps = plan(x.shape, axis, option)
        if not steps or not x.size:
            return None
        dtype, part = x.dtype, np.dtype(x.dtype.char.lower())
        p = x.size / math.prod(shape) if self.mean else 1.0
        x = dense(x).reshape(-1).view(part)
        for place, (n, inner, take, blocks, units, work) in enumerate(steps, 1 - len(steps)):
            kernel = self.of_complex[place == 0][inner == 1]
            out = np.empty(2 * units * inner, part)
            if not kernel.run(out, x, x, p, n, 2 * inner, take, blocks, units, 2 * work):
                return None
            x = out
        first, whole = self.of_complex
        if len(steps) == 1:
            self.learn_complex(dtype, part, {int(inner == 1): whole[inner == 1]})
        elif len(steps) == 2 and steps[0][1] == inner == units == 1:
            self.learn_complex(dtype, part, {PARTS: whole[1], PIECES: first[1]})
        return x.view(dtype).reshape(shape)

    def learn_complex(self, dtype: Any, part: Any, loops: dict[int, Loop]) -> None:
        for place, loop in loops.items():
            if (dtype, dtype, place) not in self.known:
                self.tell(dtype, dtype, place, loop, part, part)

    def in_steps(
        self, x: np.ndarray, levels: np.ndarray | None, p: float, steps: tuple[tuple[int, ...], ...], shape: tuple[int, ...], result: Any,
        partial: Any, begun: bool = False,
    ) -> np.ndarray | None:  # fmt: skip
        """The result after some steps, of which the first has been taken if it is `begun`."""
        for place, (n, inner, take, blocks, units, work) in enumerate(steps):
            done = place == len(steps) - 1
            later = begun or place
            kernel = ((self.last if done else self.between) if later else self.first)[inner == 1]
            out = np.empty(shape, result) if done else np.empty(units * inner, partial)
            if not kernel.run(out, x, x if levels is None else levels, p, n, inner, take, blocks, units, work):
                return None
            x = out
        return x if steps else None

    def strided(self, x: np.ndarray, axis: Any, option: bool, p: float, result: Any, partial: Any) -> np.ndarray | None:
        """The same for rows that are not contiguous, or not beside each other."""
        axes = axes_of(axis, x.ndim)
        if x.ndim - 1 not in axes or (numbers := strided_rows(x.shape, x.strides, x.itemsize)) is None:
            return None
        *_, take, blocks = numbers
        parts = np.empty((*x.shape[:-1], blocks), partial)
        if not self.of_strided.run(parts, x, p, *numbers, parts.size, take):
            return None
        shape = plan(x.shape, axis, option)[0]
        p = x.size / math.prod(shape) if self.mean else p
        return self.in_steps(parts, None, p, plan(parts.shape, axis, option)[1], shape, result, partial, True)

    def reordered(self, x: np.ndarray, axis: Any, option: bool, p: float) -> np.ndarray | None:
        """The same for an array whose memory is contiguous, but not in the order of its axes."""
        order, axes, back = in_memory_order(x.shape, x.strides, axis)
        if not (found := x.transpose(order)).flags.c_contiguous or (out := self.run(found, axes, True, p)) is None:
            return None
        if len(out.shape) - len(axes_of(axis, x.ndim)) <= 1:  # what is left is in order
            return out.reshape(plan(x.shape, axis, option)[0])
        out = dense(out.transpose(back))
        return out if option else out.reshape(plan(x.shape, axis, False)[0])


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
def divided_part(t: Any, other: Any, p: Any) -> Any:
    return (t + other * 0.0) / p  # as by a complex number: what is infinite or NaN in one part leaves none of the other


@part
def level_itself(level: Any, other: Any) -> Any:
    return level


@part
def other_part(level: Any, other: Any) -> Any:
    return other


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
def difference(x: Any, level: Any, p: Any) -> Any:
    return x - level


@part
def level_and_quotient(t: Any, level: Any, p: Any) -> Any:
    return level + t / p


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

total = Reduction("sum", start=zero, step=add, term=itself, finish=unfinished, kinds=ALL, results=SUM, finish_part=unfinished)
mean = Reduction("mean", start=zero, step=add, term=itself, finish=divided, kinds=(*FLOATS, *HALVES), mean=True, finish_part=divided_part)
product = Reduction("prod", start=one, step=multiply, term=itself, finish=unfinished, kinds=ALL, results=SUM)
largest = Reduction("max", start=lowest, step=larger, term=itself, finish=unfinished, kinds=ALL)
smallest = Reduction("min", start=highest, step=smaller, term=itself, finish=unfinished, kinds=ALL)
nan_total = Reduction("nansum", start=zero, step=add, term=unless_nan, finish=unfinished, kinds=(*FLOATS, *HALVES))
count = Reduction("count", start=zero, step=add, term=nonzero, finish=unfinished, kinds=ALL, results=COUNT)
count_alike = Reduction("count_alike", start=zero, step=add, term=alike, finish=unfinished)
count_equal = Reduction("count_equal", start=zero, step=add, term=equal, finish=unfinished)
count_size_alike = Reduction("count_size_alike", start=zero, step=add, term=size_alike, finish=unfinished)
norm_1 = Reduction("norm_1", start=zero, step=add, term=size, finish=unfinished, kinds=(*FLOATS, *HALVES))
norm_2 = Reduction("norm_2", start=zero, step=add, term=square, finish=root, kinds=(*FLOATS, *HALVES))
norm_p = Reduction("norm_p", start=zero, step=add, term=power_of_size, finish=root_of_power, kinds=(*FLOATS, *HALVES))
norm_most = Reduction("norm_inf", start=zero, step=larger, term=size, finish=unfinished, kinds=(*FLOATS, *HALVES))
norm_least = Reduction("norm_least", start=highest, step=smaller, term=size, finish=unfinished, kinds=(*FLOATS, *HALVES))
mean_from = Reduction("mean_from", start=zero, step=add, term=difference, finish=level_and_quotient)  # level: some element
variance = Reduction("var", start=zero, step=add, term=squared_deviation, finish=divided)  # level: the mean
deviation = Reduction("std", start=zero, step=add, term=squared_deviation, finish=root_of_quotient)
log_sum = Reduction("logsumexp", start=zero, step=add, term=exponential, finish=logarithm)  # level: the largest
some = Reduction("any", start=zero, step=larger, term=nonzero, finish=unfinished, kinds=ALL, results=TRUTH)
every = Reduction("all", start=one, step=smaller, term=nonzero, finish=unfinished, kinds=ALL, results=TRUTH)
