"""Reductions of consecutive segments of a dimension."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._errors import spelled
from ._tensor import wrap
from .ops.scatter import scatter_add
from .ops.scatter_reduce import scatter_reduce

START = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}
COMBINED = {"max": "amax", "min": "amin", "prod": "prod"}


def segment_reduce(
    data: Any, reduce: str, *, lengths: Any = None, indices: Any = None, offsets: Any = None, axis: int = 0, unsafe: bool = False,
    initial: float | None = None,
) -> Any:  # fmt: skip
    """Sum, mean, product, maximum or minimum of segments along a dimension, given by their lengths or by where they begin and end."""
    reduce = {"amax": "max", "amin": "min"}.get(reduce, reduce)
    if reduce not in START:
        raise RuntimeError(f"Unsupported reduction given! {reduce}; use one of {', '.join(START)}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.\n  fix: give lengths")
    if data.is_complex():
        name = data.dtype.scalar_name
        raise NotImplementedError(spelled(f"\"_segment_reduce_cpu\" not implemented for '{name}'\n  fix: torch.view_as_real(data)"))
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    axis %= data.ndim
    sizes = lengths._data if lengths is not None else np.diff(offsets._data, axis=-1)
    if not unsafe and ((sizes < 0).any() or (sizes.sum(-1) != data.shape[axis]).any()):
        raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.")
    place, covered = _places(sizes, data.shape, axis)
    shape = (*data.shape[:axis], sizes.shape[-1], *data.shape[axis + 1 :])
    start = START[reduce] if initial is None else initial
    base = data.detach().new_full(shape, start)
    used = data.narrow(axis, 0, covered)
    if reduce in COMBINED:
        return scatter_reduce(base, axis, place, used, COMBINED[reduce])
    total = scatter_add(base, axis, place, used)
    if reduce == "sum":
        return total
    count = sizes.reshape(sizes.shape + (1,) * (data.ndim - axis - 1)).astype(data._data.dtype)
    return total / wrap(np.where(count == 0, 0 if initial is None else 1, count))


def _places(sizes: Any, shape: Any, axis: int) -> tuple[Any, int]:
    """For each element the number of its segment, and how many elements along the axis belong to one."""
    rows = sizes.reshape(-1, sizes.shape[-1])
    numbers = [np.repeat(np.arange(len(row)), row) for row in rows]
    covered = len(numbers[0]) if numbers else shape[axis]
    table = np.asarray(numbers, np.int64).reshape(*shape[:axis], covered, *(1,) * (len(shape) - axis - 1))
    return wrap(np.ascontiguousarray(np.broadcast_to(table, (*shape[:axis], covered, *shape[axis + 1 :])))), covered


_segment_reduce = segment_reduce
