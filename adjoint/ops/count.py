"""Counting: distinct values and histograms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _return_types as return_types
from .._dtype import NARROW, from_numpy_dtype
from .._layer import deepest, top_level
from .._tensor import Tensor, wrap, wrap_result
from ._batching import by_example, refuse_batches
from ._out import into, several_into
from ._precision import wide
from ._primitives import loops
from ._registry import SAME, Array, composite
from ._rules import whole_number, wrap_dim

# ---- distinct values ----------------------------------------------------------------------------------------------------------------


MANY = 1 << 14  # numbers that are worth several threads


RANGE = 4  # numbers for each element, whose counting is sooner done than the sorting of elements


def _answer(values: Array, inverse: Array | None, counts: Array | None) -> Any:
    """The values alone, or a tuple with what else was asked for."""
    found = tuple(wrap(np.asarray(part)) for part in (values, inverse, counts) if part is not None)
    return found if len(found) > 1 else found[0]


def _refuse_unordered(data: Array) -> None:
    if data.dtype.kind == "c" or data.dtype in NARROW:
        first = "torch.view_as_real" if data.dtype.kind == "c" else "x.float()"
        raise NotImplementedError(f"\"unique\" not implemented for '{from_numpy_dtype(data.dtype).scalar_name}': {first} first")


Distinct = tuple[Any, Any, Any]  # the elements; where each element of the array went, and how often each occurs, or None


def _unique_in_range(data: Array, inverse: bool) -> Distinct | None:
    """The distinct elements of integers from a range that is not much larger than the array, by counting each number of the range."""
    low, high = int(data.min()), int(data.max())
    if high - low >= RANGE * data.size:
        return None
    places = np.subtract(data, low, dtype=np.int64)
    counts = np.bincount(places.reshape(-1))
    present = np.flatnonzero(counts)
    numbers = None
    if inverse:
        numbers = np.empty(counts.shape, np.int64)
        numbers[present] = np.arange(present.size)
        numbers = numbers[places]
    return (present + low).astype(data.dtype), numbers, counts[present]


def _unique(data: Array, inverse: bool, counted: bool) -> Distinct | None:
    """The distinct elements by kernels; None where NumPy has to find them."""
    if data.__class__ is not np.ndarray:
        return None
    if data.dtype.char in "bBhil" and data.size and (found := _unique_in_range(data, inverse)) is not None:
        return found[0], found[1], found[2] if counted else None
    line = np.sort(data, axis=None)
    if counted:
        found = loops("search").runs(line, False, True)
        values, counts = (None, None) if found is None else (found[0], found[2])
    elif line.size:
        starts = np.empty(line.shape, bool)
        starts[0] = True
        np.not_equal(line[1:], line[:-1], out=starts[1:])
        values, counts = loops("mask").taken(line, starts), None
    else:
        return None
    if values is None or (inverse and values[-1] != values[-1]):  # NaN is found nowhere
        return None
    places = loops("search").insertion_places(values, data, False) if inverse else None
    return None if inverse and places is None else (values, places, counts)


@composite()
def unique(input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The distinct elements (or slices along `dim`) in order; where each element went, and how often each occurs, if asked for."""
    refuse_batches("_unique2", input)
    data = deepest(input)
    _refuse_unordered(data)
    if data.dtype.kind == "V":  # bfloat16, of which NumPy cannot sort NaN
        found = unique(wrap(wide(data)), sorted, return_inverse, return_counts, dim)
        return (found[0].to(input.dtype), *found[1:]) if isinstance(found, tuple) else found.to(input.dtype)
    axis = None if dim is None else wrap_dim(dim, len(data.shape))
    if axis is None and (found := _unique(data, return_inverse, return_counts)) is not None:
        return _answer(*found)
    values, inverse, counts = np.unique(data, return_inverse=True, return_counts=True, axis=axis, equal_nan=False)
    inverse = inverse.reshape(data.shape if axis is None else -1)
    return _answer(values, inverse if return_inverse else None, counts if return_counts else None)


