"""Softmax and its relatives: numbers that sum to one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from .._errors import spelled
from ._precision import wide, with_dtype
from ._primitives import primitive
from ._registry import FUNCTIONS, SAME, Array, composite, op
from ._rules import as_axis, cast, wrap_dim


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


def axis_of(x: Array, dim: int) -> int | None:
    """The dimension as NumPy takes it: a number is a row of itself."""
    return dim if x.shape else None


# ---- softmax ------------------------------------------------------------------------------------------------------------------------


@primitive("softmax.values")
def softmax_along(x: Array, dim: int) -> Array:
    x, axis, dtype = wide(x), axis_of(x, dim), x.dtype
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return cast(powers / np.sum(powers, axis=axis, keepdims=True), dtype)


@primitive("softmax.gradient")
def softmax_gradient(g: Array, out: Array, dim: int, scale: float = 1.0) -> Array:
    """That of `softmax(x * scale)`; the Jacobian is symmetric, so tangents become tangents by it."""
    g, out = wide(g), wide(out)
    slopes = (g - np.sum(g * out, axis=axis_of(out, dim), keepdims=True)) * out
    return slopes if scale == 1.0 else slopes * scale


@op(along="softmax.softmax", same=SAME, holomorphic=True,
    input=lambda g, out, dim, input_dtype: cast(softmax_gradient(g, out, as_axis(dim)), input_dtype),
    jvp=lambda input_t, out, dim: softmax_gradient(cast(input_t, out._data.dtype), out, as_axis(dim)))  # fmt: skip
def softmax(input: Array, dim: int, dtype: Any = None) -> Array:
    """`exp(x) / exp(x).sum(dim)`, computed without overflow."""
    x, dim = prepared("softmax", input, dim, dtype)
    return softmax_along(x, dim) if x.size else np.empty_like(x)


# ---- log_softmax --------------------------------------------------------------------------------------------------------------------


@primitive("softmax.log_values")
def log_softmax_along(x: Array, dim: int) -> Array:
    x, axis, dtype = wide(x), axis_of(x, dim), x.dtype
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return cast(shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True)), dtype)


@primitive("softmax.log_gradient")
def log_softmax_gradient(g: Array, out: Array, dim: int) -> Array:
    g, out = wide(g), wide(out)
    return g - np.exp(out) * np.sum(g, axis=axis_of(out, dim), keepdims=True)


def log_softmax_jvp(input_t: Array, out: Array, dim: int) -> Array:
    t = cast(input_t, out._data.dtype)
    return t - np.sum(np.exp(out) * t, axis=axis_of(out, as_axis(dim)), keepdims=True)


@op(along="softmax.log_softmax", same=SAME, holomorphic=True, jvp=log_softmax_jvp,
    input=lambda g, out, dim, input_dtype: cast(log_softmax_gradient(g, out, as_axis(dim)), input_dtype))  # fmt: skip
def log_softmax(input: Array, dim: int, dtype: Any = None) -> Array:
    """`log(softmax(x, dim))`, computed without overflow or cancellation."""
    x, dim = prepared("log_softmax", input, dim, dtype)
    return log_softmax_along(x, dim) if x.size else np.empty_like(x)


@composite(method=False)
def softmin(input: Array, dim: int, dtype: Any = None) -> Array:
    """`softmax(-x, dim)`."""
    return FUNCTIONS["softmax"](-input, dim, dtype)
