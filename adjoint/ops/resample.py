"""Resampling: every element of the result is a weighted sum of a few elements of the input, one dimension after the other.

Interpolation and the padding modes that repeat elements are such maps. They are linear, and their transpose is the gradient, so two array
functions and two ops suffice for all; what else is here are PyTorch's names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np

from .._dtype import from_numpy_dtype
from .._layout import as_images, by_pixels, suggests_channels_last
from ._pool_windows import along
from ._precision import is_half, wide
from ._primitives import loops, primitive
from ._registry import LEADING, LINEAR, Array, op
from ._rules import call, cast, contiguous

NOTHING = -(1 << 40)  # the number of an element that is not there


class Taps:
    """A linear map along one dimension: result `i` is the sum over `t` of `weight[i, t]` times element `index[i, t]` of `size` elements.
    Without weights it picks one element each."""

    def __init__(self, size: int, index: Array, weight: Array | None = None) -> None:
        self.size = size
        self.index = index
        self.weight = weight

    @property
    def count(self) -> int:
        return len(self.index)

    def times(self, other: Taps) -> Taps:
        """The map of two dimensions, laid out in one."""
        places, taps = self.count * other.count, self.index.shape[1] * other.index.shape[1]
        first, second = self.index[:, None, :, None], other.index[:, None]
        index = np.where((first < 0) | (second < 0), NOTHING, first * other.size + second)
        weight = self.weights[:, None, :, None] * other.weights[:, None]
        return Taps(self.size * other.size, index.reshape(places, taps), weight.reshape(places, taps))

    def in_whole_numbers(self) -> tuple[Taps, int]:
        """The map with weights rounded to multiples of a power of two, so small that they just fit into 16 bits; and its inverse."""
        weight = self.weights.copy()
        for t in range(1, weight.shape[1]):  # an element that is taken twice, at the border, is taken once
            again = self.index[:, t] == self.index[:, t - 1]
            weight[:, t] += np.where(again, weight[:, t - 1], 0)
            weight[again, t - 1] = 0
        bits = next((bits for bits in range(22) if int(0.5 + weight.max() * (2 << bits)) >= 1 << 15), 22)
        return Taps(self.size, self.index, np.trunc(weight * (1 << bits) + np.copysign(0.5, weight))), 1 << bits

    @property
    def weights(self) -> Array:
        return np.ones(self.index.shape) if self.weight is None else self.weight.astype(np.float64)

    @cached_property
    def by_place(self) -> Lists:
        taps = self.index.shape[1]
        return Lists(np.arange(0, self.index.size + 1, max(1, taps)), self.index.reshape(-1), self.weights.reshape(-1), self.size)

    @cached_property
    def by_source(self) -> Lists:
        """The transpose: the results that an element is part of."""
        flat = self.index.reshape(-1)
        order = np.argsort(flat, kind="stable")
        begins = np.searchsorted(flat[order], np.arange(self.size + 1))
        return Lists(begins, order // max(1, self.index.shape[1]), self.weights.reshape(-1)[order], self.count)


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """A linear map along one dimension: result `i` is the sum of `weights` times elements `numbers`, both from `begins[i]` to before
    `begins[i + 1]`, of `size` elements."""

    begins: Array
    numbers: Array
    weights: Array
    size: int

    @property
    def count(self) -> int:
        return len(self.begins) - 1

    def repeating(self, taps: int, period: int, step: int) -> tuple[int, int]:
        """The longest stretch in which `taps` elements make up each result, and `period` results on they are `step` further on, with the
        same weights: its first result, and how many periods there are."""
        places = np.flatnonzero(np.diff(self.begins) == taps)
        pairs = places[np.isin(places + period, places)]
        entries = self.begins[pairs][:, None] + np.arange(taps)
        later = self.begins[pairs + period][:, None] + np.arange(taps)
        alike = (self.numbers[later] == self.numbers[entries] + step) & (self.weights[later] == self.weights[entries])
        pairs = pairs[alike.all(1)]
        if not pairs.size:
            return 0, 0
        runs = np.split(pairs, np.flatnonzero(np.diff(pairs) != 1) + 1)
        longest = max(runs, key=len)
        return int(longest[0]), (len(longest) + period) // period


class Tables(NamedTuple):
    """A map of rows and columns as compiled code takes it, see `_kernels/resample_loops.py`."""

    kernel: Any
    numbers: Array
    weights: Array | None
    columns: int  # of the result
    work: int  # elements that are read or written for a row of it


def tables(rows: Lists, columns: Lists) -> Tables:
    kernels = loops("resample")
    found = {kind: columns.repeating(*kind) for kind in kernels.STRETCHES}
    (taps, period, step), (first, periods) = max(found.items(), key=lambda item: item[1][1] * item[0][1])
    read = columns.numbers[columns.begins[first] : columns.begins[first + period]] if periods else np.zeros(1, np.int64)
    lists = [rows.begins, rows.numbers, columns.begins, columns.numbers]
    places = kernels.HEAD + np.cumsum([0, *map(len, lists)])
    head = [
        rows.size, rows.count, columns.size, columns.count, *places[:4], len(rows.numbers),
        first, periods, period, step, read.min(), read.max() - read.min() + 1,
    ]  # fmt: skip
    return Tables(
        kernels.STRETCHES[taps, period, step] if 2 * periods * period > columns.count else kernels.resample,
        np.concatenate([head, *lists]).astype(np.int64),
        np.concatenate([rows.weights, columns.weights]),
        columns.count,
        max(columns.count, columns.size) * max(1, -(-len(rows.numbers) // max(1, rows.count))),
    )


def picking_tables(rows: Lists, columns: Lists) -> Tables:
    """The same for a map that takes elements as they are. Rows may be NOTHING, and so may all columns outside the stretch."""
    kernels = loops("resample")
    filled = min(rows.numbers.min(), columns.numbers.min()) < 0
    if filled:
        inside = np.flatnonzero(columns.numbers >= 0)
        period, first, periods = 1, int(inside[0]) if inside.size else 0, inside.size
    else:
        once, twice = columns.repeating(1, 1, 1), columns.repeating(1, 2, 1)
        period, (first, periods) = (1, once) if once[1] > 2 * twice[1] else (2, twice)
        if period == 2 and periods and columns.numbers[first] != columns.numbers[first + 1]:  # a pair begins with the next column
            first, periods = first + 1, periods - 1
    places = filled, kernels.HEAD, 0, kernels.HEAD + rows.count, 0
    head = [rows.size, rows.count, columns.size, columns.count, *places, first, periods, period, 1, columns.numbers[first], 1]
    numbers = np.concatenate([head, rows.numbers, columns.numbers]).astype(np.int64)
    return Tables(kernels.pick, numbers, None, columns.count, columns.count)


class Maps:
    """Linear maps along the last dimensions, one for each."""

    def __init__(self, *taps: Taps) -> None:
        self.taps = taps
        self.dims = len(taps)
        self.sizes = tuple([one.size for one in taps])
        self.counts = tuple([one.count for one in taps])
        self.weighted = any(one.weight is not None for one in taps)
        self.lines: dict[tuple[int, int], Maps] = {}

    def places(self, x: Array) -> tuple[int, ...]:
        """The shape of the result for an input."""
        return (*x.shape[: len(x.shape) - self.dims], *self.counts)

    def sources(self, g: Array) -> tuple[int, ...]:
        """The shape of the input for a result."""
        return (*g.shape[: len(g.shape) - self.dims], *self.sizes)

    @cached_property
    def rows(self) -> Taps:
        """All dimensions but the last as one."""
        return reduce(Taps.times, self.taps[:-1], Taps(1, np.zeros((1, 1), np.int64)))

    @cached_property
    def there(self) -> Tables:
        return (tables if self.weighted else picking_tables)(self.rows.by_place, self.taps[-1].by_place)

    @cached_property
    def back(self) -> Tables:
        return tables(self.rows.by_source, self.taps[-1].by_source)

    @cached_property
    def changing(self) -> list[int]:
        """The dimensions of which another is made."""
        return [i for i, one in enumerate(self.taps) if one.weight is not None or one.index[:, 0].tolist() != list(range(one.size))]

    def line(self, i: int, inner: int) -> Maps:
        """The map of one dimension, each of whose elements is a row of so many numbers."""
        if (i, inner) not in self.lines:
            self.lines[i, inner] = Maps(self.taps[i], Taps(inner, np.arange(inner)[:, None]))
        return self.lines[i, inner]

    @cached_property
    def by_whole_numbers(self) -> list[tuple[Maps, int]]:
        """The same as maps that change one dimension each, the last first, with whole numbers for weights; and what stands for 1."""
        same = [[Taps(n, np.arange(n)[:, None]) for n in sizes] for sizes in (self.sizes, self.counts)]
        found = []
        for i in reversed(range(self.dims)):
            if self.sizes[i] != self.counts[i]:
                taps, unit = self.taps[i].in_whole_numbers()
                found.append((Maps(*same[0][:i], taps, *same[1][i + 1 :]), unit))
        return found


def directly(x: Array, tables: Tables, shape: tuple[int, ...], fill: Array | None = None) -> Array | None:
    """By compiled code: the result has this shape. `fill` is a number to take where there is no element."""
    kernel, numbers, weights, columns, work = tables
    out = np.empty(shape, x.dtype)
    if not out.size:
        return out
    done = kernel.run(out, np.ascontiguousarray(x), numbers, fill if weights is None else weights, out.size // columns, work)
    return out if done else None


def shaped(weight: Array, axis: int, ndim: int, dtype: Any) -> Array:
    """Numbers along one axis, ready to broadcast."""
    return weight.astype(dtype, copy=False).reshape(-1, *(1,) * (ndim - axis - 1))


def applied(x: Array, axis: int, taps: Taps) -> Array:
    if taps.weight is None:
        return np.take(x, taps.index[:, 0], axis)
    total: Array = None
    for t in range(taps.index.shape[1]):
        term = np.take(x, taps.index[:, t], axis) * shaped(taps.weight[:, t], axis, x.ndim, x.dtype)
        total = term if total is None else total + term
    return total


def applied_back(g: Array, axis: int, taps: Taps) -> Array:
    """The transpose of `applied`."""
    out = np.zeros((*g.shape[:axis], taps.size, *g.shape[axis + 1 :]), g.dtype)
    lists = taps.by_source
    used = np.flatnonzero(np.diff(lists.begins))
    if not used.size:
        return out
    terms = np.take(g, lists.numbers, axis)
    if taps.weight is not None:
        terms *= shaped(lists.weights, axis, g.ndim, g.dtype)
    out[along(axis, used)] = np.add.reduceat(terms, lists.begins[used], axis)
    return out


def resampled_by_kernel(input: Array, maps: Maps) -> Array | None:
    if 0 in (shape := maps.places(input)):
        return np.empty(shape, input.dtype)
    if input.dtype.kind == "u" and maps.weighted:
        return None
    if not maps.weighted and is_half(input.dtype):  # the bits will do
        return resampled(input.view(np.int16), maps).view(input.dtype)
    if not input.flags.c_contiguous and maps.dims == input.ndim - 2 and suggests_channels_last(input):
        return pixel_by_pixel(input, maps)
    return directly(input, maps.there, shape)


@primitive("resample.there", resampled_by_kernel, meta=lambda x, maps: np.empty_like(x, order="C", shape=maps.places(x)))
def resampled(input: Array, maps: Maps) -> Array:
    if input.dtype.kind == "u" and maps.weighted:
        return resampled_bytes(input, maps)
    x = wide(input) if maps.weighted else input
    for axis, taps in enumerate(maps.taps, x.ndim - maps.dims):
        x = applied(x, axis, taps)
    return cast(contiguous(x), input.dtype)


def pixel_by_pixel(images: Array, maps: Maps, back: bool = False) -> Array:
    """Images whose channels lie together, one dimension after the other: what is weighted and added are whole pixels, or rows of them."""
    x = by_pixels(wide(images) if maps.weighted or back else images)
    for i in maps.changing:
        axis, count = i + 1, maps.taps[i].size if back else maps.taps[i].count
        line = maps.line(i, math.prod(x.shape[axis + 1 :]))
        flat = x.reshape(-1, x.shape[axis], line.sizes[1])
        found = directly(flat, line.back if back else line.there, (len(flat), count, line.sizes[1]))
        if found is None:
            found = (applied_back if back else applied)(flat, 1, maps.taps[i])
        x = found.reshape(*x.shape[:axis], count, *x.shape[axis + 1 :])
    return cast(as_images(x), images.dtype)


def resampled_bytes(x: Array, maps: Maps) -> Array:
    """Images of whole numbers: by whole numbers for weights, and rounded after each dimension, the last one first, as PyTorch does."""
    for one, unit in maps.by_whole_numbers:
        x = np.clip(np.floor((resampled(x.astype(np.float64), one) + unit / 2) / unit), 0, 255).astype(x.dtype)
    return x


@op("resample", batch=LEADING, images=("input",), method=False, function=False, out=False, jvp=LINEAR,
    input=lambda g, maps: call(resample_back, g, maps))  # fmt: skip
def resample(input: Array, maps: Maps) -> Array:
    return resampled(input, maps)


def resampled_back_by_kernel(grad: Array, maps: Maps) -> Array | None:
    if not grad.flags.c_contiguous and maps.dims == grad.ndim - 2 and suggests_channels_last(grad):
        return pixel_by_pixel(grad, maps, back=True)
    return directly(grad, maps.back, maps.sources(grad)) if grad.size else None


@op("resample_back", batch=LEADING, images=("grad",), method=False, function=False, out=False, jvp=LINEAR,
    grad=lambda g, maps: call(resample, g, maps))  # fmt: skip
@primitive("resample.back", resampled_back_by_kernel, meta=lambda g, maps: np.empty_like(g, order="C", shape=maps.sources(g)))
def resample_back(grad: Array, maps: Maps) -> Array:
    """The gradient of a resampling."""
    if not grad.size:
        return np.zeros_like(grad, order="C", shape=maps.sources(grad))
    g = wide(grad)
    for axis, taps in reversed(list(enumerate(maps.taps, g.ndim - maps.dims))):
        g = applied_back(g, axis, taps)
    return cast(contiguous(g), grad.dtype)


def resampling(
    name: str, node: str, refused: str = "biuc", known: tuple[str, ...] = (), images: bool = True, within: str = "", half: bool = True
) -> Any:
    """The op for one of PyTorch's functions. It refuses dtypes of some NumPy kinds, apart from those it knows by name; PyTorch does so
    `within` another one."""

    @op(name, nodes=f"{node}Backward0", method=False, function=False, out=False, jvp=LINEAR, batch=LEADING,
        images=("input",) * images, input=lambda g, maps: call(resample_back, g, maps))  # fmt: skip
    def sampled(input: Array, maps: Maps) -> Array:
        if (input.dtype.kind in refused and input.dtype.name not in known) or (not half and is_half(input.dtype)):
            kind = from_numpy_dtype(input.dtype).scalar_name
            raise NotImplementedError(f"\"{within or name}\" not implemented for '{kind}'\n  fix: x.float()")
        return resampled(input if images else contiguous(input), maps)

    return sampled


UPSAMPLING: dict[tuple[str, int], Any] = {}  # by mode and number of dimensions
BYTES = ("uint8",)
for _dims in (1, 2, 3):
    _within = "upsample_nearest2d_channels_last" if _dims == 2 else "compute_indices_weights_nearest"
    UPSAMPLING["nearest", _dims] = resampling(f"upsample_nearest{_dims}d", f"UpsampleNearest{_dims}D", known=BYTES, within=_within)
    UPSAMPLING["nearest-exact", _dims] = resampling(
        f"_upsample_nearest_exact{_dims}d", f"UpsampleNearestExact{_dims}D", known=BYTES, within=_within
    )
_LINEAR, _CUBIC = "compute_indices_weights_linear", "compute_indices_weights_cubic"
UPSAMPLING["linear", 1] = resampling("upsample_linear1d", "UpsampleLinear1D", within=_LINEAR)
UPSAMPLING["bilinear", 2] = resampling(
    "upsample_bilinear2d", "UpsampleBilinear2D", known=BYTES, within="upsample_bilinear2d_channels_last"
)
UPSAMPLING["bicubic", 2] = resampling("upsample_bicubic2d", "UpsampleBicubic2D", known=BYTES, within=_CUBIC)
UPSAMPLING["trilinear", 3] = resampling("upsample_trilinear3d", "UpsampleTrilinear3D", within=_LINEAR)
ANTIALIASED = {
    mode: resampling(
        f"_upsample_{mode}2d_aa", f"Upsample{mode.title()}2DAa", known=BYTES, within="compute_index_ranges_weights", half=False
    )
    for mode in ("bilinear", "bicubic", "lanczos")
}
REPEATING: dict[tuple[str, int], Any] = {}  # padding
for _dims in (1, 2, 3):
    REPEATING["reflect", _dims] = resampling(f"reflection_pad{_dims}d", f"ReflectionPad{_dims}D", "b")
    REPEATING["replicate", _dims] = resampling(f"replication_pad{_dims}d", f"ReplicationPad{_dims}D", "b")
    REPEATING["circular", _dims] = resampling(f"circular_pad{_dims}d", f"CircularPad{_dims}D", "", images=False)
