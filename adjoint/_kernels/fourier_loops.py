"""Fast Fourier transforms of lengths without prime factors above five.

A line of n = n₁ n₂ numbers is taken as a matrix of n₂ columns: its columns are transformed, turned by roots of unity, and transposed, and
then the columns of that. So all loops go over neighbours, and are vectorised. Columns are transformed by Stockham's method, from one half
of a piece's memory to the other and back; real and imaginary parts are kept apart there, by a distance that is a constant: with fewer
addresses to keep, the loops take registers for numbers.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .loops import Floats, Ints, Out, cut, independent, loop, narrow, part_apart

Array = Any
NEAR = 1 << 11  # numbers that are transformed at a time, if they are columns: those that stay in the first cache
SHORT, LONG, LONGEST = 1 << 7, 1 << 13, 1 << 22  # lengths up to which lines are taken for columns, transformed at once, and at all
TALLEST = 1 << 10  # length of columns, of which eight have to fit
APART = LONG + 16  # real and imaginary parts in the memory of a piece, of which there are two of each
REAL: dict[str, np.dtype[Any]] = {"F": np.dtype(np.float32), "D": np.dtype(np.float64)}
SIN_3 = 0.8660254037844386  # of a third of a turn
COS_5, COS_5_2, SIN_5, SIN_5_2 = 0.30901699437494745, -0.8090169943749475, 0.9510565162951535, 0.5877852522924731  # of fifths


@part_apart
def columns(
    memory: Floats, start: int, other: int, n: int, width: int, table: Floats, radices: Ints, first: int, count: int, total: int,
    turn: float,
) -> int:  # fmt: skip
    """Transform `width` columns of length `n`. The answer is where the result is: at `start`, or at the `other` place."""
    here, there, length, s, way = start, other, n, width, narrow(turn)
    for stage in range(first, first + count):
        radix = radices[stage]
        m, jump = length // radix, total // length
        far = s * m
        for p in range(m):
            x, y = here + s * p, there + s * radix * p
            c1, s1 = table[p * jump], table[total + p * jump] * way
            if radix == 2:
                for q in independent(range(s)):
                    re, im = memory[x + q] - memory[x + far + q], memory[x + q + APART] - memory[x + far + q + APART]
                    memory[y + q] = memory[x + q] + memory[x + far + q]
                    memory[y + q + APART] = memory[x + q + APART] + memory[x + far + q + APART]
                    memory[y + s + q] = re * c1 - im * s1
                    memory[y + s + q + APART] = re * s1 + im * c1
            if radix == 3:
                c2, s2, sine = table[2 * p * jump], table[total + 2 * p * jump] * way, way * SIN_3
                for q in independent(range(s)):
                    a, a_i = memory[x + q], memory[x + q + APART]
                    b, b_i = memory[x + far + q], memory[x + far + q + APART]
                    c, c_i = memory[x + 2 * far + q], memory[x + 2 * far + q + APART]
                    sum_r, sum_i = b + c, b_i + c_i
                    t, t_i = a - 0.5 * sum_r, a_i - 0.5 * sum_i
                    u, u_i = sine * (b_i - c_i), sine * (c - b)
                    memory[y + q] = a + sum_r
                    memory[y + q + APART] = a_i + sum_i
                    memory[y + s + q] = (t + u) * c1 - (t_i + u_i) * s1
                    memory[y + s + q + APART] = (t + u) * s1 + (t_i + u_i) * c1
                    memory[y + 2 * s + q] = (t - u) * c2 - (t_i - u_i) * s2
                    memory[y + 2 * s + q + APART] = (t - u) * s2 + (t_i - u_i) * c2
            if radix == 4:
                c2, s2 = table[2 * p * jump], table[total + 2 * p * jump] * way
                c3, s3 = table[3 * p * jump], table[total + 3 * p * jump] * way
                for q in independent(range(s)):
                    a, a_i = memory[x + q], memory[x + q + APART]
                    b, b_i = memory[x + far + q], memory[x + far + q + APART]
                    c, c_i = memory[x + 2 * far + q], memory[x + 2 * far + q + APART]
                    d, d_i = memory[x + 3 * far + q], memory[x + 3 * far + q + APART]
                    even, even_i, odd, odd_i = a + c, a_i + c_i, b + d, b_i + d_i
                    t, t_i, u, u_i = a - c, a_i - c_i, way * (b_i - d_i), way * (d - b)
                    memory[y + q] = even + odd
                    memory[y + q + APART] = even_i + odd_i
                    memory[y + s + q] = (t + u) * c1 - (t_i + u_i) * s1
                    memory[y + s + q + APART] = (t + u) * s1 + (t_i + u_i) * c1
                    memory[y + 2 * s + q] = (even - odd) * c2 - (even_i - odd_i) * s2
                    memory[y + 2 * s + q + APART] = (even - odd) * s2 + (even_i - odd_i) * c2
                    memory[y + 3 * s + q] = (t - u) * c3 - (t_i - u_i) * s3
                    memory[y + 3 * s + q + APART] = (t - u) * s3 + (t_i - u_i) * c3
            if radix == 5:
                c2, s2 = table[2 * p * jump], table[total + 2 * p * jump] * way
                c3, s3 = table[3 * p * jump], table[total + 3 * p * jump] * way
                c4, s4 = table[4 * p * jump], table[total + 4 * p * jump] * way
                for q in independent(range(s)):
                    a, a_i = memory[x + q], memory[x + q + APART]
                    b, b_i = memory[x + far + q], memory[x + far + q + APART]
                    c, c_i = memory[x + 2 * far + q], memory[x + 2 * far + q + APART]
                    d, d_i = memory[x + 3 * far + q], memory[x + 3 * far + q + APART]
                    e, e_i = memory[x + 4 * far + q], memory[x + 4 * far + q + APART]
                    outer, outer_i, inner, inner_i = b + e, b_i + e_i, c + d, c_i + d_i
                    turned, turned_i, bent, bent_i = way * (b_i - e_i), way * (e - b), way * (c_i - d_i), way * (d - c)
                    t, t_i = a + COS_5 * outer + COS_5_2 * inner, a_i + COS_5 * outer_i + COS_5_2 * inner_i
                    u, u_i = SIN_5 * turned + SIN_5_2 * bent, SIN_5 * turned_i + SIN_5_2 * bent_i
                    v, v_i = a + COS_5_2 * outer + COS_5 * inner, a_i + COS_5_2 * outer_i + COS_5 * inner_i
                    w, w_i = SIN_5_2 * turned - SIN_5 * bent, SIN_5_2 * turned_i - SIN_5 * bent_i
                    memory[y + q] = a + outer + inner
                    memory[y + q + APART] = a_i + outer_i + inner_i
                    memory[y + s + q] = (t + u) * c1 - (t_i + u_i) * s1
                    memory[y + s + q + APART] = (t + u) * s1 + (t_i + u_i) * c1
                    memory[y + 2 * s + q] = (v + w) * c2 - (v_i + w_i) * s2
                    memory[y + 2 * s + q + APART] = (v + w) * s2 + (v_i + w_i) * c2
                    memory[y + 3 * s + q] = (v - w) * c3 - (v_i - w_i) * s3
                    memory[y + 3 * s + q + APART] = (v - w) * s3 + (v_i - w_i) * c3
                    memory[y + 4 * s + q] = (t - u) * c4 - (t_i - u_i) * s4
                    memory[y + 4 * s + q + APART] = (t - u) * s4 + (t_i - u_i) * c4
        here, there = there, here
        length, s = m, s * radix
    return here


@part_apart
def line(
    memory: Floats, start: int, n1: int, n2: int, table: Floats, turns: Floats, radices: Ints, count1: int, count2: int, turn: float
) -> Any:
    """Transform n1 n2 numbers. The answer is where the result is, in the first half of the memory or the second."""
    n, way = n1 * n2, narrow(turn)
    here = columns(memory, start, start + 2 * APART, n1, n2, table, radices, 0, count1, n, turn)
    there = start + start + 2 * APART - here
    for j in range(n2):
        for k in independent(range(n1)):
            re, im = memory[here + k * n2 + j], memory[here + k * n2 + j + APART]
            c, s = turns[j * n1 + k], turns[n + j * n1 + k] * way
            memory[there + j * n1 + k] = re * c - im * s
            memory[there + j * n1 + k + APART] = re * s + im * c
    return columns(memory, there, here, n2, n1, table, radices, count1, count2, n, turn)


@loop(reorder=True, unroll=False)
def complex_lines(
    out: Out, x: Floats, memory: Floats, table: Floats, turns: Floats, radices: Ints, n1: int, n2: int, count1: int, count2: int,
    turn: float, scale: float, take: int, lines: int, pieces: range,
) -> None:  # fmt: skip
    n = n1 * n2
    for piece in pieces:
        start = piece * 4 * APART
        for i in range(piece * take, min(piece * take + take, lines)):
            for k in independent(range(n)):
                memory[start + k] = x[2 * (i * n + k)]
                memory[start + k + APART] = x[2 * (i * n + k) + 1]
            at = line(memory, start, n1, n2, table, turns, radices, count1, count2, turn)
            for k in independent(range(n)):
                out[2 * (i * n + k)] = memory[at + k] * narrow(scale)
                out[2 * (i * n + k) + 1] = memory[at + k + APART] * narrow(scale)


@loop(reorder=True)
def separate(out: Out, z: Floats, table: Floats, n: int, scale: float, lines: range) -> None:
    """From the transform of a line of which neighbours were taken for the two parts of one number, the first half of that line's own."""
    half = narrow(scale) * 0.5
    for i in lines:
        of, to = 2 * i * n, 2 * i * (n + 1)
        out[to] = (z[of] + z[of + 1]) * narrow(scale)
        out[to + 1] = 0.0
        out[to + 2 * n] = (z[of] - z[of + 1]) * narrow(scale)
        out[to + 2 * n + 1] = 0.0
        for k in independent(range(1, n)):
            re, im, re_2, im_2 = z[of + 2 * k], z[of + 2 * k + 1], z[of + 2 * (n - k)], z[of + 2 * (n - k) + 1]
            even, even_i, odd, odd_i = re + re_2, im - im_2, im + im_2, re_2 - re
            c, s = table[k], table[2 * n + k]
            out[to + 2 * k] = (even + odd * c - odd_i * s) * half
            out[to + 2 * k + 1] = (even_i + odd * s + odd_i * c) * half


