"""Softmax and its relatives: numbers that sum to one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from ._compiled import rowwise
from ._precision import wide, with_dtype
from ._registry import FUNCTIONS, Array, composite, op
from ._rules import cast, wrap_dim


def prepared(name: str, input: Array, dim: Any, dtype: Any) -> Array:
    """The input in the dtype of the result."""
    if not isinstance(dim, int):
        raise TypeError(f"{name}(): argument 'dim' (position 2) must be int, not {type(dim).__name__}\n  fix: torch.{name}(x, dim=-1)")
    input = with_dtype(input, dtype)
    if input.dtype.kind in "iub":
        kernel = f"{name}_lastdim_kernel_impl" if dim in (-1, len(input.shape) - 1) else f"{name}_kernel_impl"
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for '{from_numpy_dtype(input.dtype).scalar_name}'"
            f"\n  fix: x.{name}({dim}, dtype=torch.float32)"
        )
    wrap_dim(dim, len(input.shape))
    return np.ascontiguousarray(input) if input.__class__ is np.ndarray and input.shape else input


def along_rows(fn: Any, dim: int, *arrays: Array) -> Array:
    """Apply a function of rows along any dimension."""
    if dim in (-1, len(arrays[0].shape) - 1):
        return fn(*arrays)
    return np.moveaxis(fn(*(np.moveaxis(x, dim, -1) for x in arrays)), -1, dim)


# ---- softmax ------------------------------------------------------------------------------------------------------------------------


@rowwise("T")
def softmax_rows(x: Array) -> Array:
    powers = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True)


@rowwise("TT")
def softmax_grad_rows(g: Array, out: Array) -> Array:
    weighted = g * out
    return weighted - out * np.sum(weighted, axis=-1, keepdims=True)


def softmax_rule(g: Array, out: Array, dim: int, input_dtype: Any) -> Array:
    return cast(along_rows(softmax_grad_rows, dim, g, out) if out.shape else g * 0, input_dtype)


def softmax_jvp(input_t: Array, out: Array, dim: int) -> Array:
    t = cast(input_t, out._data.dtype)
    return softmax_rule(t, out, dim, out._data.dtype)  # the Jacobian is symmetric


@op(input=softmax_rule, jvp=softmax_jvp)
def softmax(input: Array, dim: int, dtype: Any = None) -> Array:
    """`exp(x) / exp(x).sum(dim)`, computed without overflow."""
    x = prepared("softmax", input, dim, dtype)
    return cast(along_rows(softmax_rows, dim, wide(x)), x.dtype) if x.shape and x.size else np.ones_like(x)


# ---- log_softmax --------------------------------------------------------------------------------------------------------------------


@rowwise("T")
def log_softmax_rows(x: Array) -> Array:
    shifted = x - np.max(x, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


@rowwise("TT")
def log_softmax_grad_rows(g: Array, out: Array) -> Array:
    return g - np.exp(out) * np.sum(g, axis=-1, keepdims=True)


def log_softmax_rule(g: Array, out: Array, dim: int, input_dtype: Any) -> Array:
    return cast(along_rows(log_softmax_grad_rows, dim, g, out) if out.shape else g * 0, input_dtype)


def log_softmax_jvp(input_t: Array, out: Array, dim: int) -> Array:
    t = cast(input_t, out._data.dtype)
    return t - np.sum(np.exp(out) * t, axis=dim, keepdims=True) if out.shape else t * 0


@op(input=log_softmax_rule, jvp=log_softmax_jvp)
def log_softmax(input: Array, dim: int, dtype: Any = None) -> Array:
    """`log(softmax(x, dim))`, computed without overflow or cancellation."""
    x = prepared("log_softmax", input, dim, dtype)
    return cast(along_rows(log_softmax_rows, dim, wide(x)), x.dtype) if x.shape and x.size else np.zeros_like(x)


@composite(method=False)
def softmin(input: Array, dim: int, dtype: Any = None) -> Array:
    """`softmax(-x, dim)`."""
    return FUNCTIONS["softmax"](-input, dim, dtype)
