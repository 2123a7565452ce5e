"""Views that walk through memory in steps of their own: diagonals, windows, arbitrary strides."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .._layer import Pending, raised
from .._layout import is_dense
from .._tensor import Tensor
from ..autograd.regions import same_memory
from ..autograd.views import ORDINARY, View
from . import _several
from ._batching import expanded
from ._out import into
from ._precision import wide
from ._primitives import loops
from ._registry import LINEAR, SAME, Array, composite, op
from ._rules import call, cast, copied, wrap_dim, zeros_on
from .advanced_index import index_at, place_at
from .memory import element_strides, offset_of, owner_of
from .parts import EVERYTHING, selection

Shape = tuple[int, ...]


# ---- diagonals ----------------------------------------------------------------------------------------------------------------------


def _diagonal_of(array: Array, offset: int, dim1: int, dim2: int) -> Array:
    """A diagonal that can be written to; NumPy hands it out locked."""
    ndim = len(array.shape)
    dim1, dim2 = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if not offset and array.__class__ is np.ndarray and array.flags.c_contiguous:
        return _several.strided(array, *_main_diagonal(array.shape, array.strides, dim1, dim2))
    offset = max(-array.shape[dim1], min(offset, array.shape[dim2]))  # beyond that it is empty, and NumPy's numbers overflow
    view = array.diagonal(offset, dim1, dim2)
    if view.__class__ is np.ndarray and array.flags.writeable:
        view.flags.writeable = True
    return view


@lru_cache(256)
def _main_diagonal(shape: Shape, strides: Shape, dim1: int, dim2: int) -> tuple[Shape, Shape]:
    """The shape and the strides of a diagonal, which is the last dimension."""
    rest = [dim for dim in range(len(shape)) if dim not in (dim1, dim2)]
    length, step = min(shape[dim1], shape[dim2]), strides[dim1] + strides[dim2]
    return (*[shape[dim] for dim in rest], length), (*[strides[dim] for dim in rest], step)


@op(
    view=True, jvp=LINEAR,
    input=lambda g, input_shape, offset, dim1, dim2: call(place_diagonal, g, input_shape, offset, dim1, dim2),
)  # fmt: skip
def diagonal(input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """The diagonal of two dimensions, as the last dimension of the result."""
    return _diagonal_of(input, offset, dim1, dim2)


@op(
    "diag_embed", method=False, function=False, jvp=LINEAR,
    batch=lambda input, examples, shape, offset, dim1, dim2: place_diagonal(
        input, (examples, *shape), offset, wrap_dim(dim1, len(shape)) + 1, wrap_dim(dim2, len(shape)) + 1
    ),
    input=lambda g, offset, dim1, dim2: call(diagonal, g, offset, dim1, dim2),
)  # fmt: skip
def place_diagonal(input: Array, shape: Shape, offset: int, dim1: int, dim2: int) -> Array:
    """Zeros, with `input` on a diagonal."""
    if dim1 == len(shape) - 2 and dim2 == dim1 + 1 and (found := loops("diagonal").laid(input, shape, offset)) is not None:
        return found
    whole = zeros_on(input, shape, input.dtype)
    _diagonal_of(whole, offset, dim1, dim2)[...] = input
    return whole


def trace_batch(input: Array) -> Array:
    check_matrix(input.ndim - 1)
    return diagonal(input, 0, 1, 2).sum(-1)


def check_matrix(ndim: int) -> None:
    if ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {ndim}")


@op(
    wide=True, jvp=LINEAR, batch=trace_batch,
    input=lambda g, input_shape: call(place_diagonal, np.broadcast_to(g, (min(input_shape),)), input_shape, 0, 0, 1),
)  # fmt: skip
def trace(input: Array) -> Array:
    """The sum of the elements on the diagonal of a matrix."""
    check_matrix(len(input.shape))
    if input.dtype.kind == "b":
        raise NotImplementedError("\"trace\" not implemented for 'Bool'\n  fix: x.long()")
    if (found := loops("diagonal").trace(input)) is not None:
        return found
    dtype = np.dtype(np.int64) if input.dtype.kind in "iu" else None
    return input.trace(dtype=dtype) if input.__class__ is np.ndarray else np.sum(np.diagonal(input), dtype=dtype)


@composite()
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Square matrices of zeros whose diagonals are the vectors along the last dimension."""
    return place_diagonal(input, *_shape_around(input._data.shape, offset, dim1, dim2))