@loop(reorder=True)
def join(z: Out, x: Floats, table: Floats, n: int, scale: float, lines: range) -> None:
    """The other way round."""
    for i in lines:
        of, to, by = 2 * i * (n + 1), 2 * i * n, narrow(scale)
        z[to] = (x[of] + x[of + 2 * n]) * by
        z[to + 1] = (x[of] - x[of + 2 * n]) * by
        for k in independent(range(1, n)):
            re, im, re_2, im_2 = x[of + 2 * k], x[of + 2 * k + 1], x[of + 2 * (n - k)], x[of + 2 * (n - k) + 1]
            even, even_i, odd, odd_i = re + re_2, im - im_2, re - re_2, im + im_2
            c, s = table[k], -table[2 * n + k]
            z[to + 2 * k] = (even - (odd * s + odd_i * c)) * by
            z[to + 2 * k + 1] = (even_i + (odd * c - odd_i * s)) * by


@loop(reorder=True, unroll=False)
def complex_columns(
    out: Out, x: Floats, memory: Floats, table: Floats, radices: Ints, n: int, inner: int, down: int, across: int, most: int, blocks: int,
    count: int, turn: float, scale: float, take: int, units: int, pieces: range,
) -> None:  # fmt: skip
    """Of matrices with `inner` columns, blocks of which are units. Elements are `down` and `across` apart."""
    for piece in pieces:
        start = piece * 4 * APART
        for unit in range(piece * take, min(piece * take + take, units)):
            first = unit % blocks * most
            width, of = min(most, inner - first), unit // blocks * n * inner + first * across
            for i in range(n):
                for k in independent(range(width)):
                    memory[start + i * width + k] = x[2 * (of + i * down + k * across)]
                    memory[start + i * width + k + APART] = x[2 * (of + i * down + k * across) + 1]
            at = columns(memory, start, start + 2 * APART, n, width, table, radices, 0, count, n, turn)
            for i in range(n):
                for k in independent(range(width)):
                    out[2 * (of + i * down + k * across)] = memory[at + i * width + k] * narrow(scale)
                    out[2 * (of + i * down + k * across) + 1] = memory[at + i * width + k + APART] * narrow(scale)


