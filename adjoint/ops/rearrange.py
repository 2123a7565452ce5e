"""Copies with the elements in another order, repeated, or cut to a triangle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .._device import get_default_device, resolve
from .._dtype import as_numpy_dtype, from_numpy_dtype
from .._tensor import Tensor, wrap, wrap_result
from ._batching import behind_batch, by_example, moved, refuse_batches, rows
from ._index_checks import first_outside
from ._primitives import loops
from ._registry import LEADING, LINEAR, Array, composite, op
from ._rules import call, cast, in_order, joined, normalize_dims, sum_to, whole_number, wrap_dim
from .assign import inplace_form
from .parts import EVERYTHING
from .scatter import index_select
from .shape import spread_arguments

Shape = tuple[int, ...]
INT64 = np.dtype(np.int64)
BACKWARDS = slice(None, None, -1)
SMALL = 4096  # elements of a triangle that is kept


# ---- repeated -----------------------------------------------------------------------------------------------------------------------


def _summed_repeats(g: Array, input_shape: Shape, repeats: Shape) -> Array:
    """The gradient of repeats: each dimension is split into the repeats, which are summed, and the original."""
    shape = (1,) * (len(repeats) - len(input_shape)) + tuple(input_shape)
    pairs = tuple(size for pair in zip(repeats, shape, strict=True) for size in pair)
    return sum_to(g.reshape(pairs), tuple([size for own in shape for size in (1, own)])).reshape(input_shape)


@op("repeat", method=False, function=False, jvp=LINEAR, warns=False, narrow=True, input=_summed_repeats,
    batch=lambda input, repeats: _repeat(behind_batch(input, len(repeats) + 1), (1, *repeats)))  # fmt: skip
def _repeat(input: Array, repeats: Shape) -> Array:
    """The tensor, so many times along each dimension."""
    if len(repeats) < len(input.shape):
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor "
            f"({len(repeats)} repeats for {len(input.shape)} dimensions)"
        )
    if any(count < 0 for count in repeats):
        shape = (1,) * (len(repeats) - len(input.shape)) + input.shape
        sizes = [count * size for count, size in zip(repeats, shape, strict=True)]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {sizes}")
    if input.__class__ is not np.ndarray:
        return np.tile(input, repeats)
    shape = (1,) * (len(repeats) - len(input.shape)) + input.shape
    result = np.empty(tuple([count * size for count, size in zip(repeats, shape, strict=True)]), input.dtype)
    pairs = [size for pair in zip(repeats, shape, strict=True) for size in pair]
    loops("copy").assign(result.reshape(pairs), input.reshape([size for n in shape for size in (1, n)]))
    return result


repeat = spread_arguments("repeat", "repeats", _repeat, function=False)


def _tile(input: Any, dims: Shape) -> Any:
    """The tensor, so many times along each dimension; missing counts at the front are one."""
    return _repeat(input, (1,) * (input.ndim - len(dims)) + tuple(dims))


tile = spread_arguments("tile", "dims", _tile)


@composite()
def repeat_interleave(input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Any:
    """Each element (or slice along `dim`) several times in a row; of a vector of counts alone, their indices, so many times each."""
    if repeats is None:
        refuse_batches("repeat_interleave", input)
        return wrap(np.repeat(np.arange(input.numel()), _counts(input)))
    if dim is None:
        input, dim = input.reshape(-1), 0
    dim = wrap_dim(dim, input.ndim)
    if isinstance(repeats, int):
        return _repeat_each(input, repeats, dim)
    refuse_batches("repeat_interleave", repeats)
    counts = _counts(repeats)
    if counts.size not in (1, input.shape[dim]):
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and input.size({dim}) = "
            f"{input.shape[dim]}"
        )
    return index_select(input, dim, wrap(np.repeat(np.arange(input.shape[dim]), counts)))


def _summed_in_a_row(g: Array, input_shape: Shape, repeats: int, dim: int) -> Array:
    before, after = input_shape[: dim + 1], input_shape[dim + 1 :]
    return sum_to(g.reshape((*before, repeats, *after)), (*before, 1, *after)).reshape(input_shape)


@op("repeat_interleave", method=False, function=False, jvp=LINEAR, warns=False, nodes="ViewBackward0", input=_summed_in_a_row,
    batch=lambda input, repeats, dim: _repeat_each(input, repeats, dim + 1))  # fmt: skip
def _repeat_each(input: Array, repeats: int, dim: int) -> Array:
    """Each slice along a dimension so many times in a row."""
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    if input.__class__ is np.ndarray and (found := loops("copy").repeat(input, repeats, dim)) is not None:
        return found
    return np.repeat(input, repeats, axis=dim)


def _counts(repeats: Any) -> Array:
    data = repeats._data if isinstance(repeats, Tensor) else np.asarray(repeats)
    if data.dtype.kind not in "iu":
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{from_numpy_dtype(data.dtype).scalar_name}'")
    if len(data.shape) > 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if data.size and data.min() < 0:
        raise RuntimeError("repeats can not be negative")
    return data.reshape(-1)


# ---- reversed, rolled, turned -------------------------------------------------------------------------------------------------------


@op("flip", like=("input",), method=False, function=False, jvp=LINEAR, warns=False, input=lambda g, dims: call(_flip, g, dims),
    batch=lambda input, dims: _flip(input, moved(dims, input.ndim - 1) if dims and input.ndim > 1 else ()))  # fmt: skip
def _flip(input: Array, dims: Shape) -> Array:
    """The elements in reverse order along dimensions."""
    return in_order(input[_turned(tuple(dims), len(input.shape))])


@lru_cache(256)
def _turned(dims: Shape, ndim: int) -> tuple[slice, ...]:
    """The index that reverses dimensions."""
    turned = normalize_dims(dims, ndim) if dims and ndim else ()
    return tuple([BACKWARDS if d in turned else EVERYTHING for d in range(ndim)])


flip = spread_arguments("flip", "dims", _flip)


@composite()
def fliplr(input: Any) -> Any:
    """The elements in reverse order from left to right: along the second dimension."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return _flip(input, (1,))


