"""`sparse_coo_tensor`, `sparse_csr_tensor` and the others: sparse tensors of indices and values.

That indices lie inside is always checked: kernels use them as they are. `check_invariants` looks besides whether places are in order and
all different where somebody says so (`is_coalesced`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._creation import empty
from .._from_data import as_tensor
from .._layout import layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .._tensor import Tensor
from ._invariants import check_sparse_tensor_invariants
from ._make import NAMES, made
from ._pattern import BY_ROWS, IN_BLOCKS, INDEX_NAMES, INT64, Array, Compressed, Coo, Shape


def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Sequence[int] | None = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None, is_coalesced: bool | None = None,
) -> Tensor:  # fmt: skip
    """A sparse tensor in coordinate form: each value stands at the place that a column of `indices` says; values at one place add up."""
    if values is None:
        size = tuple(indices if size is None else size)
        indices, values = np.zeros((len(size), 0), INT64), empty(0, dtype=dtype)
    numbers = as_tensor(values, dtype=dtype, device=device)
    places = as_places("indices", indices)
    if places.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    if not numbers.ndim:
        numbers = numbers.expand(1)
    if places.shape[1] != len(numbers):
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {places.shape[1]}, nnz from values: {len(numbers)}"
        )
    dims = places.shape[0]
    highest = places.max(1).tolist() if places.shape[1] else [-1] * dims
    shape = (*(top + 1 for top in highest), *numbers.shape[1:]) if size is None else tuple(int(length) for length in size)
    if len(shape) != dims + numbers.ndim - 1:
        raise RuntimeError(f"number of dimensions must be sparse_dim ({dims}) + dense_dim ({numbers.ndim - 1}), but got {len(shape)}")
    check_coordinates(places, highest, shape)
    wanted = (places.shape[1], *shape[dims:])
    if tuple(numbers.shape) != wanted:
        raise RuntimeError(f"values has incorrect size, expected {list(wanted)}, got {list(numbers.shape)}")
    pattern = Coo(places, shape, bool(is_coalesced) or (is_coalesced is None and not places.shape[1]))
    checks = check_sparse_tensor_invariants.is_enabled() if check_invariants is None else check_invariants
    if checks and is_coalesced and (np.diff(pattern.flat) <= 0).any():
        raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    return finished(numbers, pattern, requires_grad)


def finished(values: Tensor, pattern: Any, requires_grad: bool) -> Tensor:
    return made(values.detach(), pattern).requires_grad_() if requires_grad else made(values, pattern)


def as_places(name: str, given: Any) -> Array:
    """Indices as an array of integers."""
    found = as_tensor(given).detach()._data
    if found.dtype.kind not in "iu":
        if found.size:
            raise RuntimeError(f"{name} must be an int64 tensor, but got {as_tensor(given).dtype}\n  fix: {name}.long()")
        found = found.astype(INT64)
    return np.ascontiguousarray(found if name != "indices" and found.dtype.itemsize >= 4 else found.astype(INT64, copy=False))


def check_coordinates(places: Array, highest: list[int], shape: Shape) -> None:
    if not places.shape[1]:
        return
    for dim, (top, low) in enumerate(zip(highest, places.min(1).tolist(), strict=True)):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {dim}")
        if top >= shape[dim]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {dim}, size is {shape[dim]} but found index {top}")


def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Sequence[int] | None = None, *, dtype: Any = None,
    layout: layout | None = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """A sparse tensor in one of the compressed layouts: of the rows (or columns) only the places are given where they begin."""
    if layout is None or layout is sparse_coo or layout not in NAMES:
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {layout}: layout=torch.sparse_csr")
    names = INDEX_NAMES[layout in BY_ROWS]
    starts, places = (as_places(name, given) for name, given in zip(names, (compressed_indices, plain_indices), strict=True))
    numbers = as_tensor(values, dtype=dtype, device=device)
    batch = places.ndim - 1
    blocked = layout in IN_BLOCKS
    if starts.ndim != places.ndim or numbers.ndim < places.ndim + 2 * blocked:
        raise RuntimeError(
            f"dimensionality of {names[0]} ({starts.ndim}), {names[1]} ({places.ndim}) and values ({numbers.ndim}) must be consistent"
        )
    block = (numbers.shape[batch + 1], numbers.shape[batch + 2]) if blocked else (1, 1)
    dense = tuple(numbers.shape[batch + 1 + 2 * blocked :])
    if size is None:
        lines, width = starts.shape[-1] - 1, int(places.max()) + 1 if places.size else 0
        grid = (lines, width) if layout in BY_ROWS else (width, lines)
        size = (*places.shape[:-1], *(n * b for n, b in zip(grid, block, strict=True)), *dense)
    shape = tuple(int(length) for length in size)
    if len(shape) != batch + 2 + len(dense):
        raise RuntimeError(
            "tensor dimensionality must be sum of batch, base, and dense dimensionalites "
            f"(={batch} + 2 + {len(dense)}) but got {len(shape)}"
        )
    check_compressed(names, starts, places, numbers, shape, batch, block, layout)
    return finished(numbers, Compressed(layout, starts, places, shape, block, len(dense)), requires_grad)


def check_compressed(
    names: tuple[str, str], starts: Array, places: Array, values: Tensor, shape: Shape, batch: int, block: Any, layout: layout
) -> None:
    """Refuse indices that are no matrix in this layout, in PyTorch's words."""
    compressed, plain = names
    rows, columns = (length // size for length, size in zip(shape[batch : batch + 2], block, strict=True))
    lines, width = (rows, columns) if layout in BY_ROWS else (columns, rows)
    if starts.dtype != places.dtype:
        raise RuntimeError(f"{compressed} and {plain} must have the same dtype, bot got {starts.dtype} and {places.dtype}, respectively")
    if starts.shape[-1] != lines + 1:
        raise RuntimeError(
            f"{compressed}.shape[-1] must be equal to the number of {'rows' if layout in BY_ROWS else 'columns'} + 1 (={lines + 1}), "
            f"but got {starts.shape[-1]}"
        )
    nnz = places.shape[-1]
    if tuple(values.shape[: batch + 1]) != tuple(places.shape):
        raise RuntimeError(
            f"values.shape[{batch}] must be equal to nnz (={nnz}) as defined by {plain}.shape[{batch}], but got {values.shape[batch]}"
        )
    if (starts[..., 0] != 0).any():
        raise RuntimeError(f"`{compressed}[..., 0] == 0` is not satisfied.")
    if (starts[..., -1] != nnz).any():
        raise RuntimeError(f"`{compressed}[..., -1] == nnz` is not satisfied.")
    steps = np.diff(starts, axis=-1)
    if (steps < 0).any() or (steps > width).any():
        raise RuntimeError(
            f"`0 <= {compressed}[..., 1:] - {compressed}[..., :-1] <= {'ncols' if layout in BY_ROWS else 'nrows'}` is not satisfied."
        )
    if places.size and (places.min() < 0 or places.max() >= width):
        raise RuntimeError(f"`0 <= {plain} < {'ncols' if layout in BY_ROWS else 'nrows'}` is not satisfied.")
    first = np.zeros((*places.shape[:-1], nnz + 1), bool)
    np.put_along_axis(first, starts.astype(INT64), True, -1)
    if not (first[..., 1:nnz] | (np.diff(places, axis=-1) > 0)).all():
        raise RuntimeError(
            f"`{plain}[..., {compressed}[..., i - 1]:{compressed}[..., i]] for all i = 1, ..., "
            f"{'nrows' if layout in BY_ROWS else 'ncols'} are sorted and distinct along the last dimension values` is not satisfied."
        )


def check_layout(name: str, given: layout, own: layout) -> None:
    if given is not own:
        words = NAMES.get(given, "Strided")
        raise RuntimeError(f"{name}: layout must be {NAMES[own]} but got {words}; torch.sparse_compressed_tensor takes any compressed one")


def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Sequence[int] | None = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None, layout: layout = sparse_csr,
) -> Tensor:  # fmt: skip
    """A sparse matrix by rows: `crow_indices` says where each row begins among the values, `col_indices` the column of each value."""
    options: dict[str, Any] = dict(dtype=dtype, device=device, requires_grad=requires_grad)
    check_layout("sparse_csr_tensor", layout, sparse_csr)
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, layout=sparse_csr, **options)