# ---- plans --------------------------------------------------------------------------------------------------------------------------


def factors(n: int) -> list[int] | None:
    """The radices of a length; None if it has others."""
    found = []
    for radix in (4, 2, 3, 5):
        while n % radix == 0:
            found.append(radix)
            n //= radix
    return found if n == 1 else None


def roots(places: Array, n: int, dtype: np.dtype[Any]) -> Array:
    """The roots of unity of order `n` at some places: the real parts, and after them the imaginary ones."""
    angles = places.reshape(-1) % n * (-2 * math.pi / n)
    return np.concatenate([np.cos(angles), np.sin(angles)]).astype(dtype)


@lru_cache(64)
def plan(n: int, dtype: np.dtype[Any]) -> tuple[Array, Array, Array, int, int, int, int] | None:
    """How a line is transformed: the roots, those between the two halves of the work, radices, and sizes."""
    if not 1 < n <= LONG or factors(n) is None:
        return None
    n1 = next(size for size in range(math.isqrt(n), 0, -1) if n % size == 0)
    n2 = n // n1
    first, last = factors(n1) or [], factors(n2) or []
    turns = roots(np.outer(np.arange(n2), np.arange(n1)), n, dtype)
    return roots(np.arange(n), n, dtype), turns, np.array([*first, *last], np.int64), n1, n2, len(first), len(last)


