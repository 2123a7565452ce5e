"""Copies between arrays of any strides, large ones shared by threads: what `contiguous`, `cat`, `flip`, `pad` and the like consist of.

The dimensions of both arrays are put in the order in which they lie in the target and joined where they can be, so that at most four are
left, of which the last is the innermost. NumPy copies what is small or has more of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from .._layout import suggests_channels_last
from . import memory
from .loops import Floats, Loop, Out, Strided, loop, narrow

Shape = tuple[int, ...]

LARGE = 1 << 14  # elements of which a copy is worth a kernel,
MIDDLE = 1 << 12  # and if those of a row are apart
ROW = 8192  # elements of a row that are one piece of work at most
TILE = 16  # elements along both sides of the squares in which a matrix is transposed: their rows fill a cache line
SHORT = 8  # rows that are not worth the work of finding them
MOST = 4  # arrays that one kernel joins


@loop
def copy_rows(
    target: Strided, source: Strided, n: int, into: int, step: int, n1: int, n2: int, into0: int, into1: int, into2: int, step0: int,
    step1: int, step2: int, blocks: int, units: range,
) -> None:  # fmt: skip
    """`into` and `step` are the strides of the target and of the source."""
    for unit in units:
        row = unit // blocks
        first = unit % blocks * ROW
        last = min(first + ROW, n)
        a = row // n2 // n1
        b = row // n2 % n1
        c = row % n2
        to = a * into0 + b * into1 + c * into2
        at = a * step0 + b * step1 + c * step2
        if into == 1 and step == 1:
            for j in range(first, last):
                target[to + j] = source[at + j]
        elif into == 1 and step == 0:
            value = source[at]
            for j in range(first, last):
                target[to + j] = value
        elif into == 1 and step == -1:
            for j in range(first, last):
                target[to + j] = source[at - j]
        else:
            for j in range(first, last):
                target[to + j * into] = source[at + j * step]


@loop
def transpose_tiles(
    target: Strided, source: Strided, rows: int, columns: int, into: int, step: int, n1: int, into0: int, into1: int, step0: int,
    step1: int, tiles: int, units: range,
) -> None:  # fmt: skip
    """Matrices whose rows are contiguous in the target and whose columns are in the source. A unit is a line of tiles."""
    for unit in units:
        matrix = unit // tiles
        first = unit % tiles * TILE
        last = min(first + TILE, rows)
        to = matrix // n1 * into0 + matrix % n1 * into1
        at = matrix // n1 * step0 + matrix % n1 * step1
        for left in range(0, columns, TILE):
            right = min(left + TILE, columns)
            if last - first == TILE and right - left == TILE:
                for i in range(TILE):
                    for j in range(TILE):
                        target[to + (first + i) * into + left + j] = source[at + first + i + (left + j) * step]
            else:
                for i in range(first, last):
                    for j in range(left, right):
                        target[to + i * into + j] = source[at + i + j * step]


@loop
def join_rows(
    out: Out, a: Floats, b: Floats, c: Floats, d: Floats, an: int, bn: int, cn: int, dn: int, blocks: int, units: range
) -> None:
    """Rows of up to four arrays one after the other, those of missing arrays having no length; a unit is a block of a row."""
    to_b = an + bn
    to_c = to_b + cn
    width = to_c + dn
    for unit in units:
        row = unit // blocks
        first = unit % blocks * ROW
        last = min(first + ROW, width)
        at = row * width
        for j in range(first, min(last, an)):
            out[at + j] = a[row * an + j]
        for j in range(max(first, an), min(last, to_b)):
            out[at + j] = b[row * bn + j - an]
        for j in range(max(first, to_b), min(last, to_c)):
            out[at + j] = c[row * cn + j - to_b]
        for j in range(max(first, to_c), last):
            out[at + j] = d[row * dn + j - to_c]


@loop
def interleave(out: Out, a: Floats, b: Floats, places: range) -> None:
    """The same for two arrays with rows of one element."""
    for i in places:
        out[2 * i] = a[i]
        out[2 * i + 1] = b[i]


@loop
def repeat_rows(out: Out, x: Floats, count: int, inner: int, rows: range) -> None:
    """Rows of some elements, each so many times."""
    if inner == 1:
        for k in range(count):
            for i in rows:
                out[i * count + k] = x[i]
    else:
        for i in rows:
            for to in range(i * count * inner, (i + 1) * count * inner, inner):
                for j in range(inner):
                    out[to + j] = x[i * inner + j]


def repeat(x: np.ndarray, count: int, dim: int) -> np.ndarray | None:
    """Each slice along a dimension so many times in a row; None where NumPy has to repeat them."""
    shape = (*x.shape[:dim], x.shape[dim] * count, *x.shape[dim + 1 :])
    out = np.empty(shape, x.dtype)
    inner = math.prod(x.shape[dim + 1 :])
    return out if out.size and repeat_rows.run(out, x, count, inner, x.size // inner, count * inner) else None


@loop
def with_zeros(out: Out, x: Floats, places: range) -> None:
    """Complex numbers of real ones."""
    for i in places:
        out[2 * i] = x[i]
        out[2 * i + 1] = 0.0


def complex_of(x: np.ndarray, dtype: np.dtype[np.complexfloating], otherwise: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Real numbers as complex ones, by `otherwise` where precision changes or there is no kernel."""
    if x.dtype.char == dtype.char.lower() and x.flags.c_contiguous:
        out = np.empty(x.shape, dtype)
        if with_zeros.run(out.reshape(-1).view(x.dtype), x, x.size, 2):
            return out
    return otherwise(x)


