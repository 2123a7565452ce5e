"""The ops that know sparse arrays: a Tensor of values is put into a pattern, and taken out of it; and the products of sparse matrices.

All other functions of sparse tensors are written with these and with ordinary ops on the values. So gradients, those of gradients, and
forward mode come by themselves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._methods import OpMethods
from ..ops._primitives import loops
from ..ops._registry import LINEAR, MULTILINEAR, Array, op
from ..ops._rules import call
from ..ops.advanced_index import index_at
from ._array import SparseArray, add_to
from ._pattern import Pattern, Rows, at_places

hidden: dict[str, Any] = {"method": False, "function": False, "out": False, "sparse": True}


def values_in(x: Array, pattern: Any) -> Array:
    """What a tensor or an array, dense or sparse, has in the places of a pattern."""
    if not isinstance(x, OpMethods):
        return values_of_array(x, pattern)
    if isinstance(x._data, SparseArray):  # type: ignore[attr-defined]
        return values_at(x, pattern)
    lines = np.reshape(x, (math.prod(pattern.sparse_shape), *pattern.dense_shape))
    return np.reshape(index_at(lines, (pattern.flat,)), pattern.values_shape)


@op(nodes="SparseCooTensorWithDimsAndTensorsBackward0", jvp=LINEAR, **hidden, values=lambda g, pattern: values_in(g, pattern))
def make_sparse(values: Array, pattern: Any) -> Array:
    """The sparse tensor that has these values in the places of a pattern."""
    return SparseArray(pattern, values)


def gradient_in(g: Array, pattern: Any) -> Array:
    """The gradient of a sparse tensor, given that of its values. Those of values at one place are equal, for only their sum counts: it is
    the gradient there, once."""
    pattern, first = pattern.distinct
    return call(make_sparse, g if first is None else g[first], pattern)


@op(nodes="ValuesBackward0", jvp=LINEAR, **hidden, input=gradient_in)
def sparse_values(input: Array, pattern: Any) -> Array:
    """The values of a sparse tensor, which has this pattern."""
    return input.values if input.pattern is pattern else values_of_array(input, pattern)


@op(jvp=LINEAR, **hidden, input=lambda g, pattern: call(make_sparse, g, pattern))
def values_at(input: Array, pattern: Any) -> Array:
    """What a sparse tensor has in the places of a pattern."""
    return values_of_array(input, pattern)


def values_of_array(input: Array, pattern: Any) -> Array:
    if not isinstance(input, SparseArray):
        lines = np.reshape(input, (math.prod(pattern.sparse_shape), *pattern.dense_shape))
        found = loops("index").take(lines, pattern.flat, 0)
        return (lines[pattern.flat] if found is None else found).reshape(pattern.values_shape)
    distinct, first = pattern.distinct
    if input.pattern.same_places(distinct):
        return input.values if first is None else input.values[pattern.merged[1]]
    return looked_up(input, pattern).reshape(pattern.values_shape)


@op(nodes="ToDenseBackward0", jvp=LINEAR, **hidden, input=lambda g, pattern: whole_gradient(g, pattern))
def unmasked_dense(input: Array, pattern: Any) -> Array:
    """All elements of a sparse tensor, whose gradient shall have the places of all that is not 0 in theirs."""
    whole = np.zeros_like(input.values, shape=pattern.shape, order="C")
    add_to(whole, input)
    return whole


def whole_gradient(g: Array, pattern: Any) -> Array:
    if isinstance(g, OpMethods):
        return g.to_sparse(len(pattern.sparse_shape), layout=None)
    sizes = (math.prod(pattern.sparse_shape), math.prod(pattern.dense_shape))
    flat = np.flatnonzero((g != 0).reshape(sizes).any(1))
    made = at_places(flat, pattern.shape, len(pattern.sparse_shape))
    return SparseArray(made, g.reshape(sizes[0], *pattern.dense_shape)[flat])


def looked_up(input: SparseArray, pattern: Pattern) -> Array:
    """What a sparse array has in the places of another pattern, 0 where it has nothing."""
    places, parts = np.unique(input.pattern.flat, return_inverse=True)
    values = np.zeros_like(input.values, shape=(places.size, *pattern.dense_shape), order="C")
    np.add.at(values, parts.reshape(-1), input.values.reshape(-1, *pattern.dense_shape))
    if not places.size:
        return np.zeros_like(input.values, shape=(pattern.flat.size, *pattern.dense_shape), order="C")
    found = np.minimum(np.searchsorted(places, pattern.flat), places.size - 1)
    there = (places[found] == pattern.flat).reshape(-1, *[1] * pattern.dense_dim)
    return np.where(there, values[found], 0).astype(input.values.dtype, copy=False)


@op(nodes="SparseAddmmBackward0", jvp=MULTILINEAR, **hidden,
    values=lambda g, dense, rows: call(sampled_product, g, dense, rows),
    dense=lambda g, values, rows: call(sparse_product, values, g, rows.T))  # fmt: skip
def sparse_product(values: Array, dense: Array, rows: Rows) -> Array:
    """A sparse matrix times a dense one."""
    made = loops("sparse").product(values, dense, rows)
    return multiplied(values, dense, rows) if made is None else made


@op(nodes="SparseSampledAddmmBackward0", jvp=MULTILINEAR, **hidden,
    left=lambda g, right, rows: call(sparse_product, g, right, rows),
    right=lambda g, left, rows: call(sparse_product, g, left, rows.T))  # fmt: skip
def sampled_product(left: Array, right: Array, rows: Rows) -> Array:
    """For each place of a sparse matrix the product of a row of one matrix, and that of another which the place's column names."""
    made = loops("sparse").sampled(left, right, rows)
    return sampled(left, right, rows) if made is None else made


def multiplied(values: Array, dense: Array, rows: Rows) -> Array:
    """The product by NumPy."""
    out = np.zeros_like(dense, dtype=np.result_type(values, dense), order="C", shape=(rows.shape[0], dense.shape[1]))
    if not rows.columns.size:
        return out
    terms = (values if rows.order is None else values[rows.order])[:, None] * dense[rows.columns]
    filled = np.flatnonzero(np.diff(rows.starts))
    out[filled] = np.add.reduceat(terms, rows.starts[filled], axis=0)
    return out


def sampled(left: Array, right: Array, rows: Rows) -> Array:
    found = np.einsum("ij,ij->i", left[rows.of_each], right[rows.columns])
    if rows.order is None:
        return found
    out = np.empty_like(found)
    out[rows.order] = found
    return out