@lru_cache(64)
def plan_of_columns(n: int, dtype: np.dtype[Any]) -> tuple[Array, Array] | None:
    found = factors(n)
    return None if found is None or not 1 < n <= TALLEST else (roots(np.arange(n), n, dtype), np.array(found, np.int64))


@lru_cache(64)
def all_roots(n: int, dtype: np.dtype[Any]) -> Array:
    return roots(np.arange(n), n, dtype)


# ---- arrays -------------------------------------------------------------------------------------------------------------------------


def transform(x: Array, axis: int, scale: float, inverse: bool) -> Array | None:
    """The transform of complex numbers along an axis; None where NumPy has to compute it."""
    n, last = x.shape[axis], axis == x.ndim - 1
    if not x.size:
        return None
    x = np.ascontiguousarray(x)
    if not last and n > TALLEST:
        found = transform(x.swapaxes(axis, -1), x.ndim - 1, scale, inverse)
        return None if found is None else np.ascontiguousarray(found.swapaxes(axis, -1))
    if not last:
        inner = math.prod(x.shape[axis + 1 :])
        return by_columns(x, n, inner, inner, 1, scale, inverse)
    lines = x.size // n
    if n <= SHORT and lines >= 8:
        return by_columns(x, n, lines, 1, n, scale, inverse)
    return by_lines(x, n, lines, scale, inverse) if n <= LONG else in_two_steps(x, n, scale, inverse)


