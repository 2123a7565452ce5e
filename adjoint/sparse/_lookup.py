"""Gradients that are sparse: of tables of which a program reads a few rows (`nn.Embedding(sparse=True)`), or elements (`gather`)."""

from __future__ import annotations

import numpy as np

from ..nn import _native
from ..ops._registry import LINEAR, Array, op
from ..ops._rules import call
from ._ops import make_sparse
from ._pattern import INT64, Coo, Shape


def rows_rule(g: Array, indices: Array, weight_shape: Shape, padding_idx: int) -> Array:
    """The gradient of a table: that of each row that was read, one after the other."""
    numbers: Array = getattr(indices, "_data", indices)
    numbers = numbers.reshape(-1).astype(INT64, copy=False)
    rows = np.reshape(g, (numbers.size, weight_shape[1]))
    if padding_idx >= 0 and (numbers == padding_idx).any():
        kept = np.flatnonzero(numbers != padding_idx)
        rows, numbers = rows[kept], numbers[kept]
    return call(make_sparse, rows, Coo(numbers[None], weight_shape, False))


@op(nodes="EmbeddingBackward0", method=False, function=False, out=False, jvp=LINEAR, warns=False, weight=rows_rule,
    batch=lambda weight, indices, padding_idx, batched, examples: _native.embedding_batch(
        weight, indices, padding_idx, False, batched, examples))  # fmt: skip
def sparse_embedding(weight: Array, indices: Array, padding_idx: int = -1) -> Array:
    """The rows of a table that the indices name; the gradient of the table will be sparse."""
    return call(_native.embedding, weight, indices, padding_idx)


def gather_rule(g: Array, dim: int, index: Array, input_shape: Shape) -> Array:
    """The gradient of `gather`: that of each element that was read."""
    numbers: Array = getattr(index, "_data", index)
    if not input_shape:
        return np.reshape(g, ())
    lines: list[Array] = list(np.indices(numbers.shape))
    lines[dim] = numbers
    places = np.stack([line.reshape(-1) for line in lines]).astype(INT64, copy=False)
    return call(make_sparse, np.reshape(g, (-1,)), Coo(places, input_shape, False))
