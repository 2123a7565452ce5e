"""What optimizers do with sparse gradients: only the parts of a parameter that have one change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._layout import Sparse
from .._site import here
from .._tensor import Tensor
from ..autograd.views import check_writable, counter_of
from ._array import SparseArray
from ._pattern import Array


def merged(grad: SparseArray) -> SparseArray:
    """A gradient whose values at one place are added up."""
    pattern, parts = grad.pattern.coordinates().merged
    values = grad.values.reshape(-1, *pattern.dense_shape)
    if parts is None:
        return SparseArray(pattern, values)
    total = np.zeros(pattern.values_shape, values.dtype)
    np.add.at(total, parts, values)
    return SparseArray(pattern, total)


def entries(grad: Any) -> tuple[tuple[Array, ...], Array]:
    """The places of a gradient, as an index of the parameter, and the values there."""
    found = merged(grad)
    return tuple(found.pattern.coordinates().indices), found.values


def step_sparse(optimizer: Any, group: dict[str, Any], params: list[Tensor], numeric: Callable[..., Any]) -> list[Tensor]:
    """Update the parameters that have sparse gradients by the optimizer's formula, and return the others."""
    if not any(isinstance(param._grad._data, Sparse) for param in params):  # type: ignore[union-attr]
        return params
    rest, group = [], numeric(group)
    for param in params:
        grad = param._grad._data  # type: ignore[union-attr]
        if not isinstance(grad, Sparse):
            rest.append(param)
            continue
        by_rows = optimizer.takes_sparse(group)
        check_writable(param, False)
        fresh = optimizer.prepare(param, group)
        state = optimizer.state.get(param, {})
        scalars = {name: state[name]._data for name in optimizer.scalars}
        optimizer.advance(group, scalars)
        numbers = optimizer.numbers(group, {name: array.item() for name, array in scalars.items()})
        rows, values = entries(grad) if by_rows else (..., np.zeros_like(param._data) + grad)
        arrays = [param._data, *(state[name]._data for name in optimizer.buffers(group))]
        before = [array[rows] for array in arrays]
        after = optimizer.formula(optimizer.variant(group, fresh), numbers, before[0], values, *before[1:])
        for array, new in zip(arrays, after, strict=True):
            array[rows] = new
        optimizer.finish(group, scalars)
        counter_of(param).bump(here())
    return rest
