"""Indexing: `x[...]` and `x[...] = value`. The ops behind them are in `advanced_index.py`.

Note [Two steps]
An index is split in two, as in PyTorch. Numbers, slices, None and Ellipsis are taken first and make a view (parts.py). Tensors, lists
and masks index that view and make a copy. This is where PyTorch differs from NumPy: `x[0, :, [1, 2]]` keeps the dimensions in their
order, because the number is gone before the list is looked at.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._errors import spelled
from .._layer import Layer
from .._state import get_mode, recording
from .._tensor import Tensor, wrap
from ..autograd.node import INFERENCE_TENSOR
from ..autograd.regions import ANY, check_apart, same_memory
from ..autograd.views import check_writable
from ._forward import NUMBERS
from ._general import array_to_write, plain_array
from ._inplace import shares_memory
from ._primitives import loops
from ._registry import FUNCTIONS, Array, composite
from .advanced_index import Indices, Shape, assign_at, index_at, put_at
from .assign import SMALL, arrays_to_write, copy_, fill_, number_as, warn_if_expanded, write_through
from .memory import alias
from .parts import EVERYTHING, select_part, slice_part, unsqueeze_part
from .shape import expanded_shape

FEW = 1 << 10  # elements of an array that NumPy writes to as fast as kernels do
KNOWN = frozenset({np.ndarray, slice})  # what most indices consist of
INT64, INT32, BOOL = np.dtype(np.int64), np.dtype(np.int32), np.dtype(bool)


# ---- what an index means ------------------------------------------------------------------------------------------------------------


def as_items(index: Any) -> Sequence[Any]:
    """An index as a sequence of items, one for each dimension or mask."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and len(index) < 32 and any(
        item is None or item is Ellipsis or isinstance(item, list | tuple | slice | Tensor | np.ndarray | range) for item in index
    ):  # fmt: skip
        warnings.warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated; write x[tuple(seq)] instead of x[seq].", stacklevel=4
        )
        return index
    return (index,)


def as_item(item: Any) -> Any:
    """An item as one of: int, slice, None, Ellipsis, bool, or an array of integers or truth values."""
    if item is None or item is Ellipsis or isinstance(item, bool | int):
        return item
    if isinstance(item, slice):
        if item.step is not None and item.step <= 0:
            if item.step == 0:
                raise ValueError("slice step cannot be zero")
            raise ValueError("step must be greater than zero\n  fix: x.flip(dim) reverses a dimension")
        return item
    if isinstance(item, Tensor):
        return as_index(item._data, item._data.dtype in (INT64, INT32))
    if isinstance(item, np.ndarray):
        return as_index(item, True)
    if isinstance(item, list | tuple | range):
        array = np.array([as_item(entry) for entry in item] if not isinstance(item, range) else item)
        return as_index(array if array.size else array.astype(np.intp), True)
    if hasattr(item, "__index__"):
        return item.__index__()
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
        f"(got {type(item).__module__ + '.' if type(item).__module__ != 'builtins' else ''}{type(item).__name__})"
    )


def as_index(array: Array, integers: bool) -> Any:
    """An array that serves as an index. Without dimensions it is a number or a truth value."""
    kind = array.dtype.kind
    if array.dtype == np.uint8:
        warnings.warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.", stacklevel=6)
        array, kind = array.astype(bool), "b"
    if not array.shape and kind in "iub" and not isinstance(array, Layer):
        return bool(array) if kind == "b" else int(array)
    if kind == "b" or (integers and kind in "iu"):
        return array
    raise IndexError(
        "tensors used as indices must be long, int, byte or bool tensors\n  fix: x[index.long()], or x[mask] with a mask such as y > 0"
    )


