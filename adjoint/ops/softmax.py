"""Softmax and its relatives: numbers that sum to one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from ._precision import wide, with_dtype
from ._registry import FUNCTIONS, Array, composite, op
from ._rules import cast, wrap_dim


def prepared(name: str, input: Array, dim: Any, dtype: Any) -> tuple[Array, int]:
    """The input in the dtype of the result, and the dimension counted from the front."""
    if not isinstance(dim, int):
        raise TypeError(f"{name}(): argument 'dim' (position 2) must be int, not {type(dim).__name__}\n  fix: torch.{name}(x, dim=-1)")
    input = with_dtype(input, dtype)
    if input.dtype.kind in "iub":
        kernel = f"{name}_lastdim_kernel_impl" if dim in (-1, len(input.shape) - 1) else f"{name}_kernel_impl"
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for '{from_numpy_dtype(input.dtype).scalar_name}'"
            f"\n  fix: x.{name}({dim}, dtype=torch.float32)"
        )
    return input, wrap_dim(dim, len(input.shape))


def kept(reduce: Any, x: Array, dim: int) -> Array:
    """A reduction (np.add or np.maximum) that keeps its dimension, by the shortest way NumPy has."""
    if x.__class__ is np.ndarray:
        return reduce.reduce(x, dim, None, None, True)
    return (np.max if reduce is np.maximum else np.sum)(x, axis=dim, keepdims=True)


def softmax_rule(g: Array, out: Array, dim: int, input_dtype: Any) -> Array:
    if not out.shape:
        return cast(g * 0, input_dtype)
    weighted = g * out
    return cast(weighted - out * kept(np.add, weighted, wrap_dim(dim, len(out.shape))), input_dtype)


def softmax_jvp(input_t: Array, out: Array, dim: int) -> Array:
    t = cast(input_t, out._data.dtype)
    return softmax_rule(t, out, dim, out._data.dtype)  # the Jacobian is symmetric


@op(input=softmax_rule, jvp=softmax_jvp)
def softmax(input: Array, dim: int, dtype: Any = None) -> Array:
    """`exp(x) / exp(x).sum(dim)`, computed without overflow."""
    x, dim = prepared("softmax", input, dim, dtype)
    if not x.shape or not x.size:
        return np.ones_like(x)
    y = wide(x)
    powers = np.exp(y - kept(np.maximum, y, dim))
    return cast(powers / kept(np.add, powers, dim), x.dtype)


def log_softmax_rule(g: Array, out: Array, dim: int, input_dtype: Any) -> Array:
    if not out.shape:
        return cast(g * 0, input_dtype)
    return cast(g - np.exp(out) * kept(np.add, g, wrap_dim(dim, len(out.shape))), input_dtype)


def log_softmax_jvp(input_t: Array, out: Array, dim: int) -> Array:
    t = cast(input_t, out._data.dtype)
    return t - np.sum(np.exp(out) * t, axis=wrap_dim(dim, len(out.shape)), keepdims=True) if out.shape else t * 0


@op(input=log_softmax_rule, jvp=log_softmax_jvp)
def log_softmax(input: Array, dim: int, dtype: Any = None) -> Array:
    """`log(softmax(x, dim))`, computed without overflow or cancellation."""
    x, dim = prepared("log_softmax", input, dim, dtype)
    if not x.shape or not x.size:
        return np.zeros_like(x)
    y = wide(x)
    shifted = y - kept(np.maximum, y, dim)
    return cast(shifted - np.log(kept(np.add, np.exp(shifted), dim)), x.dtype)


@composite(method=False)
def softmin(input: Array, dim: int, dtype: Any = None) -> Array:
    """`softmax(-x, dim)`."""
    return FUNCTIONS["softmax"](-input, dim, dtype)
