"""Sums of sparse tensors, and softmax over what they have."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._creation import zeros
from .._dtype import int64
from .._layout import sparse_coo
from .._tensor import Tensor, wrap
from ..ops._registry import FUNCTIONS
from ..ops._rules import normalize_dims
from ..ops.scatter import index_add
from ._forms import form
from ._make import coalesced, converted, lines_of, made, pattern_of, values_of
from ._pattern import Coo, flattened


@form("sum_all")
def sum_all(input: Tensor, dtype: Any = None) -> Tensor:
    return values_of(input).sum(dtype=dtype)


@form("sum_dim")
def sum_dim(input: Tensor, dim: Any, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The sum along dimensions: sparse, if sparse dimensions are left."""
    pattern = pattern_of(input)
    gone = normalize_dims(dim, len(pattern.shape))
    if pattern.layout is not sparse_coo and not keepdim:
        raise RuntimeError(
            "reduction operations on CSR tensors with keepdim=False is unsupported: use x.sum(dim, keepdim=True), or x.to_dense()"
        )
    count = len(pattern.sparse_shape)
    values = lines_of(input)
    if dtype is not None:
        values = values.to(dtype)
    elif not (values.is_floating_point() or values.is_complex()):
        values = values.to(int64)
    dense = tuple(1 + d - count for d in gone if d >= count)
    if dense:
        values = values.sum(dense, keepdim=keepdim)
    left = [d for d in range(count) if d not in gone]
    dense_shape = tuple(values.shape[1:])
    if not left and not keepdim:
        return values.sum(0)
    indices = pattern.coordinates().indices
    if keepdim:
        kept = np.where(np.isin(np.arange(count), gone)[:, None], 0, indices)
        shape = tuple(1 if d in gone else pattern.shape[d] for d in range(count))
    else:
        kept, shape = indices[left], tuple(pattern.shape[d] for d in left)
    total = coalesced(made(values, Coo(kept, (*shape, *dense_shape), False)))
    if pattern.layout is sparse_coo:
        return total
    return converted(total, pattern.layout, None)


@form("linalg_vector_norm")
def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    """The norm of all elements; those without a value are 0."""
    if keepdim or ord <= 0 or (dim is not None and len(normalize_dims(dim, x.ndim)) < x.ndim):
        return NotImplemented
    values = values_of(coalesced(x) if x.layout is sparse_coo else x)
    return FUNCTIONS["norm"](values, ord)


@form("any")
def any_of(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    return NotImplemented if dim is not None or keepdim else values_of(coalesced(input) if input.layout is sparse_coo else input).any()


def softmax(input: Tensor, dim: int, dtype: Any = None, log: bool = False) -> Tensor:
    """Softmax along a dimension, in which what is not there counts as minus infinity."""
    x = coalesced(input if dtype is None else input.to(dtype))
    pattern = pattern_of(x)
    count = len(pattern.sparse_shape)
    (dim,) = normalize_dims(dim, len(pattern.shape))
    values = values_of(x)
    if dim >= count:
        along = 1 + dim - count
        return made(values.log_softmax(along) if log else values.softmax(along), pattern)
    others = [d for d in range(count) if d != dim]
    flat = flattened(pattern.indices[others], tuple(pattern.shape[d] for d in others))
    _, groups = np.unique(flat, return_inverse=True)
    groups = groups.reshape(-1)
    count = int(groups.max()) + 1 if groups.size else 0
    array = values._data
    top = np.full((count, *array.shape[1:]), -np.inf, array.dtype)
    np.maximum.at(top, groups, array)
    shifted = values - wrap(top[groups])
    powers = shifted.exp()
    total = index_add(zeros((count, *array.shape[1:]), dtype=values.dtype, device=values.device), 0, wrap(groups), powers)
    below = total.index_select(0, wrap(groups))
    return made(shifted - below.log() if log else powers / below, pattern)