@loop
def roll_rows(out: Out, x: Floats, width: int, cut: int, blocks: int, units: range) -> None:
    """Rows that begin at `cut` and go on at their beginning; a unit is a block of a row."""
    for unit in units:
        at = unit // blocks * width
        first = unit % blocks * ROW
        last = min(first + ROW, width)
        for j in range(first, min(last, width - cut)):
            out[at + j] = x[at + cut + j]
        for j in range(max(first, width - cut), last):
            out[at + j] = x[at + cut + j - width]


@loop
def fill_blocks(out: Out, value: float, count: int, blocks: range) -> None:
    number = narrow(value)
    for block in blocks:
        for j in range(block * ROW, min(block * ROW + ROW, count)):
            out[j] = number


@loop
def lower_triangle(out: Out, x: Floats, height: int, width: int, diagonal: int, rows: range) -> None:
    for row in rows:
        at = row * width
        edge = max(0, min(width, row % height + diagonal + 1))
        for j in range(edge):
            out[at + j] = x[at + j]
        for j in range(edge, width):
            out[at + j] = 0.0


@loop
def upper_triangle(out: Out, x: Floats, height: int, width: int, diagonal: int, rows: range) -> None:
    for row in rows:
        at = row * width
        edge = max(0, min(width, row % height + diagonal))
        for j in range(edge):
            out[at + j] = 0.0
        for j in range(edge, width):
            out[at + j] = x[at + j]


def lower(x: np.ndarray, diagonal: int) -> np.ndarray | None:
    return triangle(lower_triangle, x, diagonal)


def upper(x: np.ndarray, diagonal: int) -> np.ndarray | None:
    return triangle(upper_triangle, x, diagonal)


def triangle(kernel: Loop, x: np.ndarray, diagonal: int) -> np.ndarray | None:
    """A triangle of matrices, or None where NumPy has to cut it out."""
    height, width = x.shape[-2:]
    out = np.empty(x.shape, x.dtype)
    rows = height if len(x.shape) == 2 else x.size // (width or 1)
    return out if kernel.run(out, x, height, width, diagonal, rows, width) else None


@loop
def clear_triangle(out: Out, height: int, width: int, diagonal: int, upper: int, rows: range) -> None:
    for row in rows:
        at = row * width
        edge = max(0, min(width, row % height + diagonal))
        first = edge if upper else 0
        last = width if upper else edge
        for j in range(first, last):
            out[at + j] = 0.0


