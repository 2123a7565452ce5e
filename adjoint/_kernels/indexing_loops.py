"""Indexing by kernels: what they can do of an advanced index. They give None where NumPy has to do it, and has words for what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import copy_loops, index_loops, mask_loops

INT64 = np.dtype(np.int64)
FEW = 4096  # places that NumPy finds as fast as kernels do
SMALLEST = 1 << 10  # elements of an array that NumPy writes to as fast
Array = Any
Shape = tuple[int, ...]
Indices = tuple[Any, ...]  # arrays of integers or truth values, and a full slice where a dimension is not indexed


def only_array(indices: Indices) -> int | None:
    """Where the one array is, if there is just one and it holds integers."""
    found = None
    for place, item in enumerate(indices):
        if item.__class__ is not slice:
            if found is not None:
                return None
            found = place
    return None if found is None or indices[found].dtype.kind == "b" else found


def taken_at(input: Array, indices: Indices, place: int | None) -> Array | None:
    """The elements by a kernel; None where NumPy has to find them."""
    if input.__class__ is not np.ndarray:
        return None
    if place is not None:
        return index_loops.take(input, indices[place], place, negative=True)
    if len(indices) == 1:
        (mask,) = indices
        if mask.shape == input.shape:
            return mask_loops.taken(input, mask)
        return None if (rows := rows_of(mask)) is None else index_loops.take(input, rows, 0)
    if indices[0].__class__ is slice or indices[0].size < FEW or (joined := one_index(input, indices)) is None:
        return None
    return index_loops.take(merged(input, len(indices)), joined, 0)


def rows_of(mask: Array) -> Array | None:
    """The numbers of the rows for which a mask is true; None if it is a mask of more."""
    found = mask_loops.places(mask) if mask.ndim == 1 else None
    return None if found is None else found.reshape(-1)


def one_index(target: Array, indices: Indices) -> Array | None:
    """One index that does what several do to the first dimensions, merged; None where they are not such indices."""
    for item in indices:
        if item.__class__ is slice or item.dtype is not INT64:
            return None
    return index_loops.join(indices, target.shape) if target.flags.c_contiguous else None


def merged(target: Array, count: int) -> Array:
    return target.reshape(-1, *target.shape[count:])


def placed_at(input: Array, shape: Shape, indices: Indices) -> Array | None:
    """The same by a kernel; None where NumPy has to do it."""
    if (place := only_array(indices)) is not None:
        return index_loops.add.into_zeros(shape, place, indices[place], input, negative=True)
    if len(indices) == 1:
        (mask,) = indices
        if mask.shape == shape:
            return mask_loops.spread(input, mask)
        return None if (rows := rows_of(mask)) is None else index_loops.add.into_zeros(shape, 0, rows, input)
    whole = np.zeros(shape, input.dtype)
    if (joined := one_index(whole, indices)) is None:
        return None
    return whole if index_loops.add.at_rows(merged(whole, len(indices)), 0, joined, input) else None


def written_copy(input: Array, indices: Indices, values: Array, accumulate: bool) -> Array | None:
    """A copy with as many values as an array of integers names rows, put there or added; None where NumPy has to do it."""
    if len(indices) != 1 or input.__class__ is not np.ndarray or input.dtype is not values.dtype:
        return None
    (index,) = indices
    if index.dtype is not INT64 or values.shape != index.shape + input.shape[1:]:
        return None
    return (index_loops.add if accumulate else index_loops.put).into_copy(input, 0, index, values, negative=True)


def written_at(input: Array, indices: Indices, values: Array) -> bool | None:
    """Write as many values as there are places by a kernel; None, and nothing is written, where NumPy has to."""
    if input.__class__ is not np.ndarray or input.size < SMALLEST:
        return None
    one_number = not values.shape and input.dtype.kind == "f"
    if (place := only_array(indices)) is not None:
        index = indices[place]
        if one_number:
            return index_loops.filled(input, place, index, float(values))
        if values.shape != (*input.shape[:place], *index.shape, *input.shape[place + 1 :]):
            return None
        return index_loops.put.at_rows(input, place, index, values, negative=True)
    if len(indices) > 1:
        if indices[0].__class__ is slice or indices[0].size < FEW or (joined := one_index(input, indices)) is None:
            return None
        lines = merged(input, len(indices))
        if one_number:
            return index_loops.filled(lines, 0, joined, float(values))
        return index_loops.put.at_rows(lines, 0, joined, values) if values.shape == joined.shape + lines.shape[1:] else None
    if indices[0].shape == input.shape and one_number:
        return mask_loops.filled(input, indices[0], float(values))
    if indices[0].shape == input.shape and values.ndim == 1 and values.size == np.count_nonzero(indices[0]):
        return mask_loops.written(input, indices[0], values)
    return None


def added_at(target: Array, indices: Indices, values: Array) -> bool | None:
    """Add as many values as there are places, of which an index may name one several times; None, and nothing is added, where NumPy has
    to."""
    if target.dtype is not values.dtype:
        return None
    if (place := only_array(indices)) is not None:
        index = indices[place]
        if index.dtype is not INT64 or values.shape != (*target.shape[:place], *index.shape, *target.shape[place + 1 :]):
            return None
        return index_loops.add.at_rows(target, place, index, values, negative=True)
    if not 1 < len(indices) <= target.ndim or (joined := one_index(target, indices)) is None:
        return None
    lines = merged(target, len(indices))
    return index_loops.add.at_rows(lines, 0, joined, values) if values.shape == joined.shape + lines.shape[1:] else None


def is_basic(index: Any) -> bool:
    """Whether an index consists of numbers and slices."""
    items = index if index.__class__ is tuple else (index,)
    return all([item.__class__ is slice or item.__class__ is int for item in items])


def set_by_kernel(data: Array, index: Any, value: Any) -> bool | None:
    """Write at an index of one array by a kernel; None, and nothing is written, where NumPy is as fast, or has to."""
    if value.__class__ is np.ndarray and value.size >= copy_loops.LARGE and is_basic(index):
        return copy_loops.assigned(data[index], value) if value.shape == data[index].shape else None
    if index.__class__ is tuple:
        if len(index) != 2 or index[0].__class__ is not slice or index[0] != slice(None):
            return None
        if index[1].__class__ is not np.ndarray or index[1].dtype is not INT64:
            return None
        return index_loops.filled(data, 1, index[1], value) if value.__class__ is not np.ndarray else written_at(data, index, value)
    return written_at(data, (index,), value) if value.__class__ is index.__class__ is np.ndarray else None
