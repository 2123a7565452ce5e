"""The windows of pooling along one dimension.

Pooling is separable: the sum, and the maximum with its position, are taken along one dimension after the other, the last first. That order
finds the same one of several equal maxima that a search row by row finds.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ._registry import Array
from ._warm import KINDS, Heat

INDEX = np.dtype("int64")
_warm = Heat(2e5)


class Windows(NamedTuple):
    """For each place, the elements from `starts` to before `stops` in steps of `step`, all within the input."""

    size: int  # of the input
    starts: tuple[int, ...]
    stops: tuple[int, ...]
    step: int
    counts: tuple[int, ...]  # by how much a sum is divided for the mean
    regular: tuple[int, int, int] | None  # kernel size, stride and padding, if windows are of one size apart from the ends


@lru_cache(maxsize=512)
def sliding(size: int, count: int, kernel: int, stride: int, padding: int, dilation: int, include_pad: bool = True) -> Windows:
    """Windows of one size at `count` places. Padding counts for the mean if `include_pad` says so, and never for the maximum."""
    begins = range(-padding, -padding + count * stride, stride)
    starts = tuple(b if b >= 0 else b + -(b // dilation) * dilation for b in begins)
    stops = tuple(min(b + dilation * (kernel - 1) + 1, size) for b in begins)
    padded = tuple(min(b + kernel, size + padding) - b for b in begins)
    inside = tuple(stop - start for start, stop in zip(starts, stops, strict=True))
    return Windows(size, starts, stops, dilation, padded if include_pad else inside, (kernel, stride, padding))


@lru_cache(maxsize=512)
def adaptive(size: int, count: int) -> Windows:
    """Windows that together cover the input, as equal in size as possible."""
    starts = tuple(i * size // count for i in range(count))
    stops = tuple(-(-(i + 1) * size // count) for i in range(count))
    even = count > 0 and size % count == 0
    counts = tuple(stop - start for start, stop in zip(starts, stops, strict=True))
    return Windows(size, starts, stops, 1, counts, (size // count, size // count, 0) if even else None)


def along(axis: int, item: Any) -> tuple[Any, ...]:
    """An index for one axis."""
    return (slice(None),) * axis + (item,)


# ---- sums ---------------------------------------------------------------------------------------------------------------------------


def extent(windows: Windows) -> tuple[int, int, int, int]:
    """Of regular windows: kernel size, stride, padding before, and the size of the input with all padding that is reached."""
    assert windows.regular is not None
    kernel, stride, padding = windows.regular
    reached = max(0, len(windows.starts) - 1) * stride + kernel
    return kernel, stride, padding, max(reached, padding + windows.size)


def sums(x: Array, axis: int, windows: Windows) -> Array:
    """The sum over each window along an axis."""
    count = len(windows.starts)
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    if windows.regular is None or not count:
        out = np.empty(shape, x.dtype)
        for place, (start, stop) in enumerate(zip(windows.starts, windows.stops, strict=True)):
            np.sum(x[along(axis, slice(start, stop))], axis=axis, out=out[along(axis, place)])
        return out
    kernel, stride, padding, whole = extent(windows)
    if whole > windows.size:
        wide = np.zeros((*x.shape[:axis], whole, *x.shape[axis + 1 :]), x.dtype)
        wide[along(axis, slice(padding, padding + windows.size))] = x
        x = wide
    last = (count - 1) * stride + 1
    out = x[along(axis, slice(0, last, stride))].copy()
    for tap in range(1, kernel):
        out += x[along(axis, slice(tap, tap + last, stride))]
    return out


def spread(g: Array, axis: int, windows: Windows) -> Array:
    """The transpose of `sums`: each number added to all elements of its window."""
    count = len(windows.starts)
    shape = (*g.shape[:axis], windows.size, *g.shape[axis + 1 :])
    if windows.regular is None or not count:
        out = np.zeros(shape, g.dtype)
        for place, (start, stop) in enumerate(zip(windows.starts, windows.stops, strict=True)):
            out[along(axis, slice(start, stop))] += g[along(axis, slice(place, place + 1))]
        return out
    kernel, stride, padding, whole = extent(windows)
    out = np.zeros((*g.shape[:axis], whole, *g.shape[axis + 1 :]), g.dtype)
    last = (count - 1) * stride + 1
    for tap in range(kernel):
        out[along(axis, slice(tap, tap + last, stride))] += g
    return out[along(axis, slice(padding, padding + windows.size))]


def divisors(windows: tuple[Windows, ...], dtype: Any) -> Array:
    """By how much the sum at each place is divided."""
    total = np.ones((), dtype)
    for line in windows:
        total = total[..., None] * np.array(line.counts, dtype)
    return total


# ---- maxima -------------------------------------------------------------------------------------------------------------------------


def picks(windows: Windows) -> list[tuple[Any, Array]]:
    """For each element of a window, from the first to the last: an index that takes it at all places, and its positions there. Where a
    window has fewer elements than others, its last one is taken again, which changes no maximum."""
    starts, step = np.array(windows.starts, INDEX), windows.step
    lengths = -(-(np.array(windows.stops, INDEX) - starts) // step)
    found = []
    for tap in range(int(lengths.max())):
        positions = starts + np.minimum(tap, lengths - 1) * step
        gaps = np.diff(positions)
        gap = int(gaps[0]) if gaps.size else 1
        if gap > 0 and (gaps == gap).all():
            found.append((slice(int(positions[0]), int(positions[-1]) + 1, gap), positions))
        else:
            found.append((positions, positions))
    return found


def maxima(x: Array, windows: tuple[Windows, ...]) -> tuple[Array, Array]:
    """The maximum over each window of the last dimensions, and its position in them laid out in one line: of several the first, but the
    last NaN if there is one."""
    lead = x.ndim - len(windows)
    shape = (*x.shape[:lead], *(len(line.starts) for line in windows))
    if 0 in shape:
        return np.empty(shape, x.dtype), np.empty(shape, INDEX)
    if _warm(x.size, x):
        return maxima_directly(np.ascontiguousarray(x), windows, shape)
    index: Array = np.zeros((), INDEX)
    weight = 1
    for axis, line in reversed(list(enumerate(windows, lead))):
        best: Array = None
        found: Array = None
        for pick, positions in picks(line):
            values = x[along(axis, pick)]
            source = (positions * weight).reshape(-1, *(1,) * (x.ndim - axis - 1)) + (index[along(axis, pick)] if index.ndim else 0)
            if best is None:
                best, found = values, source
                continue
            better = values > best
            if x.dtype.kind in "fV":
                better |= np.isnan(values)
            best, found = np.where(better, values, best), np.where(better, source, found)
        x, index = best, np.broadcast_to(found, best.shape)
        weight *= line.size
    return np.array(x, order="C"), np.array(index, order="C")


# ---- by compiled code ---------------------------------------------------------------------------------------------------------------


class Tables(NamedTuple):
    """Windows as compiled code takes them, see `_kernels/pooling.py`."""

    starts: Array
    stops: Array
    first: int
    last: int
    taps: int
    origin: int
    stride: int


@lru_cache(maxsize=512)
def tables(windows: Windows) -> Tables:
    starts, stops = np.array(windows.starts, INDEX), np.array(windows.stops, INDEX)
    if windows.regular is None:
        return Tables(starts, stops, 0, 0, 0, 0, 1)
    kernel, stride, padding = windows.regular
    first = -(-padding // stride)
    last = (windows.size - 1 - windows.step * (kernel - 1) + padding) // stride + 1
    return Tables(starts, stops, first, min(last, len(starts)), kernel, -padding, stride)


ONE = sliding(1, 1, 1, 1, 0, 1)  # a dimension that is not there


def side_by_side(g: Array, windows: tuple[Windows, ...], divisor: int | None) -> Array | None:
    """The transpose of a mean over windows of one size that neither overlap nor leave gaps; None if they are not such."""
    from .._kernels.pool_loops import shared_out

    lines = [ONE] * (3 - len(windows)) + list(windows)
    counts = [len(line.starts) for line in lines]
    kernels = [line.regular[0] for line in lines if line.regular and line.regular[1:] == (line.regular[0], 0)]
    sizes = [line.size for line in lines]
    if len(kernels) < 3 or g.dtype.kind != "f" or any(n * k > size for n, k, size in zip(counts, kernels, sizes, strict=True)):
        return None
    out = np.empty((*g.shape[: g.ndim - len(windows)], *(line.size for line in windows)), g.dtype)
    plane = math.prod(sizes)
    by = math.prod(kernels) if divisor is None else divisor
    done = plane and shared_out.run(out, np.ascontiguousarray(g), float(by), *sizes, *counts, *kernels, out.size // plane, plane)
    return out if done else None


def maxima_directly(x: Array, windows: tuple[Windows, ...], shape: tuple[int, ...]) -> tuple[Array, Array]:
    from .._kernels.blocks import over, run, table
    from .._kernels.pooling import MAXIMA, function

    values, index = np.empty(shape, x.dtype), np.empty(shape, INDEX)
    lines = [ONE] * (3 - len(windows)) + list(windows)
    a, b, c = map(tables, lines)
    plane = lines[0].size * lines[1].size * lines[2].size
    planes, out_plane = x.size // plane, len(a.starts) * len(b.starts) * len(c.starts)
    kernel = function("maxima", KINDS[x.dtype.char])
    source, target, place = x.ctypes.data, values.ctypes.data, index.ctypes.data

    def work(first: int, last: int) -> None:
        run(kernel, table(
            MAXIMA, source=source + first * plane * x.itemsize, values=target + first * out_plane * x.itemsize,
            index=place + first * out_plane * 8, planes=last - first, source_plane=plane, counts_a=len(a.starts), counts_b=len(b.starts),
            counts_c=len(c.starts), size_b=lines[1].size, size_c=lines[2].size, starts_a=a.starts.ctypes.data,
            stops_a=a.stops.ctypes.data, step_a=lines[0].step, starts_b=b.starts.ctypes.data, stops_b=b.stops.ctypes.data,
            step_b=lines[1].step, starts_c=c.starts.ctypes.data, stops_c=c.stops.ctypes.data, step_c=lines[2].step, first=c.first,
            last=c.last if plane < 2**31 else c.first, taps=c.taps, origin=c.origin, stride=c.stride,
        ))  # fmt: skip

    over(work, planes, plane)
    return values, index


def put_directly(g: Array, index: Array, shape: tuple[int, int]) -> Array:
    """Zeros of a shape (planes, elements) with `g` (planes, count) added at the positions that `index` names."""
    from .._kernels.blocks import over, run, table
    from .._kernels.pooling import PUT, function

    out = np.empty(shape, g.dtype)
    count, plane, size = g.shape[1], shape[1], g.itemsize
    kernel = function("put", KINDS[g.dtype.char])
    numbers, places, target = g.ctypes.data, index.ctypes.data, out.ctypes.data

    def work(first: int, last: int) -> None:
        run(kernel, table(
            PUT, numbers=numbers + first * count * size, index=places + first * count * 8, target=target + first * plane * size,
            planes=last - first, count=count, plane=plane,
        ))  # fmt: skip

    over(work, shape[0], plane)
    return out
