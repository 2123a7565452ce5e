"""Matrix products with sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._creation import zeros
from .._layout import sparse_coo
from .._tensor import Tensor, wrap
from ..ops._out import into
from ..ops.matmul import check_matrices, check_vector
from ..ops.scatter import index_add
from ..ops.scatter_reduce import scatter_reduce
from ._forms import form, is_sparse
from ._make import converted, lines_of, made, pattern_of, rows_at
from ._ops import sampled_product, sparse_product
from ._pattern import at_places


@form("mm")
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    check_matrices("self", input._data, "mat2", mat2._data)
    if is_sparse(input) and is_sparse(mat2):
        return sparse_by_sparse(input, mat2)
    if is_sparse(input):
        return times(input, mat2)
    return times(mat2, input.t(), True).t()


def times(sparse: Tensor, dense: Tensor, transposed: bool = False) -> Tensor:
    """A sparse matrix, or the transposed one, times a dense one."""
    rows = pattern_of(sparse).rows
    if pattern_of(sparse).dense_dim:
        raise RuntimeError("sparse matrix products take matrices without dense dimensions: use x.to_dense() @ y")
    product: Tensor = sparse_product(lines_of(sparse), dense, rows.T if transposed else rows)
    return product


@form("mv")
def mv(input: Tensor, vec: Tensor) -> Any:
    check_vector(input._data, vec._data)
    if is_sparse(vec):
        return NotImplemented
    return times(input, vec.unsqueeze(1)).squeeze(1)


def sparse_by_sparse(a: Tensor, b: Tensor) -> Tensor:
    """The product of two sparse matrices: each value of one meets those of a row of the other."""
    left, right = pattern_of(a), pattern_of(b)
    mine, other = left.rows, right.rows
    counts = np.diff(other.starts)[mine.columns]
    which = np.repeat(np.arange(mine.columns.size), counts)
    ends = np.cumsum(counts)
    partner = np.arange(which.size) - np.repeat(ends - counts, counts) + np.repeat(other.starts[mine.columns], counts)
    flat, parts = np.unique(mine.of_each[which] * right.shape[1] + other.columns[partner], return_inverse=True)
    terms = rows_at(lines_of(a), mine.values_at(which)) * rows_at(lines_of(b), other.values_at(partner))
    values: Tensor = index_add(zeros(flat.size, dtype=terms.dtype, device=terms.device), 0, wrap(parts.reshape(-1)), terms)
    product = made(values, at_places(flat, (left.shape[0], right.shape[1]), 2))
    return product if left.layout is sparse_coo else converted(product, left.layout, left.block)


@form("addmm")
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    product: Tensor = mm(mat1, mat2)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return (input if beta == 1 else input * beta) + product


@form("addmv")
def addmv(input: Tensor, mat: Tensor, vec: Tensor, beta: Any = 1, alpha: Any = 1) -> Any:
    product: Tensor = mv(mat, vec)
    return input * beta + product * alpha


@form("linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    product: Tensor = mm(input, weight.t())
    return product if bias is None else product + bias


@form("bmm")
def bmm(input: Tensor, mat2: Tensor) -> Any:
    if is_sparse(mat2):
        if is_sparse(input):
            return NotImplemented
        return bmm(mat2.transpose(1, 2), input.transpose(1, 2)).transpose(1, 2)
    if input.ndim != 3 or mat2.ndim != 3 or len(input) != len(mat2) or input.shape[2] != mat2.shape[1]:
        raise RuntimeError(f"bmm: batches of shapes {list(input.shape)} and {list(mat2.shape)} cannot be multiplied")
    pattern = pattern_of(input)
    count, height, width = pattern.shape
    number, row, column = pattern.coordinates().indices
    whole = at_places(np.zeros(0, np.int64), (count * height, count * width), 2)  # one matrix with those of the batch on its diagonal
    whole.indices = np.stack([number * height + row, number * width + column])
    product: Tensor = sparse_product(lines_of(input), mat2.reshape(count * width, -1), whole.rows)
    return product.reshape(count, height, -1)


def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` in the places of `input` only."""
    pattern = pattern_of(input)
    values = sampled_product(mat1, mat2.t(), pattern.rows) * alpha
    return made(lines_of(input) * beta + values, pattern)


def reduced_product(mat1: Tensor, mat2: Tensor, reduce: str) -> Tensor:
    """A sparse matrix times a dense one, where something else than the sum is made of the products that meet."""
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise ValueError(f'reduce argument must be "sum", "mean", "amax" or "amin", but got {reduce!r}')
    if not is_sparse(mat1) or is_sparse(mat2):
        raise RuntimeError(f"sparse.mm with reduce={reduce!r} takes a sparse and a dense matrix: mat1.to_sparse_csr(), mat2.to_dense()")
    rows = pattern_of(mat1).rows
    if reduce == "mean":
        counts = np.maximum(np.diff(rows.starts), 1).astype(mat2._data.dtype)
        return mm(mat1, mat2) / wrap(counts[:, None])
    values = lines_of(mat1) if rows.order is None else rows_at(lines_of(mat1), rows.order)
    terms = values.unsqueeze(1) * rows_at(mat2, rows.columns)
    places = wrap(np.broadcast_to(rows.of_each[:, None], tuple(terms.shape)).copy())
    empty = zeros(rows.shape[0], mat2.shape[1], dtype=terms.dtype, device=terms.device)
    found: Tensor = scatter_reduce(empty, 0, places, terms, reduce, include_self=False)
    return found


def smm(input: Tensor, mat: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a sparse matrix."""
    product: Tensor = mm(input, mat).to_sparse()
    return product


def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` for a sparse `input`, as a sparse matrix."""
    return into(out, input * beta + smm(mat1, mat2) * alpha)  # type: ignore[no-any-return]


def hspmm(mat1: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    """A sparse matrix times a dense one, as a tensor of the rows that are not all zero: its first dimension is sparse."""
    used = np.unique(pattern_of(mat1).rows.of_each)
    product: Tensor = mm(mat1, mat2)
    return into(out, made(rows_at(product, used), at_places(used, tuple(product.shape), 1)))  # type: ignore[no-any-return]
