"""Shapes and views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._registry import COMMON, LINEAR, Array, op
from ._rules import wrap_dim

Varargs = Any  # the last parameter takes its values as f(x, 2, 3) or f(x, (2, 3))


@op(view=True, jvp=LINEAR, input=lambda g, dim0, dim1: np.swapaxes(g, dim0, dim1))
def transpose(input: Array, dim0: int, dim1: int) -> Array:
    """Exchange two dimensions."""
    ndim = len(input.shape)
    if ndim == 0:
        return np.reshape(input, ())
    return np.swapaxes(input, wrap_dim(dim0, ndim), wrap_dim(dim1, ndim))


@op(view=True, jvp=LINEAR, input=lambda g, input_shape: np.reshape(g, input_shape))
def view(input: Array, shape: Varargs) -> Array:
    """The same elements in another shape, without copying."""
    return np.reshape(input, shape)


def _split_back(g: Array, tensors_shape: tuple[tuple[int, ...], ...], dim: int) -> list[Array]:
    """The gradient of a concatenation, cut at the joints."""
    dim = wrap_dim(dim, len(g.shape))
    grads = []
    start = 0
    for shape in tensors_shape:
        size = shape[dim] if len(shape) > dim else 0
        grads.append(g[(slice(None),) * dim + (slice(start, start + size),)])
        start += size
    return grads


@op(promote=COMMON, jvp=LINEAR, method=False, joint=_split_back)
def cat(tensors: Sequence[Array], dim: int = 0) -> Array:
    """Join tensors along a dimension that they have."""
    return np.concatenate(tensors, axis=dim)
