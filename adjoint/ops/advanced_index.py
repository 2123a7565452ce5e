"""Advanced indices: the ops that read, place and put elements at arrays of integers or truth values, and what they do with batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from .._errors import compose
from .._site import here
from .._tensor import Tensor, wrap
from ..autograd.regions import ANY
from ._batching import Index, behind_batch
from ._index_checks import first_outside
from ._inplace import shares_memory
from ._primitives import loops
from ._registry import LINEAR, Array, Held, op
from ._rules import call, copied, sum_to
from .parts import EVERYTHING
from .shape import inverse_order

Shape = tuple[int, ...]
Indices = tuple[Any, ...]  # arrays of integers or truth values, and a full slice where a dimension is not indexed


# ---- batches ------------------------------------------------------------------------------------------------------------------------


class BatchIndex:
    """What an advanced index of one example means for a batch: an index whose result has the batch somewhere, and where."""

    def __init__(self, indices: Indices, examples: int, of_batch: bool) -> None:
        arrays = [(place, item) for place, item in enumerate(whole_numbers(indices)) if item.__class__ is not slice]
        self.indices: list[Any] = [EVERYTHING] * (1 + len(whole_numbers(indices)))
        places = [place for place, _ in arrays]
        apart = places[-1] - places[0] != len(places) - 1
        self.ndim = max(item.array.ndim - 1 if isinstance(item, Index) else item.ndim for _, item in arrays)
        several = any(isinstance(item, Index) for _, item in arrays)
        for place, item in arrays:
            array = behind_batch(wrap(item.array), self.ndim + 1) if isinstance(item, Index) else wrap(item)
            self.indices[place + 1] = array._data
        self.start = 0 if apart else places[0]  # where the dimensions of the index go in the result for one example
        if several and of_batch:
            self.indices[0] = np.arange(examples).reshape(-1, *(1,) * self.ndim)
        elif not of_batch:
            del self.indices[0]
        # Where the batch, and then the dimensions of the index, are in the result.
        if several:
            self.batch = 0 if of_batch else self.start
            self.found = self.batch + 1
        else:
            self.batch, self.found = (self.ndim, 0) if apart else (0, self.start + 1)

    def order(self, ndim: int) -> list[int]:
        """The dimensions of the batch's result in the order: batch, then those of an example's."""
        found = list(range(self.found, self.found + self.ndim))
        rest = [d for d in range(ndim) if d != self.batch and d not in found]
        return [self.batch, *rest[: self.start], *found, *rest[self.start :]]


def whole_numbers(indices: Indices) -> list[Any]:
    """Indices with the positions of what they select in place of masks."""
    found: list[Any] = []
    for item in indices:
        data = item.array if isinstance(item, Index) else item
        if item.__class__ is slice or data.dtype.kind != "b":
            found.append(item)
        elif isinstance(item, Index):
            raise RuntimeError(
                compose(
                    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a "
                    "boolean mask: each example would select another number of elements.",
                    {"here": here()},
                    "torch.where(mask, x, 0) keeps the shape",
                )
            )
        else:
            found += list(data.nonzero())
    return found


def index_batch(input: Tensor, indices: Indices, examples: int, batched: list[bool]) -> Tensor:
    index = BatchIndex(indices, examples, batched[0])
    result: Tensor = index_at(input, tuple(index.indices))
    return result.permute(index.order(result.ndim))


def place_batch(input: Tensor, shape: Shape, indices: Indices, examples: int) -> Tensor:
    index = BatchIndex(indices, examples, True)
    values = input.permute(inverse_order(index.order(input.ndim)))
    return place_at(values, (examples, *shape), tuple(index.indices))  # type: ignore[no-any-return]


def put_batch(input: Tensor, indices: Indices, values: Tensor, accumulate: bool, examples: int) -> Tensor:
    index = BatchIndex(indices, examples, True)
    target: Tensor = index_at(input.detach(), tuple(index.indices))
    order = index.order(target.ndim)
    shape = [target.shape[d] for d in order]
    whole = behind_batch(values, len(shape)).expand(shape).permute(inverse_order(order))
    return put_at(input, tuple(index.indices), whole, accumulate)  # type: ignore[no-any-return]


# ---- the ops ------------------------------------------------------------------------------------------------------------------------


def as_arrays(indices: Any) -> Indices:
    """Indices with arrays in place of tensors."""
    return tuple(item._data if isinstance(item, Tensor) else item for item in indices)


def as_tensors(indices: Sequence[Any]) -> list[Tensor | None]:
    """Indices as PyTorch hands them on: tensors, and None for a whole dimension, of which there are none at the end."""
    items = [None if item.__class__ is slice else item if isinstance(item, Tensor) else wrap(item) for item in indices]
    while items and items[-1] is None:
        items.pop()
    return items


@op("index", method=False, function=False, jvp=LINEAR, warns=False, batch=index_batch, narrow=True,
    input=lambda g, input_shape, indices: call(place_at, g, input_shape, indices))  # fmt: skip
def index_at(input: Array, indices: Held) -> Array:
    """A copy of the elements at the given indices."""
    kernels = loops("indexing")
    place = kernels.only_array(indices)
    if (rows := kernels.taken_at(input, indices, place)) is not None:
        return rows
    try:
        found = input[indices] if place is None or not input.size else np.take(input, indices[place], axis=place)
    except IndexError as error:
        raise in_words(error, input.shape) from None
    return found if found.flags.c_contiguous else found.copy(order="C")


@op(method=False, function=False, jvp=LINEAR, warns=False, batch=place_batch,
    input=lambda g, indices: call(index_at, g, as_arrays(indices)))  # fmt: skip
def place_at(input: Array, shape: Shape, indices: Held) -> Array:
    """Zeros, with the elements of `input` added at the given indices."""
    indices = as_arrays(indices)
    if input.__class__ is np.ndarray and (whole := loops("indexing").placed_at(input, shape, indices)) is not None:
        return whole
    whole = np.zeros_like(input, shape=shape, order="C")
    add_at(whole, indices, input)
    return whole


def add_at(target: Array, indices: Indices, values: Array) -> None:
    """Add values to an array where an index may name one element several times."""
    if target.__class__ is not np.ndarray:
        np.add.at(target, indices, values)
        return
    if loops("indexing").added_at(target, indices, values):
        return
    if not repeats(target, indices):
        target[indices] += values
        return
    check_unlocked(target)
    if not target.flags.c_contiguous:
        np.add.at(target, indices, values)
        return
    # On one dimension `np.add.at` is ten times as fast as on several.
    positions = flat_positions(target.shape, indices)
    np.add.at(target.reshape(-1), positions.reshape(-1), np.broadcast_to(values, positions.shape).reshape(-1))


def check_unlocked(target: Array) -> None:
    """Refuse memory that is not to be written to, for which `ufunc.at` does not look."""
    if isinstance(target, np.ndarray) and not target.flags.writeable:
        raise ValueError("assignment destination is read-only")


def repeats(target: Array, indices: Indices) -> bool:
    """Whether an element may be named twice. Certain knowledge is worth its price only for a single array of rows."""
    place = loops("indexing").only_array(indices)
    if place is None:
        return any(item.__class__ is not slice and item.dtype.kind != "b" for item in indices)
    rows, size = indices[place], target.shape[place]
    if rows.size <= 1:
        return False
    if rows.size > size or target.size < 4 * size:
        return True
    seen = np.zeros(size, bool)
    seen[rows] = True
    return bool(np.count_nonzero(seen) != rows.size)


def flat_positions(shape: Shape, indices: Indices) -> Array:
    """The places of indexed elements in an array of this shape laid out in one line."""
    place = loops("indexing").only_array(indices)
    if place is None:
        return np.arange(math.prod(shape)).reshape(shape)[indices]
    size, outer, inner = shape[place], shape[:place], shape[place + 1 :]
    if (bad := first_outside(indices[place], -size, size)) is not None:
        raise IndexError(f"index {bad} is out of bounds for dimension {place} with size {size}")
    rows = indices[place].astype(np.intp)
    rows += size * (rows < 0)
    stride = math.prod(inner)
    before = np.arange(math.prod(outer)).reshape(outer + (1,) * (rows.ndim + len(inner))) * (size * stride)
    return before + rows.reshape(rows.shape + (1,) * len(inner)) * stride + np.arange(stride).reshape(inner)


@op(
    "index_put", overlap=ANY, method=False, function=False, like=("input",), jvp=LINEAR, batch=put_batch,
    input=lambda g, indices, accumulate, input_dtype: (
        g if accumulate else call(put_at, g, indices, np.zeros((), input_dtype))
    ),
    values=lambda g, indices, values_shape: sum_to(call(index_at, g, indices), values_shape),
)  # fmt: skip
def put_at(input: Array, indices: Held, values: Array, accumulate: bool = False) -> Array:
    """A copy with other values at the given indices."""
    if (written := loops("indexing").written_copy(input, indices, values, accumulate)) is not None:
        return written
    result = copied(input)
    assign_at(result, indices, values, accumulate)
    return result


def assign_at(input: Array, indices: Indices, values: Array, accumulate: bool) -> None:
    """Write at the given indices. NumPy checks all indices and shapes before it writes anything."""
    if input.dtype != values.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{from_numpy_dtype(input.dtype).scalar_name} for the destination and {from_numpy_dtype(values.dtype).scalar_name} for the "
            f"source.\n  fix: x[index] = values.to({from_numpy_dtype(input.dtype)})"
        )
    try:
        if accumulate:
            add_at(input, indices, values)
        elif shares_memory(values, input) or not loops("indexing").written_at(input, indices, values):
            input[indices] = values
    except IndexError as error:
        raise in_words(error, input.shape) from None
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape "
            f"{list(input[indices].shape)}"
        ) from None


def in_words(error: IndexError, shape: Shape) -> IndexError:
    """NumPy's error about an index, in PyTorch's words."""
    text = str(error)
    if text.startswith("too many indices"):
        return IndexError(f"too many indices for tensor of dimension {len(shape)}")
    if text.startswith("shape mismatch"):
        shapes = text[text.index("(") :].replace(",)", ")").replace("(", "[").replace(")", "]")
        return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes.strip()}")
    return IndexError(text.replace("axis", "dimension"))