@composite()
def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The elements (or slices along `dim`) without those equal to the one before; the same extras as `unique`."""
    refuse_batches("unique_consecutive", input)
    data = deepest(input)
    _refuse_unordered(data)
    if dim is None and (found := loops("search").runs(data.reshape(-1), return_inverse, return_counts)) is not None:
        values, numbers, lengths = found
        return _answer(values, numbers.reshape(data.shape) if return_inverse else None, lengths)
    axis = 0 if dim is None else wrap_dim(dim, len(data.shape))
    rows = np.moveaxis(data.reshape(-1) if dim is None else data, axis, 0)
    differs = (rows[1:] != rows[:-1]).any(axis=tuple(range(1, rows.ndim)))
    starts = np.concatenate([[True] if len(rows) else [], differs]).astype(bool)
    inverse = (np.cumsum(starts) - 1).reshape(data.shape if dim is None else -1)
    counts = np.diff(np.append(np.flatnonzero(starts), len(rows)))
    return _answer(np.moveaxis(rows[starts], 0, axis), inverse if return_inverse else None, counts if return_counts else None)


@composite(method=False)
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False, out: Any = None) -> Any:
    """Whether each element is among the test elements."""
    tested, among = (x._data if isinstance(x, Tensor) else np.asarray(x) for x in (elements, test_elements))
    for x in (tested, among):
        if x.dtype.kind in "bc":
            raise RuntimeError(f"Unsupported input type encountered for isin(): {from_numpy_dtype(x.dtype).scalar_name}")
    if top_level((elements, test_elements)) is not None:
        each = elements.unsqueeze(-1) if isinstance(elements, Tensor) else elements
        found = (each == (test_elements.reshape(-1) if isinstance(test_elements, Tensor) else test_elements)).any(-1)
        return into(out, ~found if invert else found, SAME)
    listed = loops("search").among(tested, among) if tested.dtype is among.dtype else None
    if listed is None:
        listed = np.isin(tested, among, assume_unique=assume_unique)
    return into(out, wrap_result(~listed if invert else listed), SAME)


# ---- histograms ---------------------------------------------------------------------------------------------------------------------


@composite()
@by_example
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each non-negative integer occurs, or the sum of its weights."""
    data = input._data
    if data.dtype.kind not in "iu":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{input.dtype.scalar_name}'; convert with x.long()")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if weights is None and data.size > MANY and len(data.shape) == 1 and smallest(data) >= 0:
        found = loops("search").frequencies(data, max(int(largest(data)) + 1, minlength))
        if found is not None:
            return wrap(found)
    try:
        result = np.bincount(data, None if weights is None else weights._data.astype(np.float64), minlength)
    except ValueError:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.") from None
    if weights is None:
        return wrap(result.astype(np.int64, copy=False))
    return wrap(result.astype(np.float32) if weights._data.dtype == np.float32 else result)


_HISTOGRAM = tuple(
    f"torch.histogram: input tensor and {which} tensor should have the same dtype, but got input {{wanted_type}} and {which} {{given_type}}"
    for which in ("hist", "bin_edges")
)


@composite()
@by_example
def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0, *, out: Any = None) -> Any:
    """How many elements lie in each of `bins` equal intervals between `min` and `max` (by default those of the elements)."""
    data = input._data
    if whole_number(bins, "bins") <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    if data.dtype.kind not in "fV":
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{input.dtype.scalar_name}'; convert with x.float()")
    low, high = _limits("torch.histc: range of", data, None if min == max and data.size else (float(min), float(max)), 1)
    counts = loops("search").histogram(data, int(bins), low, high)
    if counts is None:
        counts, _ = np.histogram(data.astype(np.float64), bins=int(bins), range=(low, high))
    return into(out, wrap(counts.astype(data.dtype)), _HISTOGRAM[0])


def smallest(data: Array) -> Array:
    found = loops("reduce").smallest.run(data, None, False)
    return np.min(data) if found is None else found


def largest(data: Array) -> Array:
    found = loops("reduce").largest.run(data, None, False)
    return np.max(data) if found is None else found


def _limits(name: str, data: Array, given: tuple[float, float] | None, margin: float) -> tuple[float, float]:
    """The range that is divided: the given one, or that of the elements. If it has no width it is made wider."""
    if given is None:
        given = (float(smallest(data)), float(largest(data))) if data.size else (0.0, 1.0 if margin < 1 else 0.0)
    low, high = given
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{name} [{low:g}, {high:g}] is not finite")
    return (low, high) if low < high else (low - margin, high + margin)


