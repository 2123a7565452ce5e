"""The methods that sparse tensors have. `Tensor` has them all, and sends them here (ops/late_names.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._layout import layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from .._tensor import Tensor, wrap
from ._forms import is_sparse
from ._make import NAMES, coalesced, converted, from_dense, made, pattern_of, values_of
from ._make import to_dense as all_elements
from ._ops import unmasked_dense, values_in
from ._pattern import Coo


def _expect(name: str, x: Tensor, layouts: tuple[layout, ...], kind: str) -> Any:
    if x.layout not in layouts:
        raise RuntimeError(f"{name} expected sparse {kind}tensor layout but got {NAMES[x.layout]}")
    return pattern_of(x)


def _coordinates(name: str, x: Tensor) -> Any:
    return _expect(name, x, (sparse_coo,), "coordinate ")


ANY = (sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)


def _nnz(x: Tensor) -> int:
    if not is_sparse(x):
        raise NotImplementedError("Could not run 'aten::_nnz' with arguments from the 'CPU' backend: of a dense tensor, x.count_nonzero()")
    return int(pattern_of(x).nnz)


def _indices(x: Tensor) -> Tensor:
    return wrap(_coordinates("_indices", x).indices)


def _values(x: Tensor) -> Tensor:
    _expect("_values", x, ANY, "")
    found = wrap(x._data.values)
    found._vc = None
    return found


def is_coalesced(x: Tensor) -> bool:
    return bool(_coordinates("is_coalesced", x).coalesced)


def indices(x: Tensor) -> Tensor:
    return wrap(_coalesced_pattern("indices", x).indices)


def values(x: Tensor) -> Tensor:
    _expect("values", x, ANY, "")
    if x.layout is sparse_coo:
        _coalesced_pattern("values", x)
    return values_of(x)


def _coalesced_pattern(name: str, x: Tensor) -> Coo:
    pattern = _coordinates(name, x)
    if not pattern.coalesced:
        raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
    return pattern  # type: ignore[no-any-return]


def coalesce(x: Tensor) -> Tensor:
    _coordinates("coalesce", x)
    return coalesced(x)


def _coalesced_(x: Tensor, coalesced: bool) -> Tensor:
    pattern = _coordinates("_coalesced_", x)
    x._data.pattern = Coo(pattern.indices, pattern.shape, coalesced)
    return x


def compressed_part(name: str, x: Tensor) -> Tensor:
    by_rows = name in ("crow_indices", "col_indices")
    layouts = (sparse_csr, sparse_bsr) if by_rows else (sparse_csc, sparse_bsc)
    pattern = _expect(name, x, layouts, "row compressed " if by_rows else "column compressed ")
    return wrap(pattern.starts if name.startswith("c") and name != "col_indices" else pattern.places)


def sparse_dim(x: Tensor) -> int:
    return len(pattern_of(x).sparse_shape) if is_sparse(x) else 0


def dense_dim(x: Tensor) -> int:
    return int(pattern_of(x).dense_dim) if is_sparse(x) else x.ndim


# ---- other forms --------------------------------------------------------------------------------------------------------------------


def to_dense(x: Tensor, dtype: Any, masked_grad: bool | None) -> Tensor:
    if is_sparse(x) and masked_grad is False:
        dense: Tensor = unmasked_dense(x, pattern_of(x))
    else:
        dense = all_elements(x) if is_sparse(x) else x
    return dense if dtype is None else dense.to(dtype)


def to_sparse(x: Tensor, sparse_dim: Any, wanted: Any, blocksize: Any, dense_dim: int | None) -> Tensor:
    if isinstance(sparse_dim, layout):
        sparse_dim, wanted = None, sparse_dim
    wanted = wanted or sparse_coo
    if wanted is strided:
        return to_dense(x, None, None)
    if wanted not in ANY:
        raise RuntimeError(f"unsupported tensor layout: {wanted}")
    block = None if blocksize is None else tuple(blocksize)
    if block is not None and wanted not in (sparse_bsr, sparse_bsc):
        raise RuntimeError(f"to_sparse for {NAMES[x.layout]} to {NAMES[wanted]} conversion does not use specified blocksize")
    if is_sparse(x):
        if sparse_dim is not None and sparse_dim != len(pattern_of(x).sparse_shape):
            raise RuntimeError(
                f"to_sparse: conversion from {NAMES[x.layout]} to Sparse with sparse_dim argument !=self.sparse_dim() is not supported: "
                "use x.to_dense().to_sparse(sparse_dim)"
            )
        if dense_dim is not None:
            raise RuntimeError(
                f"to_sparse: conversion from {NAMES[x.layout]} to {NAMES[wanted]} with dense_dim argument given is not supported: use "
                "x.to_dense() first"
            )
        return converted(x, wanted, block)
    if sparse_dim is None:
        sparse_dim = x.ndim - (dense_dim or 0)
    if not 0 < sparse_dim <= x.ndim and x.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [1, {x.ndim}], but got {sparse_dim})")
    return from_dense(x, wanted, sparse_dim, block)


def sparse_mask(x: Tensor, mask: Tensor) -> Tensor:
    """The elements of a tensor in the places of a sparse one."""
    if not is_sparse(mask):
        raise RuntimeError("sparse_mask expected the mask to be a sparse tensor: mask.to_sparse()")
    if mask.shape != x.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(x.shape)} but mask has size {list(mask.shape)}"
        )
    return made(values_in(x, pattern_of(mask)), pattern_of(mask))


def sparse_resize_(x: Tensor, size: Any, sparse_dim: int, dense_dim: int, clear: bool) -> Tensor:
    pattern = _coordinates("sparse_resize_", x)
    size = tuple(size)
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(f"number of dimensions must be sparse_dim ({sparse_dim}) + dense_dim ({dense_dim}), but got {len(size)}")
    if clear or not pattern.nnz:
        empty = Coo(np.zeros((sparse_dim, 0), np.int64), size, True)
        x._data.pattern, x._data.values = empty, np.zeros(empty.values_shape, x._data.values.dtype)
        return x._written()
    smaller = any(new < old for new, old in zip(size, pattern.shape, strict=False))
    if sparse_dim != len(pattern.sparse_shape) or dense_dim != pattern.dense_dim or smaller or size[sparse_dim:] != pattern.dense_shape:
        raise RuntimeError(
            "changing the number of sparse or dense dimensions, or shrinking one, on a non-empty sparse tensor is not supported: "
            "use x.sparse_resize_and_clear_(...), or make a new one"
        )
    x._data.pattern = Coo(pattern.indices, size, pattern.coalesced)
    return x._written()