def cleared(x: np.ndarray, diagonal: int, upper: bool) -> bool | None:
    """Write zeros below a diagonal of matrices, or from it on. None, and nothing is written, where NumPy has to."""
    height, width = x.shape[-2:]
    return clear_triangle.run(x, height, width, diagonal, int(upper), x.size // (width or 1), width)


def fill(target: np.ndarray, value: float) -> None:
    """`target[...] = value`, which is a number that the target can hold."""
    size = target.size
    if size < LARGE or value.__class__ not in (int, float) or not fill_blocks.run(target, value, size, -(-size // ROW), ROW):
        target.fill(value)


def assign(target: np.ndarray, source: np.ndarray) -> None:
    """`target[...] = source`, which are of one shape (or broadcast) and have no common memory."""
    if target.size < LARGE or not assigned(target, source):
        np.copyto(target, source)


def copy(x: np.ndarray) -> np.ndarray:
    """A contiguous copy."""
    if x.size < LARGE and (x.size < MIDDLE or x.strides[-1] == x.itemsize):
        return x.copy()
    result = (memory.empty if x.nbytes >= memory.HUGE else np.empty)(x.shape, x.dtype)
    if x.dtype.kind in "ciu" and x.itemsize in WORDS and x.flags.c_contiguous:
        assign(result.view(WORDS[x.itemsize]), x.view(WORDS[x.itemsize]))
    elif not assigned(result, x):
        np.copyto(result, x)
    return result


def are_whole(*arrays: np.ndarray) -> bool:
    """Whether arrays have all of their memory, and so none in common if they are different ones."""
    return all(map(memory.is_whole, arrays))


WORDS = {4: np.float32, 8: np.float64, 16: np.float64}  # as which other types of so many bytes are copied


def join(arrays: Sequence[np.ndarray], dim: int, new: bool = False) -> np.ndarray:
    """What np.concatenate does, and what it refuses; if the dimension is new, what np.stack does. (A built-in takes its place when ops that
    join have been used a few times.)"""
    if new:
        return stack(arrays, dim)
    first = arrays[0]
    if not first.flags.c_contiguous and -first.ndim <= dim < first.ndim and all(map(suggests_channels_last, arrays)):
        order = (0, *range(2, first.ndim), 1)
        moved = [x.transpose(order) if x.ndim == first.ndim else x for x in arrays]
        return join(moved, order.index(dim % first.ndim)).transpose(np.argsort(order))
    if first.size < LARGE and arrays[-1].size < LARGE:
        return np.ascontiguousarray(np.concatenate(arrays, axis=dim))  # NumPy follows the memory of what it joins
    if 2 <= len(arrays) <= MOST:
        whole = joined(first, arrays, join_plan(dim, *[x.shape for x in arrays]))
        if whole is not None:
            return whole
    ndim = first.ndim
    if not -ndim <= dim < ndim or any(x.dtype is not first.dtype or x.ndim != ndim for x in arrays):
        return np.concatenate(arrays, axis=dim)
    dim %= ndim
    before, after = first.shape[:dim], first.shape[dim + 1 :]
    if any(x.shape[:dim] != before or x.shape[dim + 1 :] != after for x in arrays):
        return np.concatenate(arrays, axis=dim)
    whole = np.empty((*before, sum([x.shape[dim] for x in arrays]), *after), first.dtype)
    lead = (slice(None),) * dim
    end = 0
    for x in arrays:
        start, end = end, end + x.shape[dim]
        assign(whole[(*lead, slice(start, end))], x)
    return whole


def stack(arrays: Sequence[np.ndarray], dim: int) -> np.ndarray:
    first = arrays[0]
    if any(x.shape != first.shape for x in arrays):
        raise ValueError("arrays of different shapes")
    if dim == 0 and first.size < LARGE:
        return np.array(arrays)
    if 2 <= len(arrays) <= MOST:
        whole = joined(first, arrays, stack_plan(dim, len(arrays), first.shape))
        if whole is not None:
            return whole
    lead = (slice(None),) * dim
    return join([x[(*lead, None)] for x in arrays], dim)


Plan = tuple[Shape, tuple[int, ...]]  # the shape of a result, and the numbers that `join_rows` takes


def joined(first: np.ndarray, arrays: Sequence[np.ndarray], plan: Plan | None) -> np.ndarray | None:
    """Up to four arrays joined by one kernel; None if it does not serve."""
    if plan is None:
        return None
    shape, numbers = plan
    whole = np.empty(shape, first.dtype)
    if numbers:
        return whole if join_rows.run(whole, *arrays, *[first] * (MOST - len(arrays)), *numbers) else None
    return whole if interleave.run(whole, *arrays, first.size, 2) else None


@lru_cache(1024)
def join_plan(dim: int, *shapes: Shape) -> Plan | None:
    first = shapes[0]
    dim = dim + len(first) if dim < 0 else dim
    if not 0 <= dim < len(first) or any(len(shape) != len(first) for shape in shapes):
        return None
    outer, inner = first[:dim], first[dim + 1 :]
    if any(shape[:dim] != outer or shape[dim + 1 :] != inner for shape in shapes):
        return None
    return plan_of_rows((*outer, sum(shape[dim] for shape in shapes), *inner), outer, [math.prod(shape[dim:]) for shape in shapes])


@lru_cache(1024)
def stack_plan(dim: int, count: int, shape: Shape) -> Plan | None:
    return plan_of_rows((*shape[:dim], count, *shape[dim:]), shape[:dim], [math.prod(shape[dim:])] * count)


def plan_of_rows(shape: Shape, outer: Shape, widths: list[int]) -> Plan | None:
    """For rows so long of each array. None where there is nothing to copy, or rows are too short for a large array."""
    rows, width = math.prod(outer), sum(widths)
    if widths == [1, 1]:
        return shape, ()
    if not rows * width or (rows * width >= LARGE and min(widths) < SHORT):
        return None
    blocks = -(-width // ROW)
    return shape, (*widths, *(0,) * (MOST - len(widths)), blocks, rows * blocks, min(width, ROW))


def roll(x: np.ndarray, shift: int, dim: int) -> np.ndarray | None:
    """The elements moved along a dimension; None where NumPy has to do it."""
    out = np.empty(x.shape, x.dtype)
    return out if roll_rows.run(out, x, *roll_plan(x.shape, shift, dim)) else None


@lru_cache(1024)
def roll_plan(shape: Shape, shift: int, dim: int) -> tuple[int, ...]:
    width = math.prod(shape[dim:])
    blocks = -(-width // ROW)
    cut = -shift % (shape[dim] or 1) * math.prod(shape[dim + 1 :])
    return width, cut, blocks, math.prod(shape[:dim]) * blocks, min(width, ROW)


def assigned(target: np.ndarray, source: np.ndarray) -> bool | None:
    """The same by a kernel; None if none serves."""
    if target.dtype is not source.dtype:
        return None
    if source.shape != target.shape:
        source = np.broadcast_to(source, target.shape)
    kernel, numbers = plan(target.shape, target.strides, source.strides, target.itemsize)
    return kernel.run(target, source, *numbers) if numbers else None


@lru_cache(1024)
def plan(shape: Shape, target: Shape, source: Shape, size: int) -> tuple[Loop, tuple[int, ...]]:
    """The kernel for these strides, and the numbers it takes; none at all where NumPy has to copy."""
    lines = sorted([(into // size, step // size, n) for into, step, n in zip(target, source, shape, strict=True) if n != 1], reverse=True)
    dims = lines[:1]
    for into, step, n in lines[1:]:
        before = dims[-1]
        if before[0] == into * n and before[1] == step * n:
            dims[-1] = (into, step, n * before[2])
        else:
            dims.append((into, step, n))
    if len(dims) > 4:
        return copy_rows, ()
    into, step, n = dims.pop()
    if into == 1 and step not in (-1, 0, 1):
        for place, (rows_into, rows_step, rows) in enumerate(dims):
            if rows_step == 1 and rows >= SHORT:
                del dims[place]
                (into0, step0, n0), (into1, step1, n1) = [(0, 0, 1)] * (2 - len(dims)) + dims
                tiles = -(-rows // TILE)
                units = n0 * n1 * tiles
                return transpose_tiles, (rows, n, rows_into, step, n1, into0, into1, step0, step1, tiles, units, TILE * n)
    if n < SHORT:
        return copy_rows, ()
    (into0, step0, n0), (into1, step1, n1), (into2, step2, n2) = [(0, 0, 1)] * (3 - len(dims)) + dims
    blocks = -(-n // ROW)
    units = n0 * n1 * n2 * blocks
    return copy_rows, (n, into, step, n1, n2, into0, into1, into2, step0, step1, step2, blocks, units, min(n, ROW))
