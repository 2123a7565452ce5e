"""Where the values of a sparse tensor stand: the numbers besides its values. A pattern does not change, so tensors and gradients share it.

Whatever the layout, a pattern knows `flat`: for each value its place among all elements, counted along the sparse dimensions. What is
computed without regard to the layout (to_dense, sums, conversions) is computed with that.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._layout import layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr

Array = Any
Shape = tuple[int, ...]
INT64 = np.dtype(np.int64)
BY_ROWS = (sparse_csr, sparse_bsr)
IN_BLOCKS = (sparse_bsr, sparse_bsc)
INDEX_NAMES = {True: ("crow_indices", "col_indices"), False: ("ccol_indices", "row_indices")}


class Rows:
    """The places of a matrix's values row by row, as products want them: those of row `i` are numbers `starts[i]` to `starts[i + 1]`, each
    with its column. `order` says which value that is; None: they lie in this order."""

    def __init__(self, starts: Array, columns: Array, order: Array | None, shape: Shape) -> None:
        self.starts = starts
        self.columns = columns
        self.order = order
        self.shape = shape

    @cached_property
    def T(self) -> Rows:
        """The same for the transposed matrix."""
        order = np.argsort(self.columns, kind="stable")
        made = Rows(starts_of(self.columns[order], self.shape[1]), self.of_each[order], self.values_at(order), self.shape[::-1])
        made.__dict__["T"] = self
        return made

    @cached_property
    def of_each(self) -> Array:
        """The row of each value, in this order."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.starts))

    def values_at(self, order: Array) -> Array:
        return order if self.order is None else self.order[order]


class Pattern:
    """What all layouts have in common. `shape` is that of the tensor; its last `dense_dim` dimensions are dense."""

    layout: layout
    shape: Shape
    dense_dim: int
    coalesced = True  # whether no two values have the same place, and they are in order

    @property
    def sparse_shape(self) -> Shape:
        return self.shape[: len(self.shape) - self.dense_dim]

    @property
    def dense_shape(self) -> Shape:
        return self.shape[len(self.shape) - self.dense_dim :]

    @cached_property
    def flat(self) -> Array:
        raise NotImplementedError

    @property
    def nnz(self) -> int:
        raise NotImplementedError

    @property
    def values_shape(self) -> Shape:
        raise NotImplementedError

    def parts(self) -> dict[str, Array]:
        """The arrays that it consists of, by PyTorch's names."""
        raise NotImplementedError

    def reshaped(self, shape: Shape) -> Pattern:
        """The same places in a tensor of the same sparse, and other dense dimensions."""
        raise NotImplementedError

    def coordinates(self) -> Coo:
        """The same places, in the same order, in coordinate form."""
        places = np.unravel_index(self.flat, self.sparse_shape) if self.sparse_shape else ()
        indices = np.array(places, INT64).reshape(len(self.sparse_shape), self.flat.size)
        ordered = self.layout not in (sparse_csc, sparse_bsr, sparse_bsc)
        return Coo(indices, self.shape, ordered and self.coalesced)

    @property
    def distinct(self) -> tuple[Pattern, Array | None]:
        """The pattern in which no place occurs twice, and the number of the first value in each of its places; None: of all."""
        return self, None

    @cached_property
    def rows(self) -> Rows:
        """The values of a matrix row by row."""
        rows, columns = self.coordinates().indices
        order = None if sorted_already(rows) else np.argsort(rows, kind="stable")
        if order is not None:
            rows, columns = rows[order], columns[order]
        return Rows(starts_of(rows, self.shape[0]), np.ascontiguousarray(columns), order, self.sparse_shape)

    def same_places(self, other: Pattern) -> bool:
        """Whether the values of both have the same places in the same order."""
        if self is other:
            return True
        if self.layout is not other.layout or self.shape != other.shape or self.dense_dim != other.dense_dim or self.nnz != other.nnz:
            return False
        return bool(np.array_equal(self.flat, other.flat))