def by_lines(x: Array, n: int, lines: int, scale: float, inverse: bool) -> Array | None:
    real = REAL[x.dtype.char]
    if (found := plan(n, real)) is None:
        return None
    table, turns, radices, *sizes = found
    take, pieces = cut(lines)
    out, memory, work = np.empty(x.shape, x.dtype), np.empty(pieces * 4 * APART, real), take * 4 * n.bit_length() * n
    turn = -1.0 if inverse else 1.0
    done = complex_lines.run(out.view(real), x.view(real), memory, table, turns, radices, *sizes, turn, scale, take, lines, pieces, work)
    return out if done else None


def by_columns(x: Array, n: int, inner: int, down: int, across: int, scale: float, inverse: bool) -> Array | None:
    """The transform of columns of length `n`; there are `inner` side by side, whose elements are `down` and `across` apart."""
    real = REAL[x.dtype.char]
    if (found := plan_of_columns(n, real)) is None:
        return None
    table, radices = found
    most = min(inner, max(8, NEAR // n))
    blocks = -(-inner // most)
    units = x.size // (n * inner) * blocks
    take, pieces = cut(units)
    out, memory, work = np.empty(x.shape, x.dtype), np.empty(pieces * 4 * APART, real), take * 4 * n.bit_length() * n * most
    done = complex_columns.run(
        out.view(real), x.view(real), memory, table, radices, n, inner, down, across, most, blocks, len(radices), -1.0 if inverse else 1.0,
        scale, take, units, pieces, work,
    )  # fmt: skip
    return out if done else None


@lru_cache(4)
def turns_between(n1: int, n2: int, inverse: bool, dtype: np.dtype[Any]) -> Array:
    angles = np.outer(np.arange(n1), np.arange(n2)) * ((2 if inverse else -2) * math.pi / (n1 * n2))
    return np.exp(1j * angles).astype(dtype)


def in_two_steps(x: Array, n: int, scale: float, inverse: bool) -> Array | None:
    """A long line as a matrix, whose columns are transformed, and then its rows."""
    n1 = next((size for size in range(math.isqrt(n), 0, -1) if n % size == 0), 1)
    if n > LONGEST or n1 * 64 < math.isqrt(n) or factors(n) is None:
        return None
    matrix = transform(x.reshape(*x.shape[:-1], n1, n // n1), x.ndim - 1, scale, inverse)
    if matrix is None:
        return None
    matrix *= turns_between(n1, n // n1, inverse, x.dtype)
    rows = transform(matrix, x.ndim, 1.0, inverse)
    return None if rows is None else rows.swapaxes(-1, -2).reshape(x.shape)


def from_real(x: Array, scale: float) -> Array | None:
    """The first half of the transforms of real rows."""
    n = x.shape[-1] // 2
    if x.shape[-1] % 2 or not x.size:
        return None
    x = np.ascontiguousarray(x)
    z = transform(x.view(x.dtype.char.upper()), x.ndim - 1, 1.0, False)
    if z is None:
        return None
    out = np.empty((*x.shape[:-1], n + 1), z.dtype)
    return out if separate.run(out.view(x.dtype), z.view(x.dtype), all_roots(2 * n, x.dtype), n, scale, z.size // n, 4 * n) else None


def to_real(x: Array, n: int, scale: float) -> Array | None:
    """The inverse transforms, to rows of `n` real numbers, of first halves."""
    if n % 2 or not x.size or x.shape[-1] != n // 2 + 1:
        return None
    real, n = REAL[x.dtype.char], n // 2
    x, z = np.ascontiguousarray(x), np.empty((*x.shape[:-1], n), x.dtype)
    if not join.run(z.view(real), x.view(real), all_roots(2 * n, real), n, scale, z.size // n, 4 * n):
        return None
    out = transform(z, x.ndim - 1, 1.0, True)
    return None if out is None else out.view(real)
