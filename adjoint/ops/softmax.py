"""Softmax and its relatives: numbers that sum to one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from .._errors import spelled
from ._precision import wide, with_dtype
from ._registry import FUNCTIONS, SAME, Array, composite, op
from ._rules import cast, loops, wrap_dim


def prepared(name: str, input: Array, dim: Any, dtype: Any) -> tuple[Array, int]:
    """The input in the dtype of the result, and the dimension counted from the front."""
    if not isinstance(dim, int) and not (hasattr(dim, "__index__") and not getattr(dim, "ndim", 0)):
        raise TypeError(f"{name}(): argument 'dim' (position 2) must be int, not {type(dim).__name__}\n  fix: torch.{name}(x, dim=-1)")
    input = with_dtype(input, dtype)
    if input.dtype.kind in "iubc":
        kernel = f"{name}_lastdim_kernel_impl" if dim in (-1, len(input.shape) - 1) else f"{name}_kernel_impl"
        raise NotImplementedError(
            spelled(
                f"\"{kernel}\" not implemented for '{from_numpy_dtype(input.dtype).scalar_name}'"
                f"\n  fix: x.{name}({dim}, dtype=torch.float32)"
            )
        )
    return input, wrap_dim(dim, len(input.shape))


def along_rows(fn: Any, dim: int, *arrays: Array) -> Array:
    """Apply a function of rows along any dimension."""
    ndim = len(arrays[0].shape)
    dim = wrap_dim(dim, ndim)
    if dim == ndim - 1:
        return fn(*arrays)
    return np.moveaxis(fn(*(np.moveaxis(x, dim, -1) for x in arrays)), -1, dim)


def blocks_of_columns(shape: tuple[int, ...], dim: int) -> tuple[int, int, int, int]:
    """What the kernels for columns work with: the length of a column, the columns of one matrix and of all, and the blocks of columns."""
    inner = math.prod(shape[dim + 1 :])
    columns = math.prod(shape) // shape[dim]
    return shape[dim], inner, columns, columns // inner * -(-inner // loops("softmax").COLUMNS)


def gradient_by_kernel(g: Array, out: Array, dim: int, logs: int) -> Array | None:
    if g.__class__ is not np.ndarray or not out.size:
        return None
    shape, dim = out.shape, wrap_dim(dim, len(out.shape))
    g, out, grad = np.ascontiguousarray(g), np.ascontiguousarray(out), np.empty(shape, out.dtype)
    if dim == len(shape) - 1:
        size = shape[-1]
        rows = out.size // size
        if logs:
            return grad if loops("softmax").log_softmax_rows_back.run(grad, g, out, size, rows, size * loops("softmax").COST) else None
        return grad if loops("softmax").softmax_rows_back.run(grad, g, out, 1.0, size, rows, size) else None
    size, inner, columns, blocks = blocks_of_columns(shape, dim)
    work = size * min(inner, loops("softmax").COLUMNS) * (loops("softmax").COST if logs else 1)
    done = loops("softmax").softmax_columns_back.run(grad, g, out, np.empty(columns), logs, size, inner, blocks, work)
    return grad if done else None


# ---- softmax ------------------------------------------------------------------------------------------------------------------------


def softmax_of_rows(x: Array) -> Array:
    powers = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True)


def softmax_back(g: Array, out: Array) -> Array:
    return (g - np.sum(g * out, axis=-1, keepdims=True)) * out


def softmax_rule(g: Array, out: Array, dim: int, input_dtype: Any) -> Array:
    if not out.shape:
        return cast((g - g * out) * out, input_dtype)
    grad = gradient_by_kernel(g, out, dim, 0)
    return cast(along_rows(softmax_back, dim, wide(g), wide(out)) if grad is None else grad, input_dtype)


def softmax_jvp(input_t: Array, out: Array, dim: int) -> Array:
    t = cast(input_t, out._data.dtype)
    return softmax_rule(t, out, dim, out._data.dtype)  # the Jacobian is symmetric


@op(along="softmax.softmax", same=SAME, input=softmax_rule, jvp=softmax_jvp)
def softmax(input: Array, dim: int, dtype: Any = None) -> Array:
    """`exp(x) / exp(x).sum(dim)`, computed without overflow."""
    x, dim = prepared("softmax", input, dim, dtype)
    if not x.shape:
        return cast(np.exp(wide(x) - wide(x)), x.dtype)  # one, unless it is infinite or NaN
    if not x.size:
        return np.empty_like(x)
    out = loops("softmax").softmax.run(x, dim, False)
    return cast(along_rows(softmax_of_rows, dim, wide(x)) if out is None else out, x.dtype)


# ---- log_softmax --------------------------------------------------------------------------------------------------------------------


def log_softmax_of_rows(x: Array) -> Array:
    shifted = x - np.max(x, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def log_softmax_back(g: Array, out: Array) -> Array:
    return g - np.exp(out) * np.sum(g, axis=-1, keepdims=True)


def log_softmax_rule(g: Array, out: Array, dim: int, input_dtype: Any) -> Array:
    if not out.shape:
        return cast(g - np.exp(out) * g, input_dtype)
    grad = gradient_by_kernel(g, out, dim, 1)
    return cast(along_rows(log_softmax_back, dim, wide(g), wide(out)) if grad is None else grad, input_dtype)


def log_softmax_jvp(input_t: Array, out: Array, dim: int) -> Array:
    t = cast(input_t, out._data.dtype)
    return t - np.sum(np.exp(out) * t, axis=wrap_dim(dim, len(out.shape)), keepdims=True) if out.shape else t - np.exp(out) * t


@op(along="softmax.log_softmax", same=SAME, input=log_softmax_rule, jvp=log_softmax_jvp)
def log_softmax(input: Array, dim: int, dtype: Any = None) -> Array:
    """`log(softmax(x, dim))`, computed without overflow or cancellation."""
    x, dim = prepared("log_softmax", input, dim, dtype)
    if not x.shape:
        return cast(wide(x) - wide(x), x.dtype)
    if not x.size:
        return np.empty_like(x)
    out = loops("softmax").log_softmax.run(x, dim, False)
    return cast(along_rows(log_softmax_of_rows, dim, wide(x)) if out is None else out, x.dtype)


@composite(method=False)
def softmin(input: Array, dim: int, dtype: Any = None) -> Array:
    """`softmax(-x, dim)`."""
    return FUNCTIONS["softmax"](-input, dim, dtype)
