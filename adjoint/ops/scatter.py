"""Reading and writing at the places that a tensor of indices names: `gather`, `scatter`, `index_select`, `take` and their relatives."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .._layer import Layer
from .._tensor import Tensor, wrap
from ..autograd.regions import ANY
from ._batching import Index, expanded
from ._index_checks import check_along, check_combined, check_copied, check_filled, check_selected
from ._out import into
from ._precision import is_half, wide
from ._primitives import loops
from ._registry import ALONG, LINEAR, SAME, Array, composite, op
from ._rules import call, cast, copied, wrap_dim, zeros_on
from .advanced_index import add_at, check_unlocked
from .assign import in_common_cases, inplace_form, number_as, number_for, warn_if_expanded, writing_form
from .index import INT64
from .parts import EVERYTHING, place

Shape = tuple[int, ...]


# ---- along a dimension: gather and scatter ------------------------------------------------------------------------------------------

# Note [Index along a dimension]
# For each element of `index`, its own position with the number at `dim` replaced by the element is a place in the other tensor. The index
# may be smaller than that tensor in every dimension. A tensor without dimensions counts as one with a single element.


def as_vector(array: Array) -> Array:
    return array if array.shape else array.reshape(1)


def places(index: Array, dim: int) -> tuple[Array, ...]:
    """The index that names those places; see Note [Index along a dimension]."""
    index = as_vector(index)
    grids: list[Array] = list(np.ogrid[tuple(slice(0, size) for size in index.shape)])
    grids[dim] = index
    return tuple(grids)


def flat_places(shape: Shape, index: Array, dim: int) -> Array:
    """The same places, counted in an array of this shape laid out in one line. NumPy reads and writes those many times faster."""
    index = as_vector(index).astype(np.intp, copy=False)
    others: Any = 0
    for d, size in enumerate(index.shape):
        if d != dim:
            step = math.prod(shape[d + 1 :])
            others = others + np.arange(0, size * step, step or 1).reshape((size,) + (1,) * (len(index.shape) - d - 1))
    step = math.prod(shape[dim + 1 :])
    return (index if step == 1 else index * step) + others


def in_one_line(array: Array) -> bool:
    return array.__class__ is np.ndarray and bool(array.flags.c_contiguous)


def obviously_along(input: Array, dim: int, index: Array) -> bool:
    """Whether a kernel finds that all indices are within bounds, and nothing else can be wrong."""
    if input.__class__ is not np.ndarray or dim.__class__ is not int or dim < 0:
        return False
    kernels = loops("index")
    frame = kernels.frame_along(input.shape, index.shape, dim)
    return frame is not None and frame[-1] and bool(kernels.within(index, 0, input.shape[dim], input))


def used_part(src: Array, index: Array) -> Array:
    """The elements of `src` that have an index."""
    return src if src.shape == index.shape else src[tuple(slice(0, size) for size in index.shape)]


def in_front(g: Array, shape: Shape) -> Array:
    """The gradient of a tensor of which only the first elements along each dimension were used."""
    if tuple(g.shape) == shape:
        return g
    return call(place, g, shape, (*(slice(0, size) for size in g.shape), ...))


def _gather_rule(g: Array, dim: int, index: Array, input_shape: Shape, input_dtype: Any, sparse_grad: bool) -> Array:
    if sparse_grad:
        from ..sparse._lookup import gather_rule

        return gather_rule(g, dim, index, input_shape)
    whole = zeros_on(g, input_shape, input_dtype)
    if g.__class__ is np.ndarray and loops("index").add.along(whole, dim, index, g, True):
        return whole
    return call(scatter_add, whole, dim, index, g)


def gather_in_batch(input: Tensor, dim: int, index: Tensor) -> Tensor:
    whole, at = (x if x.ndim > 1 else x.unsqueeze(1) for x in (input, index))
    found: Tensor = gather(whole, wrap_dim(dim, whole.ndim - 1) + 1, at)
    return found if index.ndim > 1 else found.squeeze(1)


@op(batch=gather_in_batch, overlap=ANY, jvp=LINEAR, warns=False, input=_gather_rule)
def gather(input: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    """The elements that `index` names along a dimension: for two dimensions and dim=0, `out[i, j] = input[index[i, j], j]`."""
    found = loops("index").gather(input, index, dim)
    if found is not None:
        return found
    dim = check_along("gather", input, dim, index, whose="input")
    if index.size == 0:
        return np.empty_like(input, shape=index.shape)
    if not in_one_line(input):
        return as_vector(input)[places(index, dim)].reshape(index.shape)
    return np.take(input, flat_places(input.shape, index, dim), mode="wrap").reshape(index.shape)  # (the bounds are checked already)


def _scatter_into(input: Array, dim: int, index: Array, src: Array) -> None:
    dim = check_along("scatter", input, dim, index, src)
    if index.size:
        write_along(input, dim, index, used_part(src, index))


def write_along(input: Array, dim: int, index: Array, values: Array) -> None:
    """The indices are known to be within bounds."""
    if values.__class__ is np.ndarray and loops("index").put.along(input, dim, index, values):
        return
    if in_one_line(input):
        input.reshape(-1)[flat_places(input.shape, index, dim)] = values
    else:
        as_vector(input)[places(index, dim)] = values


@op(
    "scatter", batch=ALONG, overlap=ANY, method=False, function=False, jvp=LINEAR, warns=False,
    input=lambda g, dim, index: call(scatter_value, g, dim, index, 0),
    src=lambda g, dim, index, src_shape: in_front(call(gather, g, dim, index), src_shape),
)  # fmt: skip
def _scatter(input: Array, dim: int, index: Array, src: Array) -> Array:
    if (result := loops("index").put.copied_along(input, dim, index, src)) is None:
        result = copied(input)
        _scatter_into(result, dim, index, src)
    return result


@op(
    "scatter_value", batch=ALONG, overlap=ANY, method=False, function=False, nodes="ScatterBackward1", warns=False,
    holomorphic=True, jvp=lambda input_t, dim, index: scatter_value(input_t, dim, index, 0),
    input=lambda g, dim, index: call(scatter_value, g, dim, index, 0),
)  # fmt: skip
def scatter_value(input: Array, dim: int, index: Array, value: Any) -> Array:
    result = copied(input)
    _scatter_value_into(result, dim, index, value)
    return result


def _scatter_value_into(input: Array, dim: int, index: Array, value: Any) -> None:
    if input.dtype.kind == "f" and loops("index").filled_along(input, dim, index, number_for(value, input.dtype)):
        return
    dim = check_along("scatter", input, dim, index)
    if index.size:
        write_along(input, dim, index, number_as(value, input.dtype))


@op(
    overlap=ANY, batch=ALONG, jvp=LINEAR,
    input=lambda g: g,
    src=lambda g, dim, index, src_shape: in_front(call(gather, g, dim, index), src_shape),
)  # fmt: skip
def scatter_add(input: Array, dim: int, index: Array, src: Array) -> Array:
    """A copy with the elements of `src` added at the places that `index` names along a dimension."""
    if (result := loops("index").add.copied_along(input, dim, index, src)) is None:
        result = copied(input)
        _scatter_add_into(result, dim, index, src)
    return result


def _scatter_add_into(input: Array, dim: int, index: Array, src: Array) -> None:
    dim = check_along("scatter_add", input, dim, index, src)
    if index.size:
        combine_along(np.add, input, dim, index, used_part(src, index))


def combine_along(ufunc: np.ufunc, input: Array, dim: int, index: Array, values: Array) -> None:
    """The indices are known to be within bounds. Half precision is combined in single precision, and rounded once."""
    if is_half(input.dtype):
        whole = wide(input)
        combine_along(ufunc, whole, dim, index, wide(values))
        input[...] = cast(whole, input.dtype)
        return
    if loops("index").BY_UFUNC[ufunc].along(input, dim, index, values):
        return
    check_unlocked(input)
    if in_one_line(input):
        ufunc.at(input.reshape(-1), flat_places(input.shape, index, dim).reshape(-1), values.reshape(-1))
    else:
        ufunc.at(as_vector(input), places(index, dim), as_vector(values))


scatter_add_ = inplace_form(scatter_add, _scatter_add_into, lambda: loops("index").add.along)
_scatter_here = writing_form(_scatter, _scatter_into)
_scatter_value_here = writing_form(scatter_value, _scatter_value_into)


# ---- the choice among them ----------------------------------------------------------------------------------------------------------


def _chosen(input: Any, dim: int, index: Any, src: Any, value: Any, reduce: str | None, inplace: bool) -> Any:
    """`scatter` takes a tensor or a number, and may combine instead of replace."""
    given = value if src is None else src
    if given is None:
        name = "scatter_" if inplace else "scatter"
        raise TypeError(f"{name}() received an invalid combination of arguments - there is neither a tensor `src` nor a number `value`")
    if reduce is None:
        if isinstance(given, Tensor):
            return (_scatter_here if inplace else _scatter)(input, dim, index, given)
        return (_scatter_value_here if inplace else scatter_value)(input, dim, index, given)
    from .scatter_reduce import scatter_reduce, scatter_reduce_

    if reduce not in ("add", "multiply"):
        raise RuntimeError(f"reduce argument must be either add or multiply. (got {reduce})")
    if not isinstance(given, Tensor):
        given = input.new_full(index.shape, given)
    how = "sum" if reduce == "add" else "prod"
    return (scatter_reduce_ if inplace else scatter_reduce)(input, dim, index, given, how)


@composite()
def scatter(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None, out: Any = None) -> Any:
    """A copy with elements of `src` (or one value) at the places that `index` names along a dimension."""
    if src.__class__ is Tensor and reduce is None and out is None:
        return _scatter(input, dim, index, src)
    read = (input, index, src) if isinstance(src, Tensor) else (input, index)
    return into(out, _chosen(input, dim, index, src, value, reduce, False), SAME, read)


@in_common_cases(_scatter, _scatter_into, lambda: loops("index").put.along)
def scatter_(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Any:
    """Write elements of `src` (or one value) at the places that `index` names along a dimension."""
    return _chosen(input, dim, index, src, value, reduce, True)


@composite()
def take_along_dim(input: Any, indices: Any, dim: int | None = None, *, out: Any = None) -> Any:
    """The elements that `indices` names along a dimension, after both are broadcast against each other."""
    if indices._data.dtype != INT64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.scalar_name}")
    if dim.__class__ is int and input._data.__class__ is indices._data.__class__ is np.ndarray:
        place = dim if dim >= 0 else dim + input._data.ndim
        if obviously_along(input._data, place, indices._data):
            return gather(input, place, indices, out=out)
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1), out=out)
    place, whole, wanted = broadcast_along(input._data.shape, indices._data.shape, dim)
    if input._data.shape != whole:
        input = input.expand(whole)
    if indices._data.shape != wanted:
        indices = indices.expand(wanted)
    return gather(input, place, from_front(indices, whole[place]), out=out)


@lru_cache(256)
def broadcast_along(shape: Shape, index: Shape, dim: int) -> tuple[int, Shape, Shape]:
    """A dimension, counted from the front, and the shapes of a tensor and of an index of it after both are broadcast in all others."""
    if len(shape) != len(index):
        raise RuntimeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {len(shape)} dimensions for "
            f"input, and {len(index)} dimensions for indices"
        )
    place = wrap_dim(dim, len(shape))
    common = np.broadcast_shapes(*((*sizes[:place], 1, *sizes[place + 1 :]) for sizes in (shape, index)))
    whole, wanted = ((*common[:place], sizes[place], *common[place + 1 :]) for sizes in (shape, index))
    return place, whole, wanted


def from_front(indices: Any, size: int) -> Any:
    """Indices that count from the end, counted from the front; in memory one after the other."""
    data = indices._data
    if isinstance(data, Layer):
        return indices + (indices < 0) * size
    if data.__class__ is not np.ndarray:
        return indices
    if data.dtype is INT64 and (found := loops("index").counted(data, size)) is not None:
        return wrap(found)
    return wrap(np.where(data < 0, data + size, data)) if (data < 0).any() else indices


# ---- whole slices: index_select and index_add ---------------------------------------------------------------------------------------


def slices(dim: int, index: Array) -> tuple[Any, ...]:
    return (EVERYTHING,) * dim + (as_vector(index),)


def index_select_rule(g: Array, dim: int, index: Array, input_shape: Shape, input_dtype: Any) -> Array:
    """Zeros, with the slices of a gradient added where they came from."""
    if (whole := loops("index").add.into_zeros(input_shape, dim, index, g)) is not None:
        return whole
    return call(index_add, zeros_on(g, input_shape, input_dtype), dim, index, g)


def slices_of_examples(dim: int, ndim: int, index: Tensor, is_batched: bool) -> tuple[Any, ...]:
    """The slices that `index` names along a dimension of each example, as an index of `x[...]`."""
    return (slice(None),) * wrap_dim(dim, ndim) + (Index(index._data) if is_batched else index._data,)


def select_in_batch(input: Tensor, dim: int, index: Tensor, examples: int, batched: list[bool]) -> Tensor:
    from .advanced_index import index_batch

    ndim = input.ndim - batched[0]
    index = index if index.ndim > batched[1] else index.unsqueeze(-1)
    whole = input if ndim else input.unsqueeze(-1)
    result = index_batch(whole, slices_of_examples(dim, max(ndim, 1), index, batched[1]), examples, batched)
    return result if ndim else result.squeeze(1)


def write_in_batch(
    input: Tensor, dim: int, index: Tensor, values: Tensor, accumulate: bool, examples: int, batched: list[bool]
) -> Tensor:
    """Slices of every example written, or added to. `values` may be one number for each example."""
    from .advanced_index import put_batch

    whole = expanded(input, examples, batched[0])
    source = expanded(values, examples, batched[-1])
    index = index if index.ndim > batched[1] else index.unsqueeze(-1)
    flat = whole.ndim == 1
    if flat:
        whole = whole.unsqueeze(1)
    if 1 < source.ndim < whole.ndim:
        source = source.unsqueeze(wrap_dim(dim, whole.ndim - 1) + 1)
    result = put_batch(whole, slices_of_examples(dim, whole.ndim - 1, index, batched[1]), source, accumulate, examples)
    return result.squeeze(1) if flat else result


@op(jvp=LINEAR, warns=False, overlap=ANY, same="index_select(): self and result must have the same scalar type", input=index_select_rule,
    batch=select_in_batch, narrow=True)  # fmt: skip
def index_select(input: Array, dim: int, index: Array) -> Array:
    """The slices that `index` names along a dimension."""
    if len(index.shape) == 1:
        found = loops("index").take(input, index, dim)
        if found is not None:
            return found
    dim = check_selected(input, dim, index)
    found = np.take(as_vector(input), as_vector(index), axis=dim)
    return found if input.shape else found.reshape(())


def index_add_rule(g: Array, dim: int, index: Array, alpha: Any, source_shape: Shape) -> Array:
    rows = call(index_select, g, dim, index)
    return (rows if alpha == 1 else rows * alpha).reshape(source_shape)


@op(
    overlap=ANY, jvp=LINEAR,
    batch=lambda input, dim, index, source, alpha, examples, batched: write_in_batch(
        input, dim, index, source * alpha, True, examples, batched
    ),
    input=lambda g: g,
    source=index_add_rule,
)  # fmt: skip
def index_add(input: Array, dim: int, index: Array, source: Array, *, alpha: Any = 1) -> Array:
    """A copy with the slices of `source` added to those that `index` names along a dimension."""
    if same_slices(input, dim, index, source) and (result := loops("index").add.into_copy(input, dim, index, source, alpha)) is not None:
        return result
    result = copied(input)
    _index_add_into(result, dim, index, source, alpha)
    return result


def _index_add_by_kernel(input: Array, dim: int, index: Array, source: Array, alpha: Any) -> bool:
    return same_slices(input, dim, index, source) and bool(loops("index").add.at_rows(input, dim, index, source, alpha))


def _index_add_into(input: Array, dim: int, index: Array, source: Array, alpha: Any) -> None:
    dim = check_combined("index_add", input, dim, index, source)
    whole, values = wide(as_vector(input)), wide(as_vector(source))
    add_at(whole, slices(dim, index), values if alpha == 1 else values * number_as(alpha, values.dtype))
    if is_half(input.dtype):  # added up in single precision, and rounded once
        input[...] = cast(whole, input.dtype).reshape(input.shape)


inplace_form(index_add, _index_add_into, lambda: _index_add_by_kernel)


def same_slices(input: Array, dim: int, index: Array, source: Array) -> bool:
    """Whether it is obvious that slices and indices fit together."""
    shape = source.shape
    if len(index.shape) != 1 or len(shape) != len(input.shape) or dim.__class__ is not int or not 0 <= dim < len(shape):
        return False
    if shape == input.shape:
        return index.shape[0] == shape[dim]  # type: ignore[no-any-return]
    return (*input.shape[:dim], index.shape[0], *input.shape[dim + 1 :]) == shape  # type: ignore[no-any-return]


@op(
    overlap=ANY, jvp=LINEAR,
    batch=lambda input, dim, index, source, examples, batched: write_in_batch(input, dim, index, source, False, examples, batched),
    input=lambda g, dim, index: call(_index_fill, g, dim, index, 0),
    source=lambda g, dim, index, source_shape: call(index_select, g, dim, index).reshape(source_shape),
)  # fmt: skip
def index_copy(input: Array, dim: int, index: Array, source: Array) -> Array:
    """A copy with the slices of `source` in place of those that `index` names along a dimension."""
    if same_slices(input, dim, index, source) and (result := loops("index").put.into_copy(input, dim, index, source)) is not None:
        return result
    result = copied(input)
    _index_copy_into(result, dim, index, source)
    return result


def _index_copy_by_kernel(input: Array, dim: int, index: Array, source: Array) -> bool:
    return same_slices(input, dim, index, source) and bool(loops("index").put.at_rows(input, dim, index, source))


def _index_copy_into(input: Array, dim: int, index: Array, source: Array) -> None:
    dim = check_copied(input, dim, index, source)
    as_vector(input)[slices(dim, index)] = as_vector(source)


inplace_form(index_copy, _index_copy_into, lambda: _index_copy_by_kernel)


@op(
    "index_fill", overlap=ANY, method=False, function=False, like=("input",),
    batch=lambda input, dim, index, value, examples, batched: write_in_batch(
        input, dim, index, input.new_full((), value), False, examples, [*batched, False]
    ),
    holomorphic=True, jvp=lambda input_t, dim, index: _index_fill(input_t, dim, index, 0),
    input=lambda g, dim, index: call(_index_fill, g, dim, index, 0),
)  # fmt: skip
def _index_fill(input: Array, dim: int, index: Array, value: Any) -> Array:
    result = copied(input)
    _index_fill_into(result, dim, index, value)
    return result


def _index_fill_into(input: Array, dim: int, index: Array, value: Any) -> None:
    if len(index.shape) == 1 and input.dtype.kind == "f" and dim.__class__ is int and isinstance(value, int | float):
        if loops("index").filled(input, dim, index, number_for(value, input.dtype)):
            return
    dim = check_filled(input, dim, index, value)
    as_vector(input)[slices(dim, index)] = value if hasattr(value, "shape") else number_as(value, input.dtype)


def once(index: Array) -> Array:
    """Each index once: a place that is named twice is filled once."""
    data = getattr(index, "_data", index)
    if data.__class__ is not np.ndarray:
        return index
    distinct = np.unique(data)
    return index.new_tensor(distinct) if isinstance(index, Tensor) else distinct


@op(
    "index_fill_tensor", overlap=ANY, method=False, function=False, jvp=LINEAR, nodes="IndexFillBackward1",
    batch=lambda input, dim, index, value, examples, batched: write_in_batch(
        input, dim, index, value.to(input.dtype), False, examples, batched
    ),
    input=lambda g, dim, index: call(_index_fill, g, dim, index, 0),
    value=lambda g, dim, index: np.sum(call(index_select, g, dim, once(index))),
)  # fmt: skip
def _index_fill_tensor(input: Array, dim: int, index: Array, value: Array) -> Array:
    result = copied(input)
    _index_fill_tensor_into(result, dim, index, value)
    return result


def _index_fill_tensor_into(input: Array, dim: int, index: Array, value: Array) -> None:
    if value.shape:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {len(value.shape)} dimension(s).\n"
            "  fix: x.index_copy(dim, index, values)"
        )
    _index_fill_into(input, dim, index, value)


_index_fill_here = writing_form(_index_fill, _index_fill_into, one_value=True)
_index_fill_tensor_here = writing_form(_index_fill_tensor, _index_fill_tensor_into, one_value=True)


@composite()
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """A copy with one value in the slices that `index` names along a dimension."""
    return (_index_fill_tensor if isinstance(value, Tensor) else _index_fill)(input, dim, index, value)


@composite(function=False)
def index_fill_(input: Tensor, dim: int, index: Any, value: Any) -> Tensor:
    """Write one value into the slices that `index` names along a dimension."""
    warn_if_expanded(input, "index_fill_")
    return (_index_fill_tensor_here if isinstance(value, Tensor) else _index_fill_here)(input, dim, index, value)