@composite()
def flipud(input: Any) -> Any:
    """The elements in reverse order from top to bottom: along the first dimension."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return _flip(input, (0,))


@op("roll", method=False, function=False, jvp=LINEAR, warns=False,
    batch=lambda input, shifts, dims: (
        _roll(input, shifts, moved(dims, input.ndim - 1)) if dims else _roll(rows(input), shifts, (1,)).reshape(input.shape)
    ),
    input=lambda g, shifts, dims: call(_roll, g, tuple([-n for n in shifts]), dims))  # fmt: skip
def _roll(input: Array, shifts: Shape, dims: Shape) -> Array:
    if not dims or not input.shape:
        return _rolled(input.reshape(-1), shifts[0], 0).reshape(input.shape)
    if len(dims) == 1:
        return _rolled(input, shifts[0], dims[0])
    for shift, dim in zip(shifts, dims, strict=True):
        input = _rolled(input, shift, dim)
    return input


def _rolled(input: Array, shift: int, dim: int) -> Array:
    """What np.roll does, for one dimension."""
    if input.__class__ is np.ndarray:
        rolled = loops("copy").roll(input, shift, dim)
        if rolled is not None:
            return rolled
    end, start = _halves(input.shape[dim], shift, dim)
    return joined([input[end], input[start]], dim)


@lru_cache(256)
def _halves(size: int, shift: int, dim: int) -> tuple[Any, Any]:
    """The indices of the part that comes to the front, and of the other."""
    cut = -shift % (size or 1)
    lead = (EVERYTHING,) * dim
    return (*lead, slice(cut, None)), (*lead, slice(0, cut))


@composite()
def roll(input: Any, shifts: Any, dims: Any = ()) -> Any:
    """Shift the elements along dimensions (or through the whole tensor); what leaves at one end comes in at the other."""
    if shifts.__class__ is int and dims.__class__ is int and 0 <= dims < len(input._data.shape):
        return _roll(input, (shifts,), (dims,))
    moves = tuple([whole_number(n, "shifts") for n in (shifts if isinstance(shifts, tuple | list) else (shifts,))])
    along = tuple(dims) if isinstance(dims, tuple | list) else (dims,)
    if not moves:
        raise RuntimeError("`shifts` required")
    if len(moves) != len(along) and not (len(moves) == 1 and not along):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(along)}")
    ndim = len(input._data.shape)
    if along and not ndim:
        raise IndexError(f"Dimension specified as {along[0]} but tensor has no dimensions\n  fix: leave dims away")
    return _roll(input, moves, tuple([wrap_dim(dim, ndim) for dim in along]))


@op(jvp=LINEAR, warns=False, input=lambda g, k, dims: call(rot90, g, -k, dims))
def rot90(input: Array, k: int = 1, dims: Sequence[int] = (0, 1)) -> Array:
    """Turn the plane of two dimensions by 90 degrees, `k` times, from the first towards the second."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    ndim = len(input.shape)
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    first, second = (wrap_dim(dim, ndim) for dim in dims)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    backwards = ((), (second,), (first, second), (first,))[k % 4]
    copy = in_order(input[_turned(backwards, ndim)])
    return copy.swapaxes(first, second) if k % 2 else copy