@lru_cache(256)
def _shape_around(shape: Shape, offset: int, dim1: int, dim2: int) -> tuple[Shape, int, int, int]:
    """The shape of matrices with diagonals along the last dimension of another; and the place of the diagonal."""
    ndim = len(shape) + 1
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    side = shape[-1] + abs(offset)
    rest = iter(shape[:-1])
    return tuple([side if dim in (first, second) else next(rest) for dim in range(ndim)]), offset, first, second


@composite()
def diag(input: Any, diagonal: int = 0, *, out: Any = None) -> Any:
    """The matrix with a given diagonal, or the diagonal of a given matrix."""
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return into(out, diag_embed(input, diagonal) if input.ndim == 1 else _diagonal_copy(input, diagonal), SAME)


def _diagonal_copy(input: Any, offset: int) -> Any:
    return diagonal(input, offset, 0, 1).clone()


@composite()
def diagflat(input: Any, offset: int = 0) -> Any:
    """The matrix whose diagonal holds all elements."""
    return diag_embed(input.reshape(-1), offset)


# ---- windows ------------------------------------------------------------------------------------------------------------------------


@op(
    function=False, view=True, jvp=LINEAR,
    input=lambda g, input_shape, dimension, size, step: call(add_windows, g, input_shape, dimension, size, step),
)  # fmt: skip
def unfold(input: Array, dimension: int, size: int, step: int) -> Array:
    """All windows of a size along a dimension, `step` apart, as a new last dimension. Overlapping ones share memory."""
    ndim = len(input.shape)
    dim = wrap_dim(dimension, ndim)
    shape, strides = (input.shape, input.strides) if ndim else ((1,), (input.itemsize,))
    if size > shape[dim]:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {shape[dim]} but size is {size}")
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    count = (shape[dim] - size) // step + 1
    if not ndim:
        return _several.strided(input, (size,), strides)
    return _several.strided(
        input, (*shape[:dim], count, *shape[dim + 1 :], size), (*strides[:dim], strides[dim] * step, *strides[dim + 1 :], strides[dim])
    )


@op(
    method=False, function=False, jvp=LINEAR,
    batch=lambda input, examples, shape, dimension, size, step: (
        add_windows(input, (examples, *shape), wrap_dim(dimension, len(shape)) + 1, size, step) if shape else input.sum(-1)
    ),
    input=lambda g, dimension, size, step: call(unfold, g, dimension, size, step),
)  # fmt: skip
def add_windows(input: Array, shape: Shape, dimension: int, size: int, step: int) -> Array:
    """Windows added up where they overlap: what `unfold` does, transposed."""
    whole = np.zeros_like(input, shape=shape)
    if not shape:
        return whole + np.sum(input)
    lead = (EVERYTHING,) * wrap_dim(dimension, len(shape))
    count = input.shape[len(lead)]
    for offset in range(size):
        whole[(*lead, slice(offset, offset + step * (count - 1) + 1, step))] += input[..., offset]
    return whole


# ---- arbitrary strides --------------------------------------------------------------------------------------------------------------

# Note [Gradient of as_strided]
# The result is a reading of the memory under the input, not of its elements. So the gradient is added up per place in memory and then read
# with the geometry of the input (shape, strides, offset). Where elements of the input share a place they share its gradient.

Geometry = tuple[Shape, Shape, int]


def geometry_of(array: Array) -> Geometry:
    """Shape, strides and offset, the latter two in elements."""
    return tuple(array.shape), element_strides(array), offset_of(array)


