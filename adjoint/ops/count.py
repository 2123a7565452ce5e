"""Counting: distinct values and histograms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _return_types as return_types
from .._dtype import from_numpy_dtype
from .._layer import deepest, top_level
from .._tensor import Tensor, wrap, wrap_result
from ._batching import by_example, refuse_batches
from ._out import into
from ._registry import Array, composite
from ._rules import loops, wrap_dim

# ---- distinct values ----------------------------------------------------------------------------------------------------------------


MANY = 1 << 14  # numbers that are worth several threads


RANGE = 4  # numbers for each element, whose counting is sooner done than the sorting of elements


def _answer(values: Array, inverse: Array | None, counts: Array | None) -> Any:
    """The values alone, or a tuple with what else was asked for."""
    found = tuple(wrap(np.asarray(part)) for part in (values, inverse, counts) if part is not None)
    return found if len(found) > 1 else found[0]


def _refuse_unordered(data: Array) -> None:
    if data.dtype.kind == "c":
        raise NotImplementedError(f"\"unique\" not implemented for '{from_numpy_dtype(data.dtype).scalar_name}': torch.view_as_real first")


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
        return into(out, ~found if invert else found)
    listed = loops("search").among(tested, among) if tested.dtype is among.dtype else None
    if listed is None:
        listed = np.isin(tested, among, assume_unique=assume_unique)
    return into(out, wrap_result(~listed if invert else listed))


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


@composite()
@by_example
def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0, *, out: Any = None) -> Any:
    """How many elements lie in each of `bins` equal intervals between `min` and `max` (by default those of the elements)."""
    data = input._data
    if data.dtype.kind not in "fV":
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{input.dtype.scalar_name}'; convert with x.float()")
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = _limits("torch.histc", data, float(min), float(max), 1)
    counts = loops("search").histogram(data, int(bins), low, high)
    if counts is None:
        counts, _ = np.histogram(data.astype(np.float64), bins=int(bins), range=(low, high))
    return into(out, wrap(counts.astype(data.dtype)))


def smallest(data: Array) -> Array:
    found = loops("reduce").smallest.run(data, None, False)
    return np.min(data) if found is None else found


def largest(data: Array) -> Array:
    found = loops("reduce").largest.run(data, None, False)
    return np.max(data) if found is None else found


def _limits(name: str, data: Array, low: float, high: float, margin: float) -> tuple[float, float]:
    if low == high and not data.size:
        return (low, high + 1) if margin < 1 else (low - 1, high + 1)
    if low == high:
        low, high = (float(extreme(data)) for extreme in (smallest, largest))
    if low == high:
        low, high = low - margin, high + margin
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"{name}: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"{name}: max must be larger than min")
    return low, high


def _interval(values: Array, edges: Array) -> Array:
    """The number of the interval in which each value lies; the last one includes its right edge."""
    return np.minimum(np.searchsorted(edges, values, "right") - 1, len(edges) - 2)


@composite(method=False)
@by_example
def histogramdd(input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """How many rows lie in each cell of a grid with as many dimensions as a row has elements, and the edges of the cells."""
    data = input._data
    rows = data.reshape(-1, data.shape[-1]).astype(np.float64)
    columns = rows.shape[1]
    if isinstance(bins, list | tuple) and len(bins) != columns:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input. "
            f"Expected {columns} but got {len(bins)}"
        )
    given = list(bins) if isinstance(bins, list | tuple) else [bins] * columns
    ends = [(0.0, 0.0)] * columns if range is None else list(zip(range[::2], range[1::2], strict=True))
    edges = []
    for column, wanted, (low, high) in zip(rows.T, given, ends, strict=True):
        if isinstance(wanted, Tensor):
            edges.append(wanted._data.astype(np.float64))
        else:
            edges.append(np.linspace(*_limits("torch.histogramdd", column, float(low), float(high), 0.5), int(wanted) + 1))
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
    data = input._data
    if not input.is_floating_point():
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{input.dtype.scalar_name}'\n  fix: x.float()")
    counts = None
    if isinstance(bins, Tensor):
        edges: Any = bins._data
    else:
        first, last = range or (0, 0)
        low, high = _limits("torch.histogram", data, float(first), float(last), 0.5)
        edges = np.arange(int(bins) + 1) * ((high - low) / int(bins)) + low
        edges[-1] = high
        counts = loops("search").histogram(data, int(bins), low, high) if weight is None and not density else None
    if counts is None:
        weights = None if weight is None else weight._data.reshape(-1)
        counts, edges = np.histogram(data.reshape(-1).astype(np.float64), bins=edges, weights=weights, density=density)
    results = wrap(counts.astype(data.dtype)), wrap(edges.astype(data.dtype))
    return return_types.histogram(results if out is None else map(into, out, results))
