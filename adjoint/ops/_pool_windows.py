"""The windows of pooling along one dimension.

Pooling is separable: the sum, and the maximum with its position, are taken along one dimension after the other, the last first. That order
finds the same one of several equal maxima that a search row by row finds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from .._serving import serves
from ._primitives import loops, primitive
from ._registry import Array
from ._rules import in_order

INDEX = np.dtype("int64")
MANY = 8  # places from which on a row of them is computed tap by tap
LONG, FAR = 512, 16  # unless windows of so many elements are so far apart: few places have the same tap in the columns at hand


@dataclass(frozen=True, eq=False, slots=True)  # two are the same if they are one object: that makes them quick to look up
class Windows:
    """For each place, the elements from `starts` to before `stops` in steps of `step`, all within the input."""

    size: int  # of the input
    starts: Array
    stops: Array
    step: int
    counts: Array  # by how much a sum is divided for the mean
    regular: tuple[int, int, int] | None  # kernel size, stride and padding, if windows are of one size apart from the ends


@lru_cache(maxsize=512)
def sliding(size: int, count: int, kernel: int, stride: int, padding: int, dilation: int, include_pad: bool = True) -> Windows:
    """Windows of one size at `count` places. Padding counts for the mean if `include_pad` says so, and never for the maximum."""
    begins = np.arange(count, dtype=INDEX) * stride - padding
    starts = np.where(begins >= 0, begins, begins % dilation)
    stops = np.minimum(begins + (dilation * (kernel - 1) + 1), size)
    counts = np.minimum(begins + kernel, size + padding) - begins if include_pad else stops - starts
    return Windows(size, starts, stops, dilation, counts, (kernel, stride, padding))


@lru_cache(maxsize=512)
def adaptive(size: int, count: int) -> Windows:
    """Windows that together cover the input, as equal in size as possible."""
    whole, more = divmod(size, max(1, count))  # so that nothing overflows
    places = np.arange(count + 1, dtype=INDEX)
    starts, rests = (places * whole + places * more // max(1, count))[:-1], places * more % max(1, count)
    stops = (places * whole + places * more // max(1, count) + (rests > 0))[1:]
    even = count > 0 and more == 0
    return Windows(size, starts, stops, 1, stops - starts, (whole, whole, 0) if even else None)


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


def divisors(windows: tuple[Windows, ...], divisor: int | None) -> Array:
    """By how much the sum at each place is divided."""
    total = np.ones(())
    for line in windows:
        total = total[..., None] * line.counts.astype(float)
    return total if divisor is None else np.full_like(total, divisor)


# ---- maxima -------------------------------------------------------------------------------------------------------------------------


def picks(windows: Windows) -> list[tuple[Any, Array]]:
    """For each element of a window, from the first to the last: an index that takes it at all places, and its positions there. Where a
    window has fewer elements than others, its last one is taken again, which changes no maximum."""
    starts, step = windows.starts, windows.step
    lengths = -(-(windows.stops - starts) // step)
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


def maxima_by_kernel(x: Array, plan: Plan, places: bool = True) -> tuple[Array, Array | None] | None:
    shape = x.shape[: x.ndim - plan.dims] + plan.shape
    if 0 in shape or not serves(x):
        return None
    values, found = np.empty(shape, x.dtype), np.empty(shape, INDEX) if places else None
    if plan.dims == 1 and plan.taps and not places:
        kernel = loops("pool").maxima_in_line
        if kernel.run(values, np.ascontiguousarray(x), plan.table, values.size // plan.columns, plan.work):
            return values, None
    done = search()(values, found, np.ascontiguousarray(x), plan.table, x.size // plan.plane, plan.plane)
    return (values, found) if done else None


def maxima_of_nothing(x: Array, plan: Plan, places: bool = True) -> tuple[Array, Array]:
    """What they look like."""
    shape = x.shape[: x.ndim - plan.dims] + plan.shape
    return np.empty_like(x, order="C", shape=shape), np.empty_like(x, INDEX, order="C", shape=shape)


@primitive("pool.maxima", maxima_by_kernel, meta=maxima_of_nothing)
def maxima(x: Array, plan: Plan, places: bool = True) -> tuple[Array, Array | None]:
    """The maximum over each window of the last dimensions, and its position in them laid out in one line: of several the first, but the
    last NaN if there is one. Where `places` are not asked for, there may be none."""
    lead = x.ndim - plan.dims
    if 0 in x.shape[:lead] + plan.shape:
        return maxima_of_nothing(x, plan)
    index: Array = np.zeros((), INDEX)
    weight = 1
    for axis, line in reversed(list(enumerate(plan.windows, lead))):
        best: Array = None
        source_of_best: Array = None
        for pick, positions in picks(line):
            values = x[along(axis, pick)]
            source = (positions * weight).reshape(-1, *(1,) * (x.ndim - axis - 1)) + (index[along(axis, pick)] if index.ndim else 0)
            if best is None:
                best, source_of_best = values, source
                continue
            better = values > best
            if x.dtype.kind in "fV":
                better |= np.isnan(values)
            best, source_of_best = np.where(better, values, best), np.where(better, source, source_of_best)
        x, index = best, np.broadcast_to(source_of_best, best.shape)
        weight *= line.size
    return in_order(x), in_order(index)


# ---- by compiled code ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """Windows along the last dimensions, and all that compiled code needs to know of them."""

    windows: tuple[Windows, ...]
    dims: int
    shape: tuple[int, ...]  # of the places
    sizes: tuple[int, ...]  # of the input
    by: Array  # what the sum at each place is divided by
    table: Array  # see `_kernels/pool_loops.py`
    taps: int  # elements of a window along the last dimension, if its places are worked on together
    columns: int  # places along the last of three dimensions
    plane: int  # elements of the input
    work: int  # elements that are read or written for a row of places


ONE = sliding(1, 1, 1, 1, 0, 1)  # a dimension that is not there


def merged(windows: tuple[Windows, ...]) -> list[Windows]:
    """Windows of three dimensions. A last dimension that windows cover as a whole is one with the dimension before it: the elements of a
    window follow each other."""
    *lines, last = windows
    while lines and lines[-1].step == last.step == 1 and len(last.starts) == 1 and last.counts[0] == last.size:
        before, n = lines.pop(), last.size
        last = Windows(before.size * n, n * before.starts, n * before.stops, 1, n * before.counts, None)
    return [*[ONE] * (2 - len(lines)), *lines, last]


@lru_cache(maxsize=512)
def plan(windows: tuple[Windows, ...], divisor: int | None = None) -> Plan:
    three = merged(windows)
    lines = [places for line in three for places in (line.starts, line.stops)]
    last, taps = three[-1], (0, 0, 1)  # along the last dimension: how many taps, the position of the first at the first place, the stride
    count = len(last.starts)
    if last.regular is not None and count >= MANY and not (last.step == 1 and last.regular[0] >= LONG and last.regular[1] >= FAR):
        kernel, stride, padding = last.regular
        taps = kernel, -padding, stride
        firsts = np.arange(kernel, dtype=INDEX) * last.step - padding
        ends = np.maximum(0, -(firsts // stride)), np.minimum(count, (last.size - 1 - firsts) // stride + 1)
        lines.append(np.stack(ends, -1).reshape(-1))
    counts, sizes = [len(line.starts) for line in three], [line.size for line in three]
    inside = (0, 0, 0, 0, 1)  # the places along the last dimension whose windows are whole, from the first to before the last; and the taps
    if last.regular is not None and math.prod(sizes) < 2**31:
        kernel, stride, padding = last.regular
        end = (last.size - 1 - last.step * (kernel - 1) + padding) // stride + 1
        inside = -(-padding // stride), min(end, count), kernel, -padding, stride
    table = np.concatenate([np.array([*counts, *sizes, *taps, *(line.step for line in three), *inside], INDEX), *lines])
    plane, rows = math.prod(sizes), counts[0] * counts[1]
    return Plan(
        windows, len(windows), tuple([len(line.starts) for line in windows]), tuple([line.size for line in windows]),
        divisors(windows, divisor), table, taps[0], count, plane, max(plane // max(1, rows), count),
    )  # fmt: skip


@cache
def search() -> Callable[..., bool | None]:
    from .._kernels.pooling import maxima

    return maxima()


def means_directly(x: Array, plan: Plan) -> Array | None:
    """By a kernel, for arrays that are contiguous."""
    out = np.empty(x.shape[: x.ndim - plan.dims] + plan.shape, x.dtype)
    size = out.size
    if not size or not x.size:
        return None
    return out if loops("pool").means.run(out, x, plan.table, plan.by, size // plan.columns, plan.work) else None


def spread_directly(g: Array, plan: Plan) -> Array | None:
    """The share of each number added to all elements of its window."""
    out = np.empty(g.shape[: g.ndim - plan.dims] + plan.sizes, g.dtype)
    if not g.size or not out.size:
        return None
    g, kernel = np.ascontiguousarray(g), loops("pool").add_to_windows
    return out if kernel.run(out, g, plan.table, plan.by, out.size // plan.plane, max(plan.plane, plan.by.size)) else None


def put_directly(g: Array, index: Array, dims: int, shape: tuple[int, ...], dtype: Any) -> Array | None:
    """Zeros of a shape, with `g` added at the positions that `index` names, counted in the last `dims` dimensions."""
    if not g.size:
        return None
    out, plane = np.empty(shape, g.dtype), math.prod(shape[len(shape) - dims :])
    planes = out.size // plane
    return out if loops("pool").put.run(out, np.ascontiguousarray(g), index, g.size // planes, plane, planes, plane) else None


def take_directly(g: Array, index: Array, dims: int) -> Array | None:
    if not g.size or not index.size:
        return None
    g, index, grad = np.ascontiguousarray(g), np.ascontiguousarray(index), np.empty(index.shape, g.dtype)
    plane = math.prod(g.shape[g.ndim - dims :])
    planes = g.size // plane
    return grad if loops("pool").take_back.run(grad, g, index, index.size // planes, plane, planes, plane) else None


def set_directly(x: Array, index: Array, size: tuple[int, ...]) -> Array | None:
    """The same without adding: of several numbers for a position the last. None too if a position is not inside its plane."""
    plane = math.prod(size)
    if not index.size or not plane:
        return None
    out = np.empty((*x.shape[: x.ndim - len(size)], *size), x.dtype)
    planes = out.size // plane
    x, index, strange = np.ascontiguousarray(x), np.ascontiguousarray(index), np.zeros(planes, INDEX)
    done = loops("pool").set_back.run(out, x, index, strange, x.size // planes, plane, planes, plane)
    return out if done and not strange.any() else None
