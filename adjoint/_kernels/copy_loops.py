"""Large copies between arrays of any strides, shared by threads: what `contiguous`, `cat`, `flip`, `pad` and the like consist of.

The dimensions of both arrays are put in the order in which they lie in the target and joined where they can be, so that at most four are
left, of which the last is the innermost. NumPy copies what is small or has more of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from .loops import Floats, Loop, Out, Strided, loop

Shape = tuple[int, ...]

LARGE = 1 << 14  # elements of which a copy is worth a kernel
ROW = 8192  # elements of a row that are one piece of work at most
TILE = 16  # elements along both sides of the squares in which a matrix is transposed: their rows fill a cache line
SHORT = 8  # rows that are not worth the work of finding them


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


def assign(target: np.ndarray, source: np.ndarray) -> None:
    """`target[...] = source`, which are of one shape (or broadcast) and have no common memory."""
    if target.size < LARGE or not assigned(target, source):
        np.copyto(target, source)


def copy(x: np.ndarray) -> np.ndarray:
    """A contiguous copy."""
    if x.size < LARGE:
        return x.copy()
    result = np.empty(x.shape, x.dtype)
    assign(result, x)
    return result


def join(arrays: Sequence[np.ndarray], dim: int) -> np.ndarray:
    """What np.concatenate does, and what it refuses."""
    first = arrays[0]
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
