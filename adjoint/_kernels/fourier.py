"""Fast Fourier transforms of arrays: which steps (fourier_steps.py) they take, for lengths without prime factors above sixteen.

A line is transformed by itself. Columns are, as many side by side as stay in the cache, and so are short lines. A long line is taken for a
matrix: its columns are transformed and turned by roots of unity, then its rows, whose results are columns again.
"""

from __future__ import annotations

import math
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._serving import compiles
from .calls import LARGEST as UNSHARED
from .fourier_steps import FIRST, LAST, LINES, MIDDLE, MIRROR, MIRRORS, PAIRS, PLANES, ROWS, TURNING, step, transformer
from .loops import cut
from .vectors import LANES, SIZES

Array = Any
LARGEST = 16  # radix
SHORT, LONG, LONGEST = 1 << 6, 1 << 13, 1 << 24  # from which length on a line is transformed by itself, up to which, and at all
NEAR = 1 << 11  # numbers that are transformed at a time, if they are columns
EFFORT = 6  # a step takes as long for a number as a sum for so many
KINDS = {"f": "f32", "d": "f64", "F": "f32", "D": "f64"}
REAL: dict[str, np.dtype[Any]] = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
COMPLEX: dict[str, np.dtype[Any]] = {"f32": np.dtype(np.complex64), "f64": np.dtype(np.complex128)}
WORD = np.dtype(np.int64)
ROOM = np.empty((1 << 15) + 8, WORD)  # for work that is done while the GIL is held, and so by one thread at a time


