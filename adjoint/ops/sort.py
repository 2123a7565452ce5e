"""Sorting, and searching in what is sorted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _return_types as return_types
from .._layout import laid_out
from .._state import GRAD, get_mode
from .._tensor import Tensor, wrap
from ..autograd.views import no_derivative
from ._batching import expanded, rows
from ._out import into, several_into
from ._precision import wide
from ._primitives import loops
from ._registry import ALONG, LINEAR, SAME, Array, composite, op
from ._rules import call, copied, whole_number, wrap_dim, zeros_on
from .scatter import as_vector, scatter_add

NO_DERIVATIVE = no_derivative("sort")


def by_rows(kernel: Any, array: Array, axis: int, *args: Any) -> Array | None:
    """What a kernel for rows gives along an axis, or None."""
    if axis == -1 or axis == len(array.shape) - 1:
        return kernel(array, *args)
    if array.__class__ is not np.ndarray or not -array.ndim <= axis < array.ndim:
        return None
    found = kernel(copied(array.swapaxes(axis, -1)), *args)
    return None if found is None else copied(found.swapaxes(axis, -1))


def in_order(array: Array, axis: int, descending: bool) -> Array:
    """Indices that sort along an axis. Equal elements keep their order; NaN counts as the largest."""
    found = by_rows(loops("order").sorted_places, array, axis, descending)
    if found is not None:
        return found
    array = wide(array)  # where NumPy knows the place of NaN
    if not descending:
        return np.argsort(array, axis=axis, kind="stable")
    backwards = (slice(None),) * axis + (slice(None, None, -1),)
    turned = np.argsort(array[backwards], axis=axis, kind="stable")
    return array.shape[axis] - 1 - turned[backwards]


@op("argsort", like=("input",), method=False, function=False, differentiable=False, warns=False)
def _argsort(input: Array, dim: int, descending: bool) -> Array:
    found = by_rows(loops("order").sorted_places, input, dim, descending)
    if found is not None:
        return found
    dim = wrap_dim(dim, len(input.shape))
    if input.dtype.kind == "c":
        raise RuntimeError("Sort does not support complex dtypes on CPU; sort by x.abs().argsort() or by x.real")
    return in_order(as_vector(input), dim, descending).reshape(input.shape)


@op("argtopk", method=False, function=False, differentiable=False, warns=False)
def _argtopk(input: Array, k: int, dim: int, largest: bool) -> Array:
    """The indices of the `k` largest (or smallest) elements, in order."""
    found = by_rows(loops("order").first_places, input, dim, k, largest)
    if found is not None:
        return found
    dim = wrap_dim(dim, len(input.shape))
    array = as_vector(input)
    size = array.shape[dim]
    if not 0 <= k <= size:
        raise RuntimeError(f"selected index k out of range (k is {k}, dimension {dim} has size {size})")
    lead = (slice(None),) * dim
    if size <= 64 or k * 8 > size or k == 0:
        chosen = in_order(array, dim, largest)[(*lead, slice(0, k))].copy()
    else:
        # Much fewer than there are: find them first, then sort only them.
        parts = np.argpartition(array, size - k if largest else k - 1, axis=dim)
        found = np.sort(parts[(*lead, slice(size - k, None) if largest else slice(0, k))], axis=dim)
        order = in_order(np.take_along_axis(array, found, axis=dim), dim, largest)
        chosen = np.take_along_axis(found, order, axis=dim)
    return chosen if input.shape else np.zeros_like(chosen, shape=())


def _places(index: Array, dim: int) -> tuple[Array, ...]:
    """What np.take_along_axis makes of an index, in half the time."""
    ndim = len(index.shape)
    grids = [np.arange(size).reshape((size,) + (1,) * (ndim - d - 1)) if d != dim else index for d, size in enumerate(index.shape)]
    return tuple(grids)


def _put_back(g: Array, index: Array, dim: int, input_shape: tuple[int, ...], input_dtype: Any) -> Array:
    found = loops("select").returned(g, index, dim, input_shape)
    if found is not None:
        return found
    whole = zeros_on(g, input_shape, input_dtype)
    if g.__class__ is not np.ndarray or not input_shape:
        return call(scatter_add, whole, dim, index, g)
    whole[_places(index, wrap_dim(dim, len(input_shape)))] = g
    return whole


def _ordered(name: str, node: str) -> Any:
    """The op that looks up the elements at `index` along a dimension; no index occurs twice. `found`: these elements, where they came
    with the index."""

    def look_up(input: Array, index: Array, dim: int, found: Any = None) -> Array:
        if found is not None:
            return found
        dim = wrap_dim(dim, len(input.shape))
        found = loops("select").taken(input, index, dim)
        if found is not None:
            return found
        if input.__class__ is np.ndarray and input.shape:
            return input[_places(index, dim)]
        return np.take_along_axis(as_vector(input), as_vector(index), dim).reshape(index.shape)

    return op(name, nodes=node, method=False, function=False, out=False, warns=False, input=_put_back, jvp=LINEAR, batch=ALONG)(look_up)


_sorted_values = _ordered("sort_values", "SortBackward0")
_topk_values = _ordered("topk_values", "TopkBackward0")


def _at_once(op: Any, search: Any, input: Any, dim: int, *args: Any) -> tuple[Tensor, Tensor] | None:
    """Elements and indices of ordinary rows by one kernel; None where it takes two ops."""
    data = input._data
    if get_mode() > GRAD or data.__class__ is not np.ndarray or dim.__class__ is not int or not -data.ndim <= dim < data.ndim:
        return None
    across = dim != -1 and dim != data.ndim - 1
    found = search(copied(data.swapaxes(dim, -1)) if across else data, *args)
    if found is None:
        return None
    values, places = [copied(x.swapaxes(dim, -1)) for x in found] if across else found
    if not data.flags.c_contiguous and values.shape == data.shape:
        values, places = laid_out((values, places), (data,))
    indices = wrap(places)
    if input._fn is None and input.__class__ is Tensor:
        return wrap(values), indices
    indices._fn = input._fn and NO_DERIVATIVE
    return op(input, indices, dim, values), indices


def _pair(kind: Any, found: tuple[Tensor, Tensor], out: Any, read: Any = None) -> Any:
    return tuple.__new__(kind, found if out is None else several_into(out, found, read=read))


@composite()
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False, *, out: Any = None) -> Any:
    """The elements in order along a dimension, and the indices where they were. Equal elements keep their order."""
    found = _at_once(_sorted_values, loops("order").sorted_rows, input, dim, descending)
    if found is None:
        indices = _argsort(input, dim, descending)
        found = _sorted_values(input, indices, dim), indices
    return _pair(return_types.sort, found, out)


@composite()
def argsort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool = False, out: Any = None) -> Any:
    """The indices that sort along a dimension."""
    indices = _argsort(input, dim, descending)
    return indices if out is None else into(out, indices, SAME)


@composite()
def msort(input: Any, *, out: Any = None) -> Any:
    """The elements in order along the first dimension."""
    values = sort(input, 0).values
    return into(out, values, SAME)


@composite()
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, out: Any = None) -> Any:
    """The `k` largest (or smallest) elements along a dimension, in order, and their indices."""
    if input._data.dtype.kind in "bc":
        raise RuntimeError(f"topk does not support {'complex' if input.is_complex() else 'bool'} dtypes on CPU; sort numbers instead")
    k = k if k.__class__ is int else whole_number(k, "k")
    found = _at_once(_topk_values, loops("order").first_elements, input, dim, k, largest)
    if found is None:
        indices = _argtopk(input, k, dim, largest)
        found = _topk_values(input, indices, dim), indices
    return _pair(return_types.topk, found, out, input)


# ---- searching ----------------------------------------------------------------------------------------------------------------------


def _searched_examples(sorted_sequence: Any, input: Any, right: bool, sorter: Any, batched: list[bool], examples: int) -> Any:
    """One sequence is searched for the values of all examples. Else each example has a row of sequences of its own."""
    given = (sorted_sequence, input, sorter)
    shared = sorted_sequence.ndim - batched[0] == 1
    if shared and not batched[0] and (sorter is None or not batched[2]):
        return _searchsorted(sorted_sequence, input, right, sorter)
    sequence, values, order = (
        x if x is None or is_batched else expanded(x, examples) for x, is_batched in zip(given, batched, strict=True)
    )
    found = _searchsorted(sequence, rows(values) if shared else values, right, order)
    return found.reshape(values.shape)


@op("searchsorted", method=False, function=False, differentiable=False, batch=_searched_examples)
def _searchsorted(sorted_sequence: Array, input: Array, right: bool, sorter: Array | None) -> Array:
    if sorter is None and sorted_sequence.dtype is input.dtype:
        found = loops("search").insertion_places(sorted_sequence, input, right)
        if found is not None:
            return found
    side: Any = "right" if right else "left"
    if len(sorted_sequence.shape) == 1:
        return np.searchsorted(sorted_sequence, input, side, sorter)
    count = math.prod(sorted_sequence.shape[:-1])
    sequences = sorted_sequence.reshape(count, sorted_sequence.shape[-1])
    wanted = input.reshape(count, input.shape[-1])
    orders = [None] * count if sorter is None else sorter.reshape(sequences.shape)
    each = [np.searchsorted(row, values, side, order) for row, values, order in zip(sequences, wanted, orders, strict=True)]
    return np.stack(each).reshape(input.shape) if each else np.zeros_like(input, np.int64)


def _searched_at_once(sequence: Any, input: Any, right: bool) -> Tensor | None:
    """The places of the elements of an ordinary tensor in one sequence; None if there is more to think about."""
    if sequence.__class__ is not Tensor or input.__class__ is not Tensor or get_mode() > GRAD or sequence._fn or input._fn:
        return None
    line, values = sequence._data, input._data
    if line.__class__ is not np.ndarray or line.dtype is not values.dtype or line.dtype.kind in "bc":
        return None
    if line.ndim != 1 and line.shape[:-1] != values.shape[:-1]:
        return None
    found = loops("search").insertion_places(line, values, right)
    return None if found is None else wrap(found)


_WRONG_KIND = (
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is "
    "True, but we got output tensor's dtype {given}"
)


@composite(method=False)
def searchsorted(
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    out: Any = None,
    sorter: Any = None,
) -> Any:
    """Where each value would have to be inserted to keep a sequence (or each of a batch of sequences) sorted."""
    if side is sorter is out is None and not out_int32 and (found := _searched_at_once(sorted_sequence, input, right)) is not None:
        return found
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True")
    given = input if isinstance(input, Tensor) else wrap(np.asarray(input))
    if sorted_sequence._data.dtype.kind in "bc":
        raise NotImplementedError(f"\"searchsorted_out_cpu\" not implemented for '{sorted_sequence.dtype.scalar_name}'")
    shape, wanted = tuple(sorted_sequence.shape), tuple(given.shape)
    if len(shape) != 1 and shape[:-1] != wanted[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
            f"value tensor must match, but we got boundaries tensor {list(shape)} and input value tensor {list(wanted)}"
        )
    result = _searchsorted(sorted_sequence, given, right or side == "right", sorter)
    result = result.int() if out_int32 else result
    return into(out, result, _WRONG_KIND)


@composite(method=False)
def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False, out: Any = None) -> Any:
    """The number of the interval between sorted boundaries in which each value lies."""
    if out is None and not out_int32 and (found := _searched_at_once(boundaries, input, right)) is not None:
        return found
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)
