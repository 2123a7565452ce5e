"""Putting tensors together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._registry import COMMON, LINEAR, Array, composite, op
from ._rules import wrap_dim

Shape = tuple[int, ...]


def _is_skipped(shape: Shape) -> bool:
    """PyTorch lets an empty tensor of one dimension be concatenated with anything."""
    return len(shape) == 1 and shape[0] == 0


def _cut(g: Array, tensors_shape: tuple[Shape, ...], dim: int) -> list[Array]:
    """The gradient of a concatenation, cut at the joints."""
    dim = wrap_dim(dim, len(g.shape))
    lead = (slice(None),) * dim
    grads = []
    start = 0
    for shape in tensors_shape:
        if _is_skipped(shape):
            grads.append(g.reshape(-1)[:0])
            continue
        grads.append(g[(*lead, slice(start, start + shape[dim]))])
        start += shape[dim]
    return grads


@op(promote=COMMON, jvp=LINEAR, method=False, aliases=("concat", "concatenate"), joint=_cut)
def cat(tensors: Sequence[Array], dim: int = 0) -> Array:
    """Join tensors along a dimension that they have."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for position, tensor in enumerate(tensors):
        if not tensor.shape:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {position}) cannot be concatenated\n  fix: torch.stack(...) joins along a new dimension"
            )
    joined = [tensor for tensor in tensors if not _is_skipped(tensor.shape)] or [tensors[0]]
    ndim = len(joined[0].shape)
    dim = wrap_dim(dim, ndim)
    try:
        return np.concatenate(joined, axis=dim)
    except ValueError:
        _refuse_cat([tensor.shape for tensor in tensors], dim)
        raise


def _refuse_cat(shapes: list[Shape], dim: int) -> None:
    expected = next(shape for shape in shapes if not _is_skipped(shape))
    for number, shape in enumerate(shapes):
        if _is_skipped(shape):
            continue
        if len(shape) != len(expected):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(expected)} and {len(shape)}")
        for d, (wanted, got) in enumerate(zip(expected, shape, strict=True)):
            if d != dim and wanted != got:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {wanted} but got size {got} for tensor number "
                    f"{number} in the list."
                )


def _unstacked(g: Array, tensors_shape: tuple[Shape, ...], dim: int) -> list[Array]:
    lead = (slice(None),) * wrap_dim(dim, len(g.shape))
    return [g[(*lead, i, ...)] for i in range(len(tensors_shape))]


@op(promote=COMMON, jvp=LINEAR, method=False, joint=_unstacked)
def stack(tensors: Sequence[Array], dim: int = 0) -> Array:
    """Join tensors of one shape along a new dimension."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = tensors[0].shape
    for entry, tensor in enumerate(tensors):
        if tensor.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and {list(tensor.shape)} at entry {entry}"
            )
    return np.stack(tensors, axis=wrap_dim(dim, len(shape) + 1))


def _at_least(ndim: int, *tensors: Any) -> Any:
    """Tensors with at least so many dimensions; a single one, or a tuple, as they were given."""
    given = tensors[0] if len(tensors) == 1 else tensors
    if isinstance(given, tuple | list):
        return tuple(_with_dims(tensor, ndim) for tensor in given)
    return _with_dims(given, ndim)


def _with_dims(tensor: Any, ndim: int) -> Any:
    shape = tuple(tensor.shape)
    if len(shape) >= ndim:
        return tensor
    if ndim == 3 and shape:  # a vector stands in the middle, a matrix in front
        return tensor.reshape((1, *shape, 1) if len(shape) == 1 else (*shape, 1))
    return tensor.reshape((1,) * (ndim - len(shape)) + shape)


@composite(method=False)
def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dimension."""
    return _at_least(1, *tensors)


@composite(method=False)
def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions; a vector becomes a row."""
    return _at_least(2, *tensors)


@composite(method=False)
def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions."""
    return _at_least(3, *tensors)


@composite(method=False)
def hstack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Join side by side: along the second dimension, vectors along their only one."""
    rows = atleast_1d(tuple(tensors))
    return cat(rows, 0 if rows and rows[0].ndim == 1 else 1, out=out)


@composite("vstack", "row_stack", method=False)
def vstack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Join one below the other: along the first dimension, vectors as rows."""
    return cat(atleast_2d(tuple(tensors)), 0, out=out)


@composite(method=False)
def dstack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Join one behind the other: along the third dimension."""
    return cat(atleast_3d(tuple(tensors)), 2, out=out)


@composite(method=False)
def column_stack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Join side by side, vectors as columns."""
    return cat([tensor.reshape((tensor.numel(), 1)) if tensor.ndim <= 1 else tensor for tensor in tensors], 1, out=out)