# ---- triangles ----------------------------------------------------------------------------------------------------------------------


def _check_matrix(name: str, input: Array) -> None:
    if len(input.shape) < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


def _lower(shape: Shape, diagonal: int) -> Array:
    """True in the lower triangle of matrices. Small ones are kept: making one takes longer than using it."""
    rows, columns = shape[-2:]
    return _small_lower(rows, columns, diagonal) if rows * columns <= SMALL else np.tri(rows, columns, diagonal, dtype=bool)


@lru_cache(64)
def _small_lower(rows: int, columns: int, diagonal: int) -> Array:
    return np.tri(rows, columns, diagonal, dtype=bool)


@op(batch=LEADING, jvp=LINEAR, warns=False, input=lambda g, diagonal: call(tril, g, diagonal))
def tril(input: Array, diagonal: int = 0) -> Array:
    """The lower triangle of matrices, up to a diagonal; zeros above."""
    _check_matrix("tril", input)
    if input.__class__ is not np.ndarray:
        return np.tril(input, diagonal)
    kept = loops("copy").lower(input, diagonal)
    if kept is not None:
        return kept
    return np.where(_lower(input.shape, diagonal), input, np.zeros((), input.dtype))


@op(batch=LEADING, jvp=LINEAR, warns=False, input=lambda g, diagonal: call(triu, g, diagonal))
def triu(input: Array, diagonal: int = 0) -> Array:
    """The upper triangle of matrices, from a diagonal on; zeros below."""
    _check_matrix("triu", input)
    if input.__class__ is not np.ndarray:
        return np.triu(input, diagonal)
    kept = loops("copy").upper(input, diagonal)
    if kept is not None:
        return kept
    return np.where(_lower(input.shape, diagonal - 1), np.zeros((), input.dtype), input)


def _clear_above(input: Array, diagonal: int) -> None:
    _check_matrix("tril", input)
    if not loops("copy").cleared(input, diagonal + 1, True):
        np.copyto(input, 0, where=~_lower(input.shape, diagonal), casting="unsafe")


def _clear_below(input: Array, diagonal: int) -> None:
    _check_matrix("triu", input)
    if not loops("copy").cleared(input, diagonal, False):
        np.copyto(input, 0, where=_lower(input.shape, diagonal - 1), casting="unsafe")


inplace_form(tril, _clear_above)
inplace_form(triu, _clear_below)


def _triangle_indices(rows: int, columns: int, diagonal: int, upper: bool, dtype: Any) -> Tensor:
    if rows < 0 or columns < 0:
        raise RuntimeError(f"row must be non-negative, got{rows}" if rows < 0 else f"col must be non-negative, got{columns}")
    kept = INT64 if dtype is None else as_numpy_dtype(dtype)
    if kept is not INT64 and kept != np.int32:
        name = from_numpy_dtype(kept).scalar_name
        raise NotImplementedError(f"\"tri{'u' if upper else 'l'}_indices\" not implemented for '{name}'\n  fix: .to(dtype)")
    places = loops("range").triangle(rows, columns, diagonal, upper)
    if places is None:
        below = np.tri(rows, columns, diagonal - upper, dtype=bool)
        places = np.stack(np.nonzero(~below if upper else below))
    return wrap(places if kept is INT64 else cast(places, kept))


@composite(method=False)
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, layout: Any = None, device: Any = None) -> Tensor:
    """The indices of the lower triangle of a matrix, rows first, in two rows."""
    return on_device(_triangle_indices(row, col, offset, False, dtype), device)


@composite(method=False)
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, layout: Any = None, device: Any = None) -> Tensor:
    """The indices of the upper triangle of a matrix, rows first, in two rows."""
    return on_device(_triangle_indices(row, col, offset, True, dtype), device)


def on_device(made: Tensor, device: Any) -> Tensor:
    """What was made on the CPU, where it was asked for."""
    place = get_default_device() if device is None else resolve(device)
    return made if place.type == "cpu" else made.to(place)


@composite(method=False)
@by_example
def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """The coordinates, one tensor for each dimension, of elements counted as if the tensor had one dimension."""
    if not isinstance(shape, int | Sequence):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
        if size < 0:
            raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    data = indices._data
    if data.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    total = math.prod(sizes)
    if (bad := first_outside(data, -total, total)) is not None:
        raise ValueError(f"index {bad} is out of bounds for a tensor of shape {list(sizes)}, which has {total} elements")
    places = data.astype(np.int64)
    return tuple(wrap_result(part) for part in np.unravel_index(np.where(places < 0, places + total, places), sizes))
