"""Products of columns and rows: what gradients of weights are for single examples, huge batches of them in `vmap`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .loops import Floats, Out, loop
from .memory import HUGE, empty

Array = Any


@loop
def outer_rows(out: Out, columns: Floats, rows: Floats, height: int, width: int, lines: range) -> None:
    """Each number of a column times the row that belongs to it."""
    for i in lines:
        row = i // height * width
        for j in range(width):
            out[i * width + j] = columns[i] * rows[row + j]


def outer(columns: Array, rows: Array) -> Array | None:
    """The products of a batch of columns and one of rows, if they are huge: in memory that is used again. None if they are not, or if
    NumPy has to compute them."""
    batch, height, width = columns.shape[:-2], columns.shape[-2], rows.shape[-1]
    lines = math.prod(batch) * height
    if lines * width * columns.itemsize < HUGE or rows.shape[:-2] != batch or rows.dtype != columns.dtype:
        return None
    out = empty((*batch, height, width), columns.dtype)
    done = outer_rows.run(out, np.ascontiguousarray(columns), np.ascontiguousarray(rows), height, width, lines, width)
    return out if done else None
