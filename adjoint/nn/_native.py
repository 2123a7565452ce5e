"""The op behind embedding layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from ..ops._batching import expanded
from ..ops._index_checks import first_outside
from ..ops._primitives import loops
from ..ops._registry import LINEAR, Array, op
from ..ops.scatter import index_select_rule


def embedding_rule(
    g: Array, indices: Array, weight_shape: tuple[int, ...], weight_dtype: Any, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    if g.__class__ is np.ndarray and not scale_grad_by_freq:
        if (whole := loops("index").add.into_zeros(weight_shape, 0, indices, g, skipped=padding_idx)) is not None:
            return whole
    rows = np.reshape(g, (math.prod(indices.shape), weight_shape[1]))
    places = np.reshape(indices, (-1,))
    if padding_idx >= 0:
        rows = np.where(np.expand_dims(places != padding_idx, 1), rows, 0)
    if scale_grad_by_freq:
        numbers = getattr(places, "_data", places)  # counting is not differentiated, so the array inside a Tensor will do
        uses = np.bincount(numbers, minlength=weight_shape[0])[numbers]
        rows = rows / np.asarray(uses, weight_dtype)[:, None]
    return index_select_rule(rows, 0, places, weight_shape, weight_dtype)


def embedding_batch(weight: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, batched: list[bool], examples: int) -> Any:
    if not batched[0]:
        return embedding(weight, indices, padding_idx, scale_grad_by_freq)
    # One table with the rows of all examples, of which the padding is not one row any more.
    given = expanded(indices, examples, batched[1])
    check_rows(given._data, weight.shape[1])  # (beyond the rows of one example are those of the next)
    starts = weight.shape[1] * np.arange(examples).reshape((examples,) + (1,) * (given.ndim - 1))
    found = embedding(weight.flatten(0, 1), given + given.new_tensor(starts), -1, scale_grad_by_freq)
    return found if padding_idx < 0 else np.where((given == padding_idx).unsqueeze(-1), found.detach(), found)


def check_rows(indices: Array, rows: int) -> None:
    if (wrong := first_outside(indices, 0, rows)) is not None:
        raise IndexError(
            f"index out of range in self: there is an index {wrong}, but the table has {rows} rows\n"
            f"  fix: {'indices begin with 0' if wrong < 0 else f'nn.Embedding({wrong + 1}, ...) has a row for it, and one for each below'}"
        )


@op(method=False, function=False, jvp=LINEAR, warns=False, weight=embedding_rule, batch=embedding_batch)
def embedding(weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False) -> Array:
    """The rows of `weight` that the indices name."""
    if len(weight.shape) != 2:
        raise RuntimeError("'weight' must be 2-D")
    found = loops("index").take(weight, indices, 0)
    if found is not None:
        return found
    if indices.dtype.name not in ("int64", "int32"):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{from_numpy_dtype(indices.dtype).scalar_name}Tensor instead (while checking arguments for embedding)\n"
            "  fix: indices.long()"
        )
    check_rows(indices, weight.shape[0])
    return np.take(weight, indices, axis=0)