def analyse(shape: Shape, index: Any) -> tuple[Any, tuple[Any, ...], Indices | None]:
    """An index as its two steps (see Note [Two steps]): the op for the view (None if it would be the whole), the basic index with an
    Ellipsis at its end, and the advanced indices of the view, if any."""
    items = [as_item(item) for item in as_items(index)]
    ndim = len(shape)
    used = sum(dims_of(item) for item in items)
    if used > ndim:
        if ndim == 0 and len(items) == 1 and isinstance(items[0], int):
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to "
                "a number"
            )
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    part = None
    basic: list[Any] = []
    indices: list[Any] = []
    advanced = False
    dim = 0
    for item in items:
        count = dims_of(item)
        if item is Ellipsis:
            count = ndim - used
            used = ndim  # a second one stands for nothing
            basic += [EVERYTHING] * count
            indices += [EVERYTHING] * count
        elif item is None or isinstance(item, bool):
            basic.append(None)
            indices.append(EVERYTHING if item is None else np.array([item]))
            advanced = advanced or item is not None
            part = unsqueeze_part
        elif isinstance(item, slice):
            if item != EVERYTHING:
                part = slice_part
            basic.append(item)
            indices.append(EVERYTHING)
        elif isinstance(item, int):
            if not -shape[dim] <= item < shape[dim]:
                raise IndexError(f"index {item} is out of bounds for dimension {dim} with size {shape[dim]}")
            basic.append(item)
            part = select_part
        else:
            if item.dtype.kind == "b":
                check_mask(item.shape, shape, dim)
            basic += [EVERYTHING] * count
            indices.append(item)
            advanced = True
        dim += count
    return part, (*basic, ...), tuple(indices) if advanced else None