class Coo(Pattern):
    """Coordinate form: a column of `indices` for each value."""

    layout = sparse_coo

    def __init__(self, indices: Array, shape: Shape, coalesced: bool) -> None:
        self.indices = indices
        self.shape = tuple(shape)
        self.dense_dim = len(self.shape) - indices.shape[0]
        self.coalesced = coalesced

    @property
    def nnz(self) -> int:
        return int(self.indices.shape[1])

    @property
    def values_shape(self) -> Shape:
        return (self.nnz, *self.dense_shape)

    @cached_property
    def flat(self) -> Array:
        return flattened(self.indices, self.sparse_shape)

    def parts(self) -> dict[str, Array]:
        return {"indices": self.indices}

    def reshaped(self, shape: Shape) -> Coo:
        return Coo(self.indices, shape, self.coalesced)

    def coordinates(self) -> Coo:
        return self

    @cached_property
    def merged(self) -> tuple[Coo, Array | None]:
        """The coalesced pattern, and for each value the number of the one that it is a part of; None: its own."""
        if self.coalesced or self.nnz < 2:
            return Coo(self.indices, self.shape, True), None
        steps = np.diff(self.flat)
        if (steps > 0).all():
            return Coo(self.indices, self.shape, True), None
        places, parts = np.unique(self.flat, return_inverse=True)
        return at_places(places, self.shape, len(self.sparse_shape)), parts.reshape(-1)


    @cached_property
    def distinct(self) -> tuple[Pattern, Array | None]:
        pattern, parts = self.merged
        if parts is None:
            return self, None
        first = np.empty(pattern.nnz, INT64)
        first[parts[::-1]] = np.arange(parts.size)[::-1]
        return pattern, first


class Compressed(Pattern):
    """CSR and the like: along one of two dimensions only the places are kept where the lines of the other begin. There may be batches of
    matrices in front; and the values may be blocks (BSR, BSC)."""

    def __init__(self, layout: layout, starts: Array, places: Array, shape: Shape, block: tuple[int, int] = (1, 1), dense: int = 0) -> None:
        self.layout = layout
        self.starts = starts  # crow_indices or ccol_indices
        self.places = places  # col_indices or row_indices
        self.shape = tuple(shape)
        self.block = block
        self.dense_dim = dense

    @property
    def by_rows(self) -> bool:
        return self.layout in BY_ROWS

    @property
    def blocked(self) -> bool:
        return self.layout in IN_BLOCKS

    @property
    def nnz(self) -> int:
        return int(self.places.shape[-1])

    @property
    def values_shape(self) -> Shape:
        return (*self.places.shape, *(self.block if self.blocked else ()), *self.dense_shape)

    def parts(self) -> dict[str, Array]:
        return dict(zip(INDEX_NAMES[self.by_rows], (self.starts, self.places), strict=True))

    def reshaped(self, shape: Shape) -> Compressed:
        return Compressed(self.layout, self.starts, self.places, shape, self.block, len(shape) - len(self.sparse_shape))

    @cached_property
    def flat(self) -> Array:
        rows, columns = self.sparse_shape[-2:]
        height, width = self.block
        starts, places = self.starts.reshape(-1, self.starts.shape[-1]), self.places.reshape(-1, self.nnz)
        lines = np.arange(starts.shape[1] - 1)
        found = []
        for number, (start, place) in enumerate(zip(starts, places, strict=True)):
            line = np.repeat(lines, np.diff(start))
            row, column = (line, place) if self.by_rows else (place, line)
            corner = (number * rows + row.astype(INT64) * height) * columns + column * width
            found.append(corner[:, None, None] + np.arange(height)[:, None] * columns + np.arange(width))
        return np.array(found, INT64).reshape(-1)

    @cached_property
    def rows(self) -> Rows:
        if self.layout is sparse_csr and len(self.sparse_shape) == 2:
            return Rows(self.starts.astype(INT64, copy=False), self.places.astype(INT64, copy=False), None, self.sparse_shape)
        if self.layout is sparse_csc and len(self.sparse_shape) == 2:
            starts, places = self.starts.astype(INT64, copy=False), self.places.astype(INT64, copy=False)
            return Rows(starts, places, None, self.sparse_shape[::-1]).T
        return super().rows


# ---- places -------------------------------------------------------------------------------------------------------------------------


def flattened(indices: Array, shape: Shape) -> Array:
    """The place of each column of indices among all elements."""
    flat = np.zeros(indices.shape[1], INT64)
    for line, length in zip(indices, shape, strict=True):
        flat = flat * length + line
    return flat


def at_places(flat: Array, shape: Shape, sparse_dim: int) -> Coo:
    """The coalesced pattern of values at these places, which are in order."""
    sizes = shape[:sparse_dim]
    found: Any = np.unravel_index(flat, sizes) if sizes and 0 not in sizes else np.zeros((sparse_dim, flat.size), INT64)
    return Coo(np.array(found, INT64).reshape(sparse_dim, flat.size), shape, True)


def starts_of(lines: Array, count: int) -> Array:
    """Where each line begins among values that are in the order of their lines, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(np.bincount(lines, minlength=count))]).astype(INT64, copy=False)


def sorted_already(numbers: Array) -> bool:
    return bool((numbers[1:] >= numbers[:-1]).all())