def positions(shape: Shape, strides: Shape, offset: int) -> Array:
    """Where in memory each element lies."""
    where = np.full(shape, offset, np.intp)
    for dim, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        where += (np.arange(size) * stride).reshape((size,) + (1,) * (len(shape) - dim - 1))
    return where


def _through_memory(x: Array, dtype: Any, source: Array, target: Array, shared: Array) -> Array:
    """The elements of `x` added up where they lie in memory, as seen from other positions. Elements that share a place count once."""
    extent = 1 + max((int(where.max()) for where in (source, target) if where.size), default=0)
    count = np.bincount(shared.reshape(-1), minlength=extent)
    if (count > 1).any():
        x = x / np.maximum(count, 1)[source].astype(np.float32)
    memory = call(place_at, wide(x).reshape(-1), (extent,), (source.reshape(-1),))
    return cast(call(index_at, memory, (target,)), dtype)


def _as_strided_grad(g: Array, input_dtype: Any, size: Shape, stride: Shape, storage_offset: int, own: Geometry) -> Array:
    read = positions(size, stride, storage_offset)
    shape, strides, offset = own
    count = math.prod(shape)
    if not offset and strides == dense_strides(shape) and (not read.size or read.max() < count):  # memory is as the elements are
        return cast(call(place_at, wide(g).reshape(-1), (count,), (read.reshape(-1),)), input_dtype).reshape(shape)
    written = positions(*own)
    return _through_memory(g, input_dtype, read, written, written)


@lru_cache(256)
def dense_strides(shape: Shape) -> Shape:
    """The strides, in elements, of an array whose memory is in order."""
    return tuple([math.prod(shape[dim + 1 :]) for dim in range(len(shape))])


def _as_strided_tangent(input_t: Any, size: Shape, stride: Shape, storage_offset: int, own: Geometry) -> Any:
    if geometry_of(input_t._data) == own:
        return _as_strided(input_t, size, stride, storage_offset, own)  # a view, so that writes to it reach the tangent of the base
    written = positions(*own)
    return _through_memory(input_t, input_t._data.dtype, written, positions(size, stride, storage_offset), written)


def _as_strided_batch(input: Tensor, size: Shape, stride: Shape, storage_offset: int, examples: int) -> Any:
    return as_strided(input, (examples, *size), (input.stride(0), *stride), storage_offset)


@op("as_strided", method=False, function=False, view=True, jvp=_as_strided_tangent, input=_as_strided_grad, batch=_as_strided_batch)
def _as_strided(input: Array, size: Shape, stride: Shape, storage_offset: int, own: Geometry) -> Array:
    return laid_over(input, size, stride, storage_offset)


def laid_over(input: Array, size: Shape, stride: Shape, storage_offset: int) -> Array:
    """A view of the memory under an array."""
    owner, itemsize = owner_of(input), input.itemsize
    steps, reach = _in_bytes(size, stride, itemsize)
    known = owner.__class__ is np.ndarray and owner.dtype is input.dtype and owner.flags.c_contiguous
    memory = owner if known and not storage_offset else owner.ravel(order="K").view(input.dtype)
    if reach and storage_offset * itemsize + reach > memory.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {storage_offset}, and itemsize {itemsize} "
            f"requiring a storage size of {storage_offset * itemsize + reach} are out of bounds for storage of size {memory.nbytes}"
        )
    return _several.strided(memory[storage_offset:] if storage_offset else memory, size, steps)


@lru_cache(256)
def _in_bytes(size: Shape, stride: Shape, itemsize: int) -> tuple[Shape, int]:
    """The strides, and how far the last element reaches behind where the first begins."""
    reach = 1 + sum([(n - 1) * step for n, step in zip(size, stride, strict=True)])
    return tuple([step * itemsize for step in stride]), reach * itemsize if 0 not in size else 0


def lies_inside(data: Array, size: Shape, stride: Shape, offset: int) -> bool:
    """Whether all elements that are asked for are among those of an array."""
    start = offset_of(data)
    return is_dense(data) and start <= offset and offset + _in_bytes(size, stride, 1)[1] <= start + data.size