def dims_of(item: Any) -> int:
    """How many dimensions an item uses up."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    return len(item.shape) if hasattr(item, "shape") and item.dtype.kind == "b" else 1


def check_mask(mask: Shape, shape: Shape, dim: int) -> None:
    for place, size in enumerate(mask):
        if size != shape[dim + place]:
            raise IndexError(
                f"The shape of the mask {list(mask)} at index {place} does not match the shape of the indexed tensor {list(shape)} "
                f"at index {dim + place}"
            )


def kept(indices: Indices, *tensors: Any) -> Indices:
    """Indices that a node may keep: copied if it will, because the tensors they come from can be changed before backward."""
    if recording():
        for tensor in tensors:
            if isinstance(tensor, Tensor) and tensor._fn is not None and tensor.requires_grad:
                return tuple([item if item.__class__ is slice else item.copy() for item in indices])
    return indices


# ---- reading and writing ------------------------------------------------------------------------------------------------------------


@composite("__getitem__", function=False)
def getitem(input: Tensor, index: Any) -> Tensor:
    """The elements at an index: a view for numbers, slices, None and Ellipsis, a copy where tensors, lists or masks are among them."""
    kind = index.__class__
    try:
        if kind is int:
            return select_part(input, (index, ...))  # type: ignore[no-any-return]
        if kind is slice:
            if index.step is None or goes_forwards(index):
                return slice_part(input, (index, ...))  # type: ignore[no-any-return]
        elif index is None:
            return unsqueeze_part(input, (None, ...))  # type: ignore[no-any-return]
        elif kind is tuple:
            part: Any = None
            ending: tuple[Any, ...] = (...,)
            for item in index:
                kind = item.__class__
                if kind is int:
                    part = select_part
                elif kind is slice:
                    if item.step is not None:
                        if not goes_forwards(item):
                            break
                        part = slice_part
                    elif item.start is not None or item.stop is not None:
                        part = slice_part
                elif item is None:
                    part = unsqueeze_part
                elif item is Ellipsis and ending:
                    ending = ()
                else:
                    break
            else:
                if part is not None:
                    return part(input, index + ending)  # type: ignore[no-any-return]
            if kind is Tensor and (arrays := whole_index(input, index)) is not None:
                return index_at(input, kept(arrays, input))  # type: ignore[no-any-return]
        elif kind is list and len(index) and all([item.__class__ is int for item in index]) and input._data.shape:
            return index_at(input, (np.array(index, INT64),))  # type: ignore[no-any-return]
        elif kind is Tensor and index._data.__class__ is np.ndarray:
            data, shape = index._data, input._data.shape
            if data.dtype is INT64 and shape:
                if not data.shape:
                    return select_part(input, (int(data), ...))  # type: ignore[no-any-return]
                return index_at(input, kept((data,), input))  # type: ignore[no-any-return]
            if data.dtype is BOOL and data.shape and data.shape == shape[: data.ndim]:
                return index_at(input, kept((data,), input))  # type: ignore[no-any-return]
    except IndexError:
        pass  # found again below, with PyTorch's words for it
    part, basic, indices = analyse(input._data.shape, index)
    if indices is None:
        if part is None:
            part = slice_part if index.__class__ is slice else None
        return alias(input) if part is None else part(input, basic)  # type: ignore[no-any-return]
    target = input if part is None else part(input, basic)
    if not KNOWN.issuperset(map(type, indices)) and (found := answer_of_wrappers(target, index, indices)) is not NotImplemented:
        return found  # type: ignore[no-any-return]
    return index_at(target, kept(indices, input))  # type: ignore[no-any-return]


def answer_of_wrappers(input: Tensor, index: Any, indices: Indices) -> Any:
    """What the classes of tensors without elements, which stand among the indices, make of it."""
    from .._class_dispatch import WrapperArray, answer_index

    given = {id(item._data): item for item in as_items(index) if isinstance(item, Tensor) and item._data.__class__ is WrapperArray}
    return answer_index(input, [given.get(id(item), item) for item in indices]) if given else NotImplemented


def goes_forwards(item: slice) -> bool:
    """Whether the step of a slice means the same to NumPy and to PyTorch, which refuses those that are not positive."""
    return item.step.__class__ is int and item.step > 0


def whole_index(input: Tensor, index: tuple[Any, ...]) -> Indices | None:
    """The arrays of an index that consists of tensors of integers and full slices; None if there is anything else."""
    if len(index) > input._data.ndim:
        return None
    arrays = []
    for item in index:
        if item.__class__ is slice and item == EVERYTHING:
            arrays.append(item)
        elif item.__class__ is not Tensor or item._data.dtype is not INT64 or not item._data.shape:
            return None
        else:
            arrays.append(item._data)
    return tuple(arrays)


@composite("__setitem__", function=False)
def setitem(input: Tensor, index: Any, value: Any) -> None:
    """Write a number, or the elements of a tensor (broadcast), at an index."""
    if index.__class__ is Tensor and index._data.dtype is BOOL and (value.__class__ is float or value.__class__ is int):
        if index._data.shape == input._data.shape and array_to_write(input) is not None:  # (what is recorded is an index)
            FUNCTIONS["masked_fill_"](input, index, value)
            return
    if index is False or written_at_once(input, index, value):
        return
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (Tensor, *NUMBERS)):
        raise TypeError(
            spelled(
                f"can't assign a {'numpy.' if isinstance(value, np.ndarray) else ''}{type(value).__name__} to a "
                f"torch.{input.dtype.scalar_name}Tensor\n  fix: x[...] = torch.tensor(value)"
            )
        )
    part, basic, indices = analyse(input._data.shape, index)
    target = input if part is None else part(input, basic)
    if indices is not None:
        if not isinstance(value, Tensor):
            value = wrap(number_as(value, input._data.dtype))
        value = for_mask(target, indices, without_leading_ones(value, index_ndim(target, indices)))
        if not value._data.shape and any(item.__class__ is not slice and item.dtype is BOOL for item in indices):
            value = value.clone()  # one number, which is read before
        where, overlap = kept(indices, input, value), warn_if_expanded(target, "index_put_")
        write_through(put_at, assign_at, one_value=overlap, input=target, indices=where, values=value, accumulate=False)
    elif isinstance(value, Tensor):
        value = without_leading_ones(value, target.ndim)
        expanded_shape(value._data, target._data.shape)
        copy_(target, value)
    else:
        if 0 in target._data.strides:
            check_writable(target, False)
        fill_(target, value)


def written_at_once(input: Tensor, index: Any, value: Any) -> bool:
    """The usual write, of a number or a tensor where nothing is recorded, goes straight to NumPy. What it refuses is left to the others."""
    mode, data, kind = get_mode(), input._data, index.__class__
    if mode > 1 or data.__class__ is not np.ndarray or input._vc is INFERENCE_TENSOR or (mode and input.requires_grad) or 0 in data.strides:
        return False
    if kind is Tensor:
        index = index._data
        if index.__class__ is not np.ndarray or not index.shape or (index.dtype is not INT64 and index.dtype is not BOOL):
            return False
        if index.dtype is INT64:
            check_apart(data, index, ANY)
    elif kind is tuple:
        if (index := as_numpy(index)) is None:
            return False
    elif kind is not int and index is not Ellipsis and not (kind is slice and (index.step is None or goes_forwards(index))):
        return False
    if value.__class__ is Tensor:
        value, recorded = value._data, mode and value.requires_grad
        if recorded or value.__class__ is not np.ndarray or same_memory(value, data):
            return False
        if value.dtype is not data.dtype and value.dtype != data.dtype:
            return False
    elif not (value.__class__ is float or value.__class__ is int) or data.dtype.kind != "f" or not -SMALL <= value <= SMALL:
        return False
    try:
        large = data.size >= FEW and (kind is Tensor or kind is tuple)
        apart = large and not (value.__class__ is np.ndarray and shares_memory(value, data))
        if not apart or not loops("indexing").set_by_kernel(data, index, value):
            data[index] = value
    except (IndexError, ValueError):
        return False
    input._written()
    return True


def as_numpy(index: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """An index that means the same to NumPy; None where it might not: numbers among arrays put the dimensions in another order."""
    numbers = arrays = False
    items = []
    for item in index:
        if item.__class__ is int:
            numbers = True
        elif item.__class__ is Tensor:
            item = item._data
            if item.__class__ is not np.ndarray or not item.shape or (item.dtype is not INT64 and item.dtype is not BOOL):
                return None
            arrays = True
        elif item.__class__ is not slice or not (item.step is None or goes_forwards(item)):
            return None
        items.append(item)
    return None if numbers and arrays else tuple(items)


def index_ndim(target: Tensor, indices: Indices) -> int:
    """The number of dimensions of an advanced index's result."""
    arrays = [item for item in indices if item.__class__ is not slice]
    used = sum(dims_of(item) for item in arrays)
    return target.ndim - used + max(1 if item.dtype.kind == "b" else len(item.shape) for item in arrays)


