"""Making sparse tensors: of indices and values, of dense tensors, of those of another layout; and dense ones of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._creation import zeros
from .._layout import layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from .._state import GRAD, get_mode
from .._tensor import Tensor, wrap
from ..ops.advanced_index import index_at
from ..ops.scatter import index_add
from ._ops import make_sparse, sparse_values
from ._pattern import BY_ROWS, IN_BLOCKS, INT64, Array, Compressed, Coo, Pattern, Shape, at_places, starts_of


def pattern_of(x: Tensor) -> Any:
    """Where the values of a sparse tensor stand."""
    return x._data.pattern


def values_of(x: Tensor) -> Tensor:
    """The values of a sparse tensor, with their history."""
    if get_mode() <= GRAD and not x.requires_grad:
        return wrap(x._data.values)
    found: Tensor = sparse_values(x, pattern_of(x))
    return found


def lines_of(x: Tensor) -> Tensor:
    """The same as `flat` of the pattern counts them: one after the other, each with its dense dimensions."""
    values, dense = values_of(x), pattern_of(x).dense_shape
    return values if values.ndim == 1 + len(dense) else values.reshape(-1, *dense)


def made(values: Tensor, pattern: Pattern) -> Tensor:
    """A sparse tensor of values, in any shape that has as many."""
    result: Tensor = make_sparse(values if values.shape == pattern.values_shape else values.reshape(pattern.values_shape), pattern)
    return result


def with_values(x: Tensor, values: Tensor) -> Tensor:
    """Other values, one for each, in the places of a sparse tensor."""
    pattern = pattern_of(x)
    return made(values, pattern)


def rows_at(lines: Tensor, order: Array) -> Tensor:
    """The values with these numbers."""
    found: Tensor = index_at(lines, (order,))
    return found


def coalesced(x: Tensor) -> Tensor:
    """A tensor in coordinate form, sorted, with the values at one place added up."""
    pattern = pattern_of(x)
    if pattern.coalesced:
        return x
    merged, parts = pattern.merged
    values = values_of(x)
    if parts is not None:
        values = index_add(zeros(merged.values_shape, dtype=values.dtype, device=values.device), 0, wrap(parts), values)
    return made(values, merged)


def to_dense(x: Tensor) -> Tensor:
    """All elements of a sparse tensor."""
    pattern = pattern_of(x)
    lines = lines_of(x)
    whole = zeros(math.prod(pattern.sparse_shape), *pattern.dense_shape, dtype=lines.dtype, device=lines.device)
    total: Tensor = index_add(whole, 0, wrap(pattern.flat), lines)
    return total.reshape(pattern.shape)


def nothing(shape: Shape, dtype: np.dtype[Any], wanted: layout, requires_grad: bool = False) -> Tensor:
    """A tensor without values."""
    if wanted in IN_BLOCKS:
        raise RuntimeError(f"a tensor of layout {wanted} needs a size of its blocks: zeros(...).to_sparse(layout={wanted}, blocksize=...)")
    empty = np.zeros(0, INT64)
    pattern, _, _ = pattern_in(wanted, empty, shape, 0, None)
    return made(wrap(np.zeros(pattern.values_shape, np.dtype(dtype.char))), pattern)._set_requires_grad(requires_grad)


# ---- other layouts ------------------------------------------------------------------------------------------------------------------


def pattern_in(layout: layout, flat: Array, shape: Shape, dense: int, block: tuple[int, int] | None) -> tuple[Pattern, Array, bool]:
    """The pattern in some layout of values at these places, which are in order; and where they go: the number of the value for each of
    the new ones, or (True) the place for each among those of all blocks."""
    sparse_shape = shape[: len(shape) - dense]
    if layout is sparse_coo:
        return at_places(flat, shape, len(sparse_shape)), None, False
    *batch, rows, columns = sparse_shape
    height, width = block or (1, 1)
    number, row, column = flat // (rows * columns), flat // columns % rows, flat % columns
    row, inner_row, column, inner_column = row // height, row % height, column // width, column % width
    high, wide = rows // height, columns // width
    line, place, lines, places = (row, column, high, wide) if layout in BY_ROWS else (column, row, wide, high)
    key = (number * lines + line) * places + place
    kept, parts = np.unique(key, return_inverse=True)
    count = math.prod(batch)
    per = np.bincount(kept // (lines * places), minlength=count)
    if batch and not (per == per[:1]).all():
        raise RuntimeError(
            f"Expect the same number of specified elements per batch: here are {per.tolist()}\n"
            "  fix: convert the matrices one by one, or to_sparse_coo()"
        )
    starts = np.array([starts_of(kept[kept // (lines * places) == n] // places % lines, lines) for n in range(count)], INT64)
    pattern = Compressed(
        layout, starts.reshape(*batch, lines + 1), (kept % places).reshape(*batch, -1 if count == 0 else kept.size // count), shape,
        (height, width), dense,
    )  # fmt: skip
    parts = parts.reshape(-1)
    if layout in IN_BLOCKS:
        return pattern, (parts * height + inner_row) * width + inner_column, True
    order = np.empty_like(parts)
    order[parts] = np.arange(parts.size)
    return pattern, order, False


def put_in(lines: Tensor, layout: layout, flat: Array, shape: Shape, dense: int, block: tuple[int, int] | None) -> Tensor:
    """Values at these places, which are in order and all different, as a tensor of some layout."""
    pattern, where, scattered = pattern_in(layout, flat, shape, dense, block)
    if scattered:
        count = math.prod(pattern.values_shape[: len(pattern.values_shape) - dense])
        whole = zeros(count, *pattern.dense_shape, dtype=lines.dtype, device=lines.device)
        lines = index_add(whole, 0, wrap(where), lines)
    elif where is not None:
        lines = rows_at(lines, where)
    return made(lines, pattern)


def converted(x: Tensor, layout: layout, block: tuple[int, int] | None = None) -> Tensor:
    """A sparse tensor in another layout."""
    pattern = pattern_of(x)
    if pattern.layout is layout and (block is None or block == pattern.block):
        return x
    if layout is not sparse_coo:
        check_matrices(layout, pattern.sparse_shape, block)
    if pattern.layout is sparse_coo:
        x = coalesced(x)
        pattern = pattern_of(x)
    order = None if pattern.coordinates().coalesced else np.argsort(pattern.flat, kind="stable")
    lines = lines_of(x)
    flat = pattern.flat
    if order is not None:
        flat, lines = flat[order], rows_at(lines, order)
    return put_in(lines, layout, flat, pattern.shape, pattern.dense_dim, block)


def from_dense(x: Tensor, layout: layout, sparse_dim: int, block: tuple[int, int] | None = None) -> Tensor:
    """The elements of a dense tensor that are not 0; those of whole dense parts, and blocks, in which one is not 0."""
    dense = x.ndim - sparse_dim
    shape = tuple(x.shape)
    if layout is not sparse_coo:
        check_matrices(layout, shape[:sparse_dim], block)
    array = x._data if isinstance(x._data, np.ndarray) else x.detach().resolve_conj().resolve_neg()._data
    filled = (array != 0).reshape(math.prod(shape[:sparse_dim]), math.prod(shape[sparse_dim:])).any(1)
    if block is not None and layout in IN_BLOCKS:
        filled = whole_blocks(filled.reshape(shape[:sparse_dim]), block).reshape(-1)
    flat = np.flatnonzero(filled)
    lines: Tensor = rows_at(x.reshape(-1, *shape[sparse_dim:]), flat)
    return put_in(lines, layout, flat, shape, dense, block)


def whole_blocks(filled: Array, block: tuple[int, int]) -> Array:
    """Blocks of which a part is filled, filled."""
    *batch, rows, columns = filled.shape
    (height, width) = block
    parts = filled.reshape(*batch, rows // height, height, columns // width, width)
    return np.broadcast_to(parts.any((-3, -1), keepdims=True), parts.shape).reshape(filled.shape)


NAMES = {
    strided: "Strided", sparse_coo: "Sparse", sparse_csr: "SparseCsr", sparse_csc: "SparseCsc", sparse_bsr: "SparseBsr",
    sparse_bsc: "SparseBsc",
}  # fmt: skip


def check_matrices(layout: layout, shape: Shape, block: tuple[int, int] | None) -> None:
    """Refuse what has no compressed form."""
    if len(shape) < 2:
        raise RuntimeError(
            f"tensor dimensionality must be sum of batch, base, and dense dimensionalites (=0 + 2 + 0) but got {len(shape)}: "
            f"only matrices, and batches of them, can be {NAMES[layout]}"
        )
    if layout in IN_BLOCKS:
        if block is None or len(block) != 2:
            raise RuntimeError(f"to_sparse for {NAMES[layout]} conversion requires blocksize specified: blocksize=(rows, columns)")
        if any(size < 1 or length % size for length, size in zip(shape[-2:], block, strict=True)):
            raise RuntimeError(
                f"tensor sparse size {tuple(shape[-2:])} must be divisible by given blocksize {tuple(block)}"
            )


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each of `size` rows begins among values that are in the order of their rows, which `input` names."""
    return wrap(starts_of(input._data, size).astype(np.int32 if out_int32 else INT64, copy=False))


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The places of the values of a matrix that is kept by rows: rows and columns, or the other way round."""
    starts, columns = crow_indices._data, col_indices._data
    rows = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    return wrap(np.stack([columns, rows] if transpose else [rows, columns]).astype(np.int32 if out_int32 else INT64))


def diagonals_in(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], wanted: layout | None) -> Tensor:
    """A matrix of diagonals: the column of an element says which of a diagonal's numbers it is."""
    lines = diagonals if diagonals.ndim == 2 else diagonals.unsqueeze(0)
    beside = offsets._data.reshape(-1)
    if lines.ndim != 2 or len(shape) != 2 or len(beside) != len(lines):
        raise RuntimeError(
            f"Number of diagonals ({len(lines)}) does not match the number of offsets ({len(beside)}), or {tuple(shape)} is not 2D"
        )
    if len(np.unique(beside)) != len(beside):
        raise RuntimeError("Offset tensor contains duplicate values")
    rows, columns = shape
    number, column = (x.reshape(-1) for x in np.indices((len(lines), min(lines.shape[1], columns))))
    row = column - beside[number]
    there = (row >= 0) & (row < rows)
    number, row, column = number[there], row[there], column[there]
    made_of = made(index_at(lines, (number, column)), Coo(np.stack([row, column]).astype(INT64), tuple(shape), False))
    return made_of if wanted in (None, sparse_coo) else converted(made_of, wanted)