@cache
def factors(n: int) -> tuple[int, ...] | None:
    """The fewest radices whose product is a length, and of those the most equal ones; None if it has large prime factors."""
    if n <= LARGEST:
        return (n,)
    found = [(radix, *rest) for radix in range(2, LARGEST + 1) if n % radix == 0 and (rest := factors(n // radix))]
    return tuple(sorted(min((len(radices), sum(radices), radices) for radices in found)[2], reverse=True)) if found else None


def roots(parts: Array, kind: str) -> Array:
    """The roots of unity at some parts of a turn, backwards. Real and imaginary parts are along a last dimension."""
    angles = parts * (-2 * math.pi)
    return np.stack([np.cos(angles), np.sin(angles)], -1).astype(REAL[kind])


# ---- programs -----------------------------------------------------------------------------------------------------------------------


class Side(NamedTuple):
    """How numbers lie: the next one of a column is `down` further on, and in a row, if these are lines, `far`."""

    form: str
    down: int = 1
    far: int = 0


Form = tuple[str, list[int]]  # how numbers lie, and how far apart those are that a step goes to


class Program:
    """Steps for the built-in that does them, and their roots."""

    def __init__(self, kind: str, inverse: bool, count: int) -> None:
        self.kind, self.inverse = kind, inverse
        self.count = count  # numbers at a time
        self.far = -(-count // 16) * 16 + 16  # from plane to plane; no power of two, whose multiples compete for places in the cache
        self.steps: list[list[int]] = []
        self.tables = [np.zeros(2, REAL[kind])]
        self.at = 0  # where the next step finds its numbers

    def add(self, radix: int, place: str, table: Array, counts: list[int], source: Form, target: Form) -> None:
        """A step: the turns of its loops, and on both sides how far apart numbers are."""
        (of, apart), (to, apart_there) = source, target
        lanes = next(lanes for lanes in (LANES[self.kind], 4, 1) if lanes <= max(1, counts[-1]))
        there = 1 if to != PLANES else 5 - self.at if self.at > 1 else 2
        offset, inner = sum(table.nbytes for table in self.tables), 2 * SIZES[self.kind] if place == TURNING else 0
        function = step(self.kind, lanes, radix, place, of, to, self.inverse)
        self.steps.append([function, self.at, there, offset, inner, *counts, *apart, *apart_there])
        self.tables.append(table)
        self.at = there

    @cached_property
    def table(self) -> Array:
        return np.concatenate([table.reshape(-1) for table in self.tables]).view(np.int64)

    def transform(self, n: int, width: int, source: Side, target: Side, table: Array | None = None) -> None:
        """Columns of length n, `width` of them side by side; or a line, if that is 1. Results are multiplied by a table."""
        length, s = n, width  # of transforms, and of rows
        for number, radix in enumerate(factors(n) or ()):
            m = length // radix
            of, to = (PLANES, [s * m, s, 0, self.far]), (PLANES, [s, s * radix, 0, self.far])
            counts = [m, 1, s]
            if not number:
                of = source.form, [m * source.down, source.down, 0, source.far or self.far]
            if m == 1:
                if target.form != PLANES:
                    part = s if width == 1 else width  # of a row in planes: a row in the array
                    counts, of[1][2] = [1, s // part, part], part
                    to = target.form, [s // width * target.down, 0, target.down, target.far]
                place, turns = (LAST, np.empty(0, REAL[self.kind])) if table is None else (TURNING, table)
            elif s == 1:
                counts, of[1][1] = [1, 1, m], 0
                place, turns = FIRST, np.moveaxis(roots(np.outer(np.arange(1, radix), np.arange(m)) / length, self.kind), -1, 1)
            else:
                place, turns = MIDDLE, roots(np.outer(np.arange(m), np.arange(1, radix)) / length, self.kind)
            self.add(radix, place, turns, counts, of, to)
            length, s = m, s * radix

    def mirror(self, n: int, width: int, source: Side, target: Side) -> None:
        """Between the transforms of lines of 2·n real numbers and those of n complex ones."""
        angles = np.arange(1, n // 2 + 1) / (2 * n) + 0.25
        table = np.moveaxis(roots(-angles if self.inverse else angles, self.kind), -1, 0)
        of, to = ((side.form, [0, side.down, 0, side.far or self.far]) for side in (source, target))
        self.add(0, MIRROR if width == 1 else MIRRORS, table, [n, 1, n // 2 if width == 1 else width], of, to)

    def transform_real(self, n: int, width: int, source: Side, target: Side) -> None:
        """The same for columns, or a line, of 2·n real numbers: from those, or (inverse) to those."""
        between = Side(PLANES, width)
        if self.inverse:
            self.mirror(n, width, source, between)
            self.transform(n, width, between, target)
        else:
            self.transform(n, width, source, between)
            self.mirror(n, width, between, target)


@lru_cache(64)
def mirrors(n: int, kind: str, inverse: bool) -> Program:
    program = Program(kind, inverse, 0)
    program.mirror(n, 1, Side(PAIRS), Side(PAIRS))
    return program


@lru_cache(64)
def columns(n: int, width: int, kind: str, inverse: bool, source: Side, target: Side, real: bool = False) -> Program:
    program = Program(kind, inverse, n * width)
    (program.transform_real if real else program.transform)(n, width, source, target)
    return program


@lru_cache(4)
def turned_columns(n: int, inner: int, width: int, kind: str, inverse: bool) -> Program:
    """The columns of a matrix that is a long line."""
    program = Program(kind, inverse, n * width)
    table = roots(np.outer(np.arange(n), np.arange(inner)) / (-n * inner if inverse else n * inner), kind)
    program.transform(n, width, Side(PAIRS, inner), Side(PAIRS, inner), table)
    return program


# ---- plans --------------------------------------------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """A run over an array."""

    shape: tuple[int, ...]  # of the result
    dtype: np.dtype[Any]
    scales: bool
    room: int  # words; none where that of all small plans will do
    table: Array
    program: Array
    counts: tuple[int, int, int, int]


def plan(
    program: Program, shape: tuple[int, ...], dtype: np.dtype[Any], count: int, apart: tuple[int, int], inner: int = 1, width: int = 1,
    apart_inside: tuple[int, int] = (0, 0),
) -> Plan:  # fmt: skip
    """A program for each of `count` places, and there for `width` of `inner` ones at a time. They are so far apart, in the array and in the
    result, if numbers have the size of a part of a complex one."""
    size, blocks = SIZES[program.kind], -(-inner // width)
    take, pieces = cut(count * blocks)
    room = 4 * program.far * size
    places = [step * size for side in zip(apart, apart_inside, strict=True) for step in side]
    words = np.array([len(program.steps), room, blocks, inner, width, *places, *np.ravel(program.steps)], WORD)
    work = take * max(1, program.count) * len(program.steps) * EFFORT
    words_of_room = 0 if pieces * work <= UNSHARED and pieces * room < 8 * ROOM.size else pieces * room // 8 + 8
    return Plan(shape, dtype, True, words_of_room, program.table, words, (take, count * blocks, pieces, work))


@lru_cache(512)
def complex_plans(shape: tuple[int, ...], dims: tuple[int, ...], kind: str, inverse: bool) -> list[Plan] | None:
    """Along one dimension after the other."""
    found: list[Plan] = []
    for dim in reversed(dims):
        n, inner, size = shape[dim], math.prod(shape[dim + 1 :]), math.prod(shape)
        if dim < 0 or not size or n == 1 or n > LONGEST or factors(n) is None or (n > LONG and inner > 1):
            return None
        plans = along_lines(shape, n, size // n, kind, inverse) if inner == 1 else [along_columns(shape, n, inner, size, kind, inverse)]
        found += [plan._replace(scales=not found and not i) for i, plan in enumerate(plans)]
    return found


def side_by_side(n: int, inner: int) -> int:
    """How many columns to transform at a time."""
    return min(inner, max(8, NEAR // n // 8 * 8))


def along_columns(shape: tuple[int, ...], n: int, inner: int, size: int, kind: str, inverse: bool) -> Plan:
    width, step = side_by_side(n, inner), 2 * n * inner
    program = columns(n, width, kind, inverse, Side(PAIRS, inner), Side(PAIRS, inner))
    return plan(program, shape, COMPLEX[kind], size // (n * inner), (step, step), inner, width, (2, 2))


def along_lines(shape: tuple[int, ...], n: int, count: int, kind: str, inverse: bool) -> list[Plan]:
    dtype, step = COMPLEX[kind], (2 * n, 2 * n)
    if n < SHORT and count >= LANES[kind]:
        width = side_by_side(n, count)
        return [plan(columns(n, width, kind, inverse, Side(LINES, 1, n), Side(LINES, 1, n)), shape, dtype, 1, (0, 0), count, width, step)]
    if n <= LONG:
        return [plan(columns(n, 1, kind, inverse, Side(PAIRS), Side(PAIRS)), shape, dtype, count, step)]
    rows = next(size for size in range(math.isqrt(n), 0, -1) if n % size == 0)
    width, wide = side_by_side(rows, n // rows), side_by_side(n // rows, rows)
    first = turned_columns(rows, n // rows, width, kind, inverse)
    then = columns(n // rows, wide, kind, inverse, Side(LINES, 1, n // rows), Side(PAIRS, rows))
    return [
        plan(first, shape, dtype, count, step, n // rows, width, (2, 2)),
        plan(then, shape, dtype, count, step, rows, wide, (2 * n // rows, 2)),
    ]


@lru_cache(512)
def real_plans(shape: tuple[int, ...], dim: int, n: int, kind: str, inverse: bool) -> list[Plan] | None:
    """From n real numbers along a dimension, or (inverse) to such. As complex numbers they are half as many."""
    half, count, inner = n // 2, math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
    if dim < 0 or n % 2 or not 2 <= half <= LONGEST or not count * inner or factors(half) is None or (half > LONG and inner > 1):
        return None
    made = (*shape[:dim], n if inverse else half + 1, *shape[dim + 1 :])
    if inner == 1 and half > LONG:
        return long_real_plans((*shape[:dim], half), made, n, count, kind, inverse)
    apart, apart_inside, width = (n * inner, (n + 2) * inner), (1, 2), 1
    sides = Side(PAIRS), Side(PAIRS)
    if inner > 1:
        sides, width = (Side(ROWS, 2 * inner, inner), Side(PAIRS, inner)), side_by_side(half, inner)
    elif half < SHORT and count >= LANES[kind]:
        sides, width = (Side(LINES, 1, half), Side(LINES, 1, half + 1)), side_by_side(half, count)
        count, inner, apart, apart_inside = 1, count, (0, 0), apart
    if inverse:
        sides, apart, apart_inside = sides[::-1], apart[::-1], apart_inside[::-1]
    program = columns(half, width, kind, inverse, *sides, True)
    return [plan(program, made, REAL[kind] if inverse else COMPLEX[kind], count, apart, inner, width, apart_inside)]


def long_real_plans(shape: tuple[int, ...], made: tuple[int, ...], n: int, count: int, kind: str, inverse: bool) -> list[Plan] | None:
    plans = complex_plans(shape, (len(shape) - 1,), kind, inverse)
    if plans is None:
        return None
    if not inverse:
        return [*plans, plan(mirrors(n // 2, kind, inverse), made, COMPLEX[kind], count, (n, n + 2))]
    *before, last = plans
    mirror = plan(mirrors(n // 2, kind, inverse), shape, COMPLEX[kind], count, (n + 2, n))
    return [mirror._replace(scales=False), *before, last._replace(shape=made, dtype=REAL[kind])]


# ---- arrays -------------------------------------------------------------------------------------------------------------------------

def computed(x: Array, plans: list[Plan] | None, scale: float) -> Array | None:
    if plans is None:
        return None
    x, run = np.ascontiguousarray(x), transformer()
    for shape, dtype, scales, room, table, program, counts in plans:
        out = np.empty(shape, dtype)
        if not run(out, x, np.empty(room, WORD) if room else ROOM, table, program, scale if scales else 1.0, *counts):
            return None
        x = out
    return x


def transform(x: Array, dims: tuple[int, ...], scale: float, inverse: bool) -> Array | None:
    """The transform of complex numbers along some dimensions; None where NumPy has to compute it."""
    kind = KINDS.get(x.dtype.char)
    return computed(x, complex_plans(x.shape, dims, kind, inverse), scale) if kind and compiles() else None


def from_real(x: Array, dim: int, scale: float) -> Array | None:
    """The first half of the transform of real numbers along a dimension."""
    kind = KINDS.get(x.dtype.char)
    return computed(x, real_plans(x.shape, dim, x.shape[dim], kind, False), 0.5 * scale) if kind and compiles() else None


def to_real(x: Array, dim: int, n: int, scale: float) -> Array | None:
    """The inverse transform, to n real numbers along a dimension, of a first half."""
    kind = KINDS.get(x.dtype.char)
    if not kind or x.shape[dim] != n // 2 + 1 or not compiles():
        return None
    return computed(x, real_plans(x.shape, dim, n, kind, True), scale)