def sparse_csc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Sequence[int] | None = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None, layout: layout = sparse_csc,
) -> Tensor:  # fmt: skip
    """A sparse matrix by columns: `ccol_indices` says where each column begins among the values, `row_indices` the row of each value."""
    options: dict[str, Any] = dict(dtype=dtype, device=device, requires_grad=requires_grad)
    check_layout("sparse_csc_tensor", layout, sparse_csc)
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, layout=sparse_csc, **options)


def sparse_bsr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Sequence[int] | None = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None, layout: layout = sparse_bsr,
) -> Tensor:  # fmt: skip
    """A sparse matrix of dense blocks, by rows of blocks."""
    options: dict[str, Any] = dict(dtype=dtype, device=device, requires_grad=requires_grad)
    check_layout("sparse_bsr_tensor", layout, sparse_bsr)
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, layout=sparse_bsr, **options)


def sparse_bsc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Sequence[int] | None = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None, layout: layout = sparse_bsc,
) -> Tensor:  # fmt: skip
    """A sparse matrix of dense blocks, by columns of blocks."""
    options: dict[str, Any] = dict(dtype=dtype, device=device, requires_grad=requires_grad)
    check_layout("sparse_bsc_tensor", layout, sparse_bsc)
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, layout=sparse_bsc, **options)