def _checked_bins(input: Any, bins: Any, weight: Any, ends: Any) -> list[Any]:
    """What `histogram` and `histogramdd` refuse. The number of bins of each dimension, or its edges."""
    columns = input.shape[-1]
    given = list(bins) if isinstance(bins, list | tuple) else [bins] * columns
    if len(given) != columns:
        raise RuntimeError(
            "torch.histogramdd: The size of bins must be equal to the innermost dimension of the input. "
            f"Expected {columns} but got {len(given)}"
        )
    for dim, wanted in enumerate(given):
        count = wanted
        if isinstance(wanted, Tensor):
            if wanted.dtype is not input.dtype:
                raise RuntimeError(
                    "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
                    f"{input.dtype} and bins for dimension {dim} with dtype {wanted.dtype}"
                )
            if wanted.ndim != 1:
                raise RuntimeError(
                    f"torch.histogramdd: bins tensor should have one dimension, but got {wanted.ndim} dimensions in the bins tensor for "
                    f"dimension {dim}"
                )
            if not wanted.numel():
                raise RuntimeError(
                    "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for "
                    f"dimension {dim}"
                )
            count = wanted.numel() - 1
        if whole_number(count, "bins") <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {dim}")
    if weight is not None:
        if weight.dtype is not input.dtype:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got "
                f"input({input.dtype}), and weight({weight.dtype})"
            )
        if weight.shape != input.shape[:-1]:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its "
                f"innermost dimension, but got input with shape {list(input.shape)} and weight with shape {list(weight.shape)}"
            )
    if ends is not None:
        if len(ends) != 2 * columns:
            raise RuntimeError(
                f"torch.histogramdd: for a {columns}-dimensional histogram range should have {2 * columns} elements, but got {len(ends)}"
            )
        for dim, (low, high) in enumerate(zip(ends[::2], ends[1::2], strict=True)):
            if low > high:
                raise RuntimeError(f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {dim}")
    if input.dtype.name not in ("float32", "float64"):
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{input.dtype.scalar_name}'\n  fix: x.float()")
    return given


def _interval(values: Array, edges: Array) -> Array:
    """The number of the interval in which each value lies; the last one includes its right edge."""
    return np.minimum(np.searchsorted(edges, values, "right") - 1, len(edges) - 2)


@composite(method=False)
@by_example
def histogramdd(input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """How many rows lie in each cell of a grid with as many dimensions as a row has elements, and the edges of the cells."""
    data = input._data
    if len(data.shape) < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    given = _checked_bins(input, bins, weight, range)
    rows = data.reshape(-1, data.shape[-1]).astype(np.float64)
    edges = []
    for dim, (column, wanted) in enumerate(zip(rows.T, given, strict=True)):
        if isinstance(wanted, Tensor):
            edges.append(wanted._data.astype(np.float64))
        else:
            ends = None if range is None else (float(range[2 * dim]), float(range[2 * dim + 1]))
            limits = _limits(f"torch.histogramdd: dimension {dim}'s range", column, ends, 0.5)
            edges.append(np.linspace(*limits, int(wanted) + 1))
    weights = np.ones(len(rows)) if weight is None else weight._data.reshape(-1)
    inside = np.all([(edge[0] <= column) & (column <= edge[-1]) for column, edge in zip(rows.T, edges, strict=True)], axis=0)
    cell = tuple(_interval(column[inside], edge) for column, edge in zip(rows.T, edges, strict=True))
    counts = np.zeros([len(edge) - 1 for edge in edges])
    np.add.at(counts, cell, weights[inside])
    if density:
        counts /= counts.sum() * math.prod(np.ix_(*(np.diff(edge) for edge in edges)))
    cells = tuple(wrap(edge.astype(data.dtype)) for edge in edges)
    return return_types.histogramdd((wrap(counts.astype(data.dtype)), cells))


@composite()
@by_example
def histogram(input: Any, bins: Any = 100, *, range: Any = None, weight: Any = None, density: bool = False, out: Any = None) -> Any:
    """How many elements (or how much weight) lie in each interval, and the edges of the intervals."""
    data = deepest(input)
    flat = input.reshape(-1, 1)
    if weight is not None and weight.numel() == input.numel():
        weight = weight.reshape(-1)
    _checked_bins(flat, bins, weight, range)
    counts = None
    if isinstance(bins, Tensor):
        if range is not None:
            raise TypeError("histogram() received an invalid combination of arguments - a range goes with a number of bins only")
        edges: Any = bins._data
    else:
        ends = None if range is None else (float(range[0]), float(range[1]))
        low, high = _limits("torch.histogramdd: dimension 0's range", data, ends, 0.5)
        edges = np.arange(int(bins) + 1) * ((high - low) / int(bins)) + low
        edges[-1] = high
        counts = loops("search").histogram(data, int(bins), low, high) if weight is None and not density else None
    if counts is None:
        weights = None if weight is None else weight._data.reshape(-1)
        counts, edges = np.histogram(data.reshape(-1).astype(np.float64), bins=edges, weights=weights, density=density)
    results = wrap(counts.astype(data.dtype)), wrap(edges.astype(data.dtype))
    return return_types.histogram(several_into(out, results, _HISTOGRAM))
