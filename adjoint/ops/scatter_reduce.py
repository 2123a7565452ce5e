"""The rarer relatives of `scatter`: `scatter_reduce`, which combines elements, and `take` and `put`, which count them in one line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from .._tensor import Tensor, wrap
from ..autograd.regions import ANY
from ._batching import rows
from ._general import plain_array
from ._index_checks import check_along, check_combined, first_outside
from ._primitives import loops
from ._registry import ALONG, LEADING, LINEAR, Array, ConstantArray, composite, op
from ._rules import call, copied, holds, wrap_dim, zeros_on
from .advanced_index import add_at
from .assign import arrays_to_write, inplace_form
from .scatter import (
    as_vector,
    combine_along,
    gather,
    in_front,
    in_one_line,
    same_slices,
    scatter_add,
    scatter_value,
    used_part,
    write_along,
)

Shape = tuple[int, ...]
_COMBINE = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _starting_value(reduce: str, dtype: np.dtype[Any]) -> Any:
    """What to begin with where the old value does not count."""
    if reduce in ("sum", "mean", "prod"):
        return int(reduce == "prod")
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if reduce == "amax" else np.iinfo(dtype).max
    if dtype.kind == "b":
        return reduce == "amin"
    return -np.inf if reduce == "amax" else np.inf


def _index_reduce_into(input: Array, dim: int, index: Array, source: Array, reduce: str, include_self: bool) -> bool:
    """Combine whole slices by a kernel; False, and nothing is written, where they have to be taken apart."""
    if not include_self or reduce not in _COMBINE or reduce == "mean" or not same_slices(input, dim, index, source):
        return False
    return bool(loops("index").BY_UFUNC[_COMBINE[reduce]].at_rows(input, dim, index, source))


def _combined_by_kernel(input: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool) -> bool:
    if reduce == "mean" or reduce not in _COMBINE or input.dtype is not src.dtype:
        return False
    kernels = loops("index")
    if not include_self:  # what is written now is written again if the other kernel cannot go on
        if index.shape != src.shape or input.dtype.kind != "f":
            return False
        if not kernels.filled_along(input, dim, index, _starting_value(reduce, input.dtype)):
            return False
    return bool(kernels.BY_UFUNC[_COMBINE[reduce]].along(input, dim, index, src))


def _combine_into(input: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool) -> None:
    if reduce not in _COMBINE:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if _combined_by_kernel(input, dim, index, src, reduce, include_self):
        return
    kernels = loops("index")
    dim = check_along("scatter_reduce", input, dim, index, src)
    if not index.size:
        return
    if not include_self:
        start = _starting_value(reduce, input.dtype)
        if input.dtype.kind != "f" or not kernels.filled_along(input, dim, index, start):
            write_along(input, dim, index, start)
    combine_along(_COMBINE[reduce], input, dim, index, used_part(src, index))
    if reduce == "mean":
        count = np.full_like(input, include_self, np.intp)
        combine_along(np.add, count, dim, index, np.ones_like(index, np.intp))
        divide = np.floor_divide if input.dtype.kind in "iub" else np.true_divide
        input[...] = divide(input, np.maximum(count, 1))


def _refused(g: Array, message: str) -> Array:
    raise RuntimeError(message)


@op("once", method=False, function=False, batch=LEADING, nodes="Error", jvp=LINEAR, input=_refused)
def once(input: Array, message: str) -> Array:
    """A derivative that cannot be differentiated again: to try raises the message."""
    return np.positive(input)


def _weights(
    g: Array, input: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool, out: Array
) -> tuple[Array, Array]:
    """The gradients of the old values and of those elements of `src` that have an index."""
    used = used_part(src, index)
    if reduce == "sum":
        own, others = g, g
    elif reduce == "mean":
        count = call(scatter_add, np.full_like(g, int(include_self)), dim, index, np.ones_like(used))
        own = others = g / np.where(count == 0, 1, count)
    elif reduce == "prod":
        return _product_weights(g, input, dim, index, used, include_self, out)
    else:
        # Equal extrema share the gradient equally.
        own_hit = np.where(input == out, np.ones_like(g), 0)
        own_hit = own_hit if include_self else call(scatter_value, own_hit, dim, index, 0)
        hits = np.where(used == call(gather, out, dim, index), np.ones_like(used), 0)
        count = call(scatter_add, own_hit, dim, index, hits)
        share = g / np.where(count == 0, 1, count)
        return _own(share * own_hit, g, dim, index, include_self), call(gather, share, dim, index) * hits
    return _own(own, g, dim, index, include_self), call(gather, others, dim, index)


def _own(own: Array, g: Array, dim: int, index: Array, include_self: bool) -> Array:
    """An old value that does not count has no gradient where others took its place, and all of it where none did."""
    return own if include_self else call(scatter_value, g, dim, index, 0)


def _product_weights(
    g: Array, input: Array, dim: int, index: Array, used: Array, include_self: bool, out: Array
) -> tuple[Array, Array]:
    """The derivative of a product is the product of the other factors. Division gives it, except where a factor is zero."""
    base = input if include_self else call(scatter_value, input, dim, index, 1)
    zero = used == 0
    zeros = call(scatter_add, np.zeros_like(g), dim, index, np.where(zero, np.ones_like(used), 0))
    single = zero & (call(gather, zeros, dim, index) == 1)
    rest = call(scatter_reduce, base, dim, index, np.where(single, 1, used), "prod")
    others = np.where(single, call(gather, g * rest, dim, index), call(gather, g * out, dim, index) / np.where(zero, 1, used))
    if holds(np.any(np.real(zeros) > 1)):
        # The product of the others is constantly zero here, though it depends on each of two zeros.
        others = call(
            once, others, "scatter_reduce(): Double backward is unsupported for src when >1 zeros in src are scattered to the same "
            "position in self"
        )  # fmt: skip
    own = g * call(scatter_reduce, np.ones_like(g), dim, index, used, "prod")
    return _own(own, g, dim, index, include_self), others


def _grads(
    g: Array, input: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool, out: Array
) -> tuple[Any, ...]:
    own, others = _weights(g, input, dim, index, src, reduce, include_self, out)
    return own, None, in_front(others, tuple(src.shape))


def _tangent(
    input: Any, input_t: Any, dim: int, index: Any, src: Any, src_t: Any, reduce: str, include_self: bool, out: Any
) -> Any:
    """Each old value and each element of `src` goes into one result only, so its weight there is its gradient for ones."""
    own, others = _weights(np.ones_like(out), input, dim, index, src, reduce, include_self, out)
    result = np.zeros_like(out) if input_t is None else own * input_t
    return result if src_t is None else scatter_add(result, dim, index, others * used_part(src_t, index))


@op(batch=ALONG, overlap=ANY, joint=_grads, holomorphic=True, jvp=_tangent)
def scatter_reduce(input: Array, dim: int, index: ConstantArray, src: Array, reduce: str, *, include_self: bool = True) -> Array:
    """A copy in which the elements of `src` are combined (sum, prod, mean, amax, amin) at the places that `index` names."""
    result = copied(input)
    _combine_into(result, dim, index, src, reduce, include_self)
    return result


scatter_reduce_ = inplace_form(scatter_reduce, _combine_into, lambda: _combined_by_kernel)


@composite()
def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True, out: Any = None) -> Any:
    """A copy in which the slices of `source` are combined with those that `index` names along a dimension."""
    check_slices(input, dim, index, source, reduce)
    arrays = [plain_array(x) for x in (input, index, source)]
    if out is None and input._fn is source._fn is None and not any([array is None for array in arrays]):
        result = copied(arrays[0])
        if _index_reduce_into(result, dim, arrays[1], arrays[2], reduce, include_self):
            return wrap(result)
    return scatter_reduce(input, dim, _spread_index(index, source, dim), source, reduce, include_self=include_self, out=out)


@composite(function=False)
def index_reduce_(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Any:
    """Combine the slices of `source` with those that `index` names along a dimension, in place."""
    check_slices(input, dim, index, source, reduce)
    given = arrays_to_write((input, index, source), (0, 1, 2))
    if given is not None and _index_reduce_into(given[0], dim, given[1], given[2], reduce, include_self):
        return input._written()
    return scatter_reduce_(input, dim, _spread_index(index, source, dim), source, reduce, include_self=include_self)


def check_slices(input: Any, dim: int, index: Any, source: Any, reduce: str) -> None:
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    check_combined("index_reduce", input._data, dim, index._data, source._data)


def _spread_index(index: Any, source: Any, dim: int) -> Any:
    dim = wrap_dim(dim, source.ndim)
    return index.reshape([-1 if d == dim else 1 for d in range(source.ndim)]).expand(source.shape)


# ---- all dimensions as one: take and put --------------------------------------------------------------------------------------------


def check_flat(name: str, input: Array, index: Array) -> None:
    if index.dtype != np.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {from_numpy_dtype(index.dtype).scalar_name}")
    if (bad := first_outside(index, -input.size, input.size)) is not None:
        raise IndexError(f"out of range: tried to access index {bad} on a tensor of {input.size} elements.")


def flat_index(index: Tensor, size: int) -> Tensor:
    """Places in a batch of vectors, counted from the front."""
    return rows(index.where(index >= 0, index + size))


def put_in_batch(input: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    flat, values = rows(input), rows(source)
    places = flat_index(index, flat.shape[1])
    result = flat.scatter_add(1, places, values) if accumulate else flat.scatter(1, places, values)
    return result.reshape(input.shape)


def _take_rule(g: Array, index: Array, input_shape: Shape, input_dtype: Any) -> Array:
    if g.__class__ is index.__class__ is np.ndarray:
        line = loops("index").add.into_zeros((math.prod(input_shape),), 0, index, g, negative=True)
        if line is not None:
            return line.reshape(input_shape)
    return call(put, zeros_on(g, input_shape, input_dtype), index, g, True)


@op(jvp=LINEAR, warns=False, overlap=ANY,
    same="take(): self and out expected to have the same dtype, but got self.dtype = {wanted} and out.dtype = {given}",
    batch=lambda input, index: rows(input).gather(1, flat_index(index, rows(input).shape[1])).reshape(index.shape),
    input=_take_rule)  # fmt: skip
def take(input: Array, index: Array) -> Array:
    """The elements at the given places, counted as if the tensor had one dimension."""
    if (found := loops("index").taken(input, index)) is not None:
        return found
    check_flat("take", input, index)
    return np.take(input, index)


@op(
    overlap=ANY, jvp=LINEAR, batch=put_in_batch,
    input=lambda g, index, accumulate, input_dtype, source_shape: (
        g if accumulate else call(put, g, index, zeros_on(g, source_shape, input_dtype))
    ),
    source=lambda g, index, source_shape: call(take, g, index).reshape(source_shape),
)  # fmt: skip
def put(input: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """A copy with the elements of `source` at the given places, counted as if the tensor had one dimension."""
    result = copied(input)
    _put_into(result, index, source, accumulate)
    return result


def _put_by_kernel(input: Array, index: Array, source: Array, accumulate: bool) -> bool:
    if index.size != source.size or not in_one_line(input):
        return False
    line = input if input.ndim == 1 else input.reshape(-1)
    return bool((loops("index").add if accumulate else loops("index").put).at_rows(line, 0, index, source, 1.0, -1, True))


def _put_into(input: Array, index: Array, source: Array, accumulate: bool) -> None:
    if _put_by_kernel(input, index, source, accumulate):
        return
    check_flat("put_", input, index)
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
    if input.dtype != source.dtype:
        names = [from_numpy_dtype(array.dtype).scalar_name for array in (input, source)]
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {names[0]} and source.dtype = {names[1]}"
        )
    places, values = index.reshape(-1), source.reshape(-1)
    line, where = (input.reshape(-1), (places,)) if in_one_line(input) else (
        as_vector(input), np.unravel_index(np.where(places < 0, places + input.size, places), input.shape or (1,))
    )  # fmt: skip
    if accumulate:
        add_at(line, where, values)
    else:
        line[where] = values


inplace_form(put, _put_into, lambda: _put_by_kernel)
