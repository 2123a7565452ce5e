"""Sparse tensors in another order of dimensions, parts of them, and several in one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._layout import sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from .._tensor import Tensor
from ..ops._registry import FUNCTIONS
from ..ops.memory import alias as whole
from ..ops.memory import primal as without_tangent
from ._forms import form
from ._make import made, pattern_of, rows_at, values_of, with_values
from ._pattern import Compressed, Coo, flattened, starts_of

OTHER = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}


@form("t")
def t(input: Tensor) -> Tensor:
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {input.ndim} dimensions")
    return input if input.ndim < 2 else transpose(input, 0, 1)


@form("transpose")
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    order = list(range(input.ndim))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(input, tuple(order))


@form("permute")
def permute(input: Tensor, dims: Any) -> Tensor:
    dims = tuple(d % input.ndim for d in dims)
    if dims == tuple(range(input.ndim)):
        return input
    pattern = pattern_of(input)
    count = len(pattern.sparse_shape)
    if isinstance(pattern, Compressed):
        return exchanged(input, pattern, dims)
    if set(dims[:count]) != set(range(count)):
        raise RuntimeError(f"transpose(): can only transpose sparse dimensions with sparse dimensions, and dense with dense: {list(dims)}")
    values = values_of(input).permute(0, *(1 + d - count for d in dims[count:]))
    shape = tuple(pattern.shape[d] for d in dims)
    return made(values, Coo(pattern.indices[list(dims[:count])], shape, pattern.nnz < 2 and pattern.coalesced))


def exchanged(input: Tensor, pattern: Compressed, dims: tuple[int, ...]) -> Tensor:
    """A compressed matrix transposed: rows are columns now, and nothing moves."""
    count = len(pattern.sparse_shape)
    swapped = [*range(input.ndim)]
    swapped[count - 2], swapped[count - 1] = count - 1, count - 2
    if dims != tuple(swapped):
        raise RuntimeError(f"transpose(): only the rows and columns of {pattern.layout} tensors can be exchanged: x.to_sparse_coo() first")
    shape = tuple(pattern.shape[d] for d in dims)
    made_of = Compressed(OTHER[pattern.layout], pattern.starts, pattern.places, shape, pattern.block[::-1], pattern.dense_dim)
    values = values_of(input)
    if pattern.blocked:
        place = values.ndim - pattern.dense_dim
        values = values.transpose(place - 2, place - 1)
    return made(values, made_of)


@form("alias")
def alias(input: Tensor) -> Tensor:
    return with_values(input, whole(values_of(input)))


@form("primal")
def primal(input: Tensor) -> Tensor:
    return with_values(input, without_tangent(values_of(input)))


# ---- parts --------------------------------------------------------------------------------------------------------------------------


@form("select_part", "slice_part", "unsqueeze_part")
def part(input: Tensor, index: tuple[Any, ...]) -> Any:
    """What numbers, slices and None take of a tensor."""
    pattern = pattern_of(input)
    if isinstance(pattern, Compressed):
        found = part(input.to_sparse_coo(), index)
        rows_only = found.ndim == input.ndim and None not in index
        return found.to_sparse(layout=pattern.layout) if rows_only and not pattern.blocked else found
    count = len(pattern.sparse_shape)
    kept = np.ones(pattern.nnz, bool)
    lines: list[Any] = []
    sizes: list[int] = []
    inner: list[Any] = [slice(None)]
    dim = 0
    open_place = index.index(Ellipsis) if Ellipsis in index else len(index)
    rest = [slice(None)] * (input.ndim - sum(item is not None and item is not Ellipsis for item in index))
    for item in (*index[:open_place], *rest, *index[open_place + 1 :]):
        if item is None:
            if dim > count:
                inner.append(None)
            else:
                lines.append(np.zeros(pattern.nnz, np.int64))
                sizes.append(1)
            continue
        if dim >= count:
            inner.append(item)
        elif isinstance(item, slice):
            start, stop, step = item.indices(pattern.shape[dim])
            line = pattern.indices[dim]
            kept &= (line >= start) & (line < stop) & ((line - start) % step == 0)
            lines.append((line - start) // step)
            sizes.append(len(range(start, stop, step)))
        else:
            kept &= pattern.indices[dim] == item % pattern.shape[dim]
        dim += 1
    lines += list(pattern.indices[dim:count])
    sizes += pattern.shape[dim:count]
    values = values_of(input)
    if not kept.all():
        values = rows_at(values, np.flatnonzero(kept))
    if len(inner) > 1:
        values = values[tuple(inner)]
    if not lines:
        return values.sum(0)
    indices = np.stack(lines)[:, kept]
    return made(values, Coo(np.ascontiguousarray(indices), (*sizes, *values.shape[1:]), pattern.coalesced))


@form("unbind")
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    return tuple(input.select(dim, place) for place in range(input.shape[dim]))


@form("index_select")
def index_select(input: Tensor, dim: int, index: Tensor) -> Any:
    pattern = pattern_of(input)
    if isinstance(pattern, Compressed):
        return index_select(input.to_sparse_coo(), dim, index).to_sparse(layout=pattern.layout)
    count = len(pattern.sparse_shape)
    dim = dim % len(pattern.shape)
    if dim >= count:
        values = values_of(input).index_select(1 + dim - count, index)
        return made(values, pattern.reshaped((*pattern.sparse_shape, *values.shape[1:])))
    wanted, size = index._data.reshape(-1), pattern.shape[dim]
    if wanted.size and (wanted.min() < -size or wanted.max() >= size):
        raise IndexError(f"index_select(): index is out of range for tensor of size {list(pattern.shape)} at dimension {dim}")
    wanted = wanted % size if size else wanted
    order = np.argsort(pattern.indices[dim], kind="stable")
    starts = starts_of(pattern.indices[dim], size)
    counts = np.diff(starts)[wanted]
    which = np.repeat(np.arange(wanted.size), counts)
    chosen = order[np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(starts[wanted], counts)]
    indices = pattern.indices[:, chosen]
    indices[dim] = which
    shape = (*pattern.shape[:dim], wanted.size, *pattern.shape[dim + 1 :])
    if pattern.coalesced and dim:
        order = np.argsort(flattened(indices, shape[:count]), kind="stable")
        indices, chosen = indices[:, order], chosen[order]
    return made(rows_at(values_of(input), chosen), Coo(np.ascontiguousarray(indices), shape, pattern.coalesced))


@form("unsqueeze")
def unsqueeze(input: Tensor, dim: int) -> Any:
    dim %= input.ndim + 1
    return part(input, (*[slice(None)] * dim, None, ...))


@form("squeeze")
def squeeze(input: Tensor) -> Any:
    return squeeze_dims(input, tuple(range(input.ndim)))


@form("squeeze_dim", "squeeze_dims")
def squeeze_dims(input: Tensor, dim: Any) -> Any:
    gone = {d % input.ndim for d in (dim if isinstance(dim, tuple) else (dim,))}
    return part(input, tuple(0 if d in gone and n == 1 else slice(None) for d, n in enumerate(input.shape)))


# ---- several in one -----------------------------------------------------------------------------------------------------------------


@form("cat")
def cat(tensors: Any, dim: int = 0) -> Any:
    check_layouts("cat", tensors)
    first = pattern_of(tensors[0])
    if isinstance(first, Compressed):
        return cat([x.to_sparse_coo() for x in tensors], dim).to_sparse(layout=first.layout)
    dim %= len(first.shape)
    count = len(first.sparse_shape)
    for x in tensors:
        found = pattern_of(x)
        if (*found.shape[:dim], *found.shape[dim + 1 :]) != (*first.shape[:dim], *first.shape[dim + 1 :]):
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension), but found shape: "
                f"{list(found.shape)}"
            )
        if found.dense_dim != first.dense_dim:
            raise RuntimeError("All tensors must have the same sparse_dim and dense_dim; use to_sparse(sparse_dim)")
    shape = (*first.shape[:dim], sum(x.shape[dim] for x in tensors), *first.shape[dim + 1 :])
    indices = np.concatenate([pattern_of(x).indices for x in tensors], 1)
    starts = np.cumsum([0, *(x.shape[dim] for x in tensors[:-1])])
    values = [values_of(x) for x in tensors]
    if dim < count:
        indices[dim] += np.repeat(starts, [pattern_of(x).nnz for x in tensors])
        joined = FUNCTIONS["cat"](values)
    else:  # each has its values in a part of the dense dimensions
        along = 1 + dim - count
        joined = FUNCTIONS["cat"]([widened(v, along, int(start), shape[dim]) for v, start in zip(values, starts, strict=True)])
    return made(joined, Coo(indices, shape, False))


def widened(values: Tensor, dim: int, start: int, size: int) -> Tensor:
    """Values with zeros before and after them along a dimension."""
    before, after = list(values.shape), list(values.shape)
    before[dim], after[dim] = start, size - start - values.shape[dim]
    whole: Tensor = FUNCTIONS["cat"]([values.new_zeros(before), values, values.new_zeros(after)], dim)
    return whole


@form("stack")
def stack(tensors: Any, dim: int = 0) -> Any:
    check_layouts("stack", tensors)
    return cat([unsqueeze(x, dim) for x in tensors], dim)


def check_layouts(name: str, tensors: Any) -> None:
    layouts = {x.layout for x in tensors}
    if len(layouts) > 1:
        raise RuntimeError(f"{name}(): all tensors must have one layout, but these have {sorted(map(str, layouts))}: use x.to_dense()")