@composite()
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """A view of the memory under a tensor with any shape, strides and offset (in elements)."""
    shape, steps = tuple(size), tuple(stride)
    if len(shape) != len(steps):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(steps)} strides for {len(shape)} dimensions")
    if steps and min(steps) < 0:
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(steps)}")
    whole = input._fn.base if isinstance(input._fn, View) else None  # the result may reach memory that a view does not
    if input._tangent is not None or input._data.__class__ is Pending:
        whole = None
    elif whole is not None and input._data.__class__ is whole._data.__class__ is np.ndarray and not same_memory(whole._data, input._data):
        whole = None  # it looks elsewhere by now
    if whole is None or whole._data.dtype != input._data.dtype or input._fn.creation is not ORDINARY:
        whole = input
    own = geometry_of(whole._data)
    offset = storage_offset if storage_offset is not None else own[2] if whole is input else offset_of(input._data)
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if whole is not input and input._data.__class__ is np.ndarray and lies_inside(input._data, shape, steps, offset):
        whole, own = input, geometry_of(input._data)  # the gradient goes through the view, and through its hooks
    return _as_strided(whole, shape, steps, offset, own)


# ---- copies with one part replaced --------------------------------------------------------------------------------------------------


def _check_part(part: Array, src: Array) -> None:
    if part.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(part.shape)}"
        )


def _replacing(name: str) -> Any:
    @op(
        name, method=False, function=False, warns=False, jvp=LINEAR,
        input=lambda g, index, src_shape, src_dtype: call(replaced, g, zeros_on(g, src_shape, src_dtype), index),
        src=lambda g, index, src_dtype: cast(g[index], src_dtype),
        batch=lambda input, src, index, examples, batched: replaced(
            expanded(input, examples, batched[0]), expanded(src, examples, batched[1]), (EVERYTHING, *index)
        ),
    )  # fmt: skip
    def replaced(input: Array, src: Array, index: Any) -> Array:
        """A copy with other elements at a basic index."""
        result = copied(input)
        part = result[index]
        _check_part(part, src)
        part[...] = cast(src, input.dtype)
        return result

    return replaced


_select_scatter, _slice_scatter = _replacing("select_scatter"), _replacing("slice_scatter")


@composite()
def select_scatter(input: Any, src: Any, dim: int, index: int) -> Any:
    """A copy in which `src` stands at one index of a dimension."""
    return _select_scatter(input, src, selection(input._data.shape, dim, index))


@composite()
def slice_scatter(
    input: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1, *, out: Any = None
) -> Any:
    """A copy in which `src` stands in a slice of a dimension."""
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    if not (ndim := len(input._data.shape)):
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    lead = (EVERYTHING,) * wrap_dim(dim, ndim)
    return into(out, _slice_scatter(input, src, (*lead, slice(start, end, step), ...)), SAME)


@op(
    jvp=LINEAR, warns=False, out=False,
    input=lambda g, offset, dim1, dim2, src_shape, src_dtype: call(
        diagonal_scatter, g, zeros_on(g, src_shape, src_dtype), offset, dim1, dim2
    ),
    src=lambda g, offset, dim1, dim2, src_dtype: cast(call(diagonal, g, offset, dim1, dim2), src_dtype),
    batch=lambda input, src, offset, dim1, dim2, examples, batched: diagonal_scatter(
        expanded(input, examples, batched[0]), expanded(src, examples, batched[1]), offset,
        *(wrap_dim(dim, input.ndim - batched[0]) + 1 for dim in (dim1, dim2)),
    ),
)  # fmt: skip
def diagonal_scatter(input: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """A copy in which `src` stands on a diagonal."""
    result = copied(input)
    part = _diagonal_of(result, offset, dim1, dim2)
    _check_part(part, src)
    part[...] = cast(src, input.dtype)
    return result


@composite()
def as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """A copy in which `src` stands where a strided view would be."""
    whole = raised(input.clone(), src)
    part = as_strided(whole, size, stride, storage_offset)
    _check_part(part, src)
    part.copy_(src)
    return whole