def without_leading_ones(value: Tensor, ndim: int) -> Tensor:
    """PyTorch lets a value have more dimensions than its place if the first ones are of size one."""
    shape = value._data.shape
    excess = len(shape) - ndim
    if excess > 0 and all(size == 1 for size in shape[:excess]):
        return value.reshape(shape[excess:])
    return value


def for_mask(target: Tensor, indices: Indices, value: Tensor) -> Tensor:
    """What is written where a mask is true: one element of any dtype, as `masked_fill` takes it, or elements of the same dtype."""
    masks = [item for item in indices if item.__class__ is not slice]
    if len(masks) != 1 or masks[0].dtype.kind != "b" or value._data.dtype == target._data.dtype or value._data.size != 1:
        return value
    return value.to(target.dtype)


def given_indices(input: Tensor, indices: Any, name: str) -> Indices:
    """The tensors given to `index_put`; None leaves a dimension alone."""
    if indices.__class__ is tuple and indices and (arrays := whole_index(input, indices)) is not None:
        return arrays
    if isinstance(indices, Tensor) or not isinstance(indices, list | tuple):
        raise TypeError(f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not {type(indices).__name__}")
    found = []
    for place, item in enumerate(indices):
        if item is not None and not isinstance(item, Tensor):
            raise TypeError(f"expected Tensor as element {place} in argument 0, but got {type(item).__name__}")
        array = EVERYTHING if item is None else as_item(item)
        found.append(np.asarray(array) if isinstance(array, int) else array)
    if sum(1 if item is EVERYTHING else dims_of(item) for item in found) > input.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.ndim}")
    return tuple(found)


@composite()
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with `values` at the given indices, added to what is there if `accumulate`."""
    if indices.__class__ is tuple and (array := plain_array(input)) is not None and (given := plain_array(values)) is not None:
        if input._fn is values._fn is None and (where := whole_index(input, indices)) is not None:
            if (written := loops("indexing").written_copy(array, where, given, accumulate)) is not None:
                return wrap(written)
    return put_at(input, kept(given_indices(input, indices, "index_put"), input, values), values, accumulate)  # type: ignore[no-any-return]


@composite(direct=True)
def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write (or add) `values` at the given indices."""
    if indices.__class__ is tuple and indices and (given := arrays_to_write((input, values), (0, 1))) is not None:
        if (arrays := whole_index(input, indices)) is not None:
            for array in arrays:
                check_apart(given[0], array, ANY)
            assign_at(given[0], arrays, given[1], accumulate)
            return input._written()
    where = kept(given_indices(input, indices, "index_put_"), input, values)
    overlap = warn_if_expanded(input, "index_put_")
    return write_through(put_at, assign_at, one_value=overlap, input=input, indices=where, values=values, accumulate=accumulate)
