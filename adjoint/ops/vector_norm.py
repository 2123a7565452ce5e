"""Vector norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtype import as_dtype, promote_types
from .._errors import spelled
from ._out import into
from ._precision import compute_dtype, real_dtype, wide
from ._primitives import loops, primitive
from ._registry import FUNCTIONS, REDUCTION, SAME, Array, composite, op
from ._rules import as_axis, cast, contiguous, normalize_dims, unreduce, wrap_dim
from .reduce import Dims, axes_of, shared, total


def size_of(x: Array) -> Array:
    """The absolute values, in the dtype they are computed with."""
    return np.abs(wide(x))


def direction(x: Array, size: Array) -> Array:
    """`x / |x|`, and zero at zero."""
    if x.dtype == size.dtype:
        return np.sign(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size))


def divided(g: Array, by: Array) -> Array:
    """`g / by`, and zero where `by` is: the norm of a zero vector has no slope."""
    zero = by == 0
    return np.where(zero, 0, g / np.where(zero, 1, by))


@primitive("spread.norm", lambda g, x, out, shape, dtype, ord, dim, keepdim: compiled_rule(g, x, out, shape, ord, as_axis(dim)))
def norm_rule(g: Array, x: Array, out: Array, x_shape: Any, x_dtype: Any, ord: float, dim: Dims, keepdim: bool) -> Array:
    g, out = (unreduce(wide(a), x_shape, dim, keepdim) for a in (g, out))
    x = wide(x)
    if ord == 2:
        return cast(x * divided(g, out), x_dtype)
    if ord == 0:
        return np.zeros_like(x, dtype=x_dtype)  # a count: not even a NaN comes back
    size = np.abs(x)
    if ord == 1:
        return cast(direction(x, size) * g, x_dtype)
    if math.isinf(ord):
        if np.dtype(x_dtype).kind == "c":  # the size may be rounded otherwise by a kernel than it was in the forward
            out = (np.max if ord > 0 else np.min)(size, axis=axes_of(dim, len(x_shape)), keepdims=True)
        share = shared(g, size == out, real_dtype(compute_dtype(x_dtype)), dim)
        return cast(direction(x, size) * share, x_dtype)
    power = np.where(size == 0, 0, np.where(size == 0, 1, size) ** (ord - 1))
    return cast(direction(x, size) * power * share_of_power(g, out, ord), x_dtype)


def share_of_power(g: Array, out: Array, ord: float) -> Array:
    return g * np.where(out == 0, 1, out) ** (1 - ord) if ord < 1 else divided(g, out ** (ord - 1))


def compiled_rule(g: Array, x: Array, out: Array, shape: Any, ord: float, axis: Any) -> Array | None:
    """The gradient by a kernel, or None."""
    slopes = loops("spread")
    if ord == 2:
        return slopes.by_size(shape, axis, divided(g, out), x)
    if ord == 1:
        return slopes.by_sign(shape, axis, g, x)
    if math.isinf(ord):
        count = loops("reduce").count_size_alike.run(x, axis, False, 1, out)
        return None if count is None else slopes.to_equal_size(shape, axis, g / count.reshape(g.shape), x, out)
    return slopes.by_power(shape, axis, share_of_power(g, out, ord), x, None, ord - 1) if ord else None


@op("linalg_vector_norm", method=False, function=False, holomorphic=False, wide=False, jvp=REDUCTION, x=norm_rule)
def linalg_vector_norm(x: Array, ord: float, dim: Dims, keepdim: bool) -> Array:
    axes = axes_of(dim, len(x.shape))
    if math.isinf(ord) or ord < 0:
        check_not_empty(x, ord, dim)
    return norm_along(x, ord, axes, keepdim)


def norm_by_kernel(x: Array, ord: float, axes: Any, keepdim: bool) -> Array | None:
    found = compiled_norm(ord).run(x, axes, keepdim, ord)
    return None if found is None else cast(found, x.dtype)


@primitive("reduce.norm", norm_by_kernel)
def norm_along(x: Array, ord: float, axes: Any, keepdim: bool) -> Array:
    size = size_of(x)
    if math.isinf(ord):
        norm = (np.max if ord > 0 else np.min)(size, axis=axes, keepdims=keepdim)
    elif ord == 0:
        norm = total(cast(size != 0, size.dtype), axes, keepdim)
    elif ord == 1:
        norm = total(size, axes, keepdim)
    elif ord == 2:
        norm = np.sqrt(total(size * size, axes, keepdim))
    else:
        norm = total(size**ord, axes, keepdim) ** (1 / ord)
    return contiguous(cast(norm, real_dtype(x.dtype)))


def compiled_norm(ord: float) -> Any:
    reductions = loops("reduce")
    if ord == 2:
        return reductions.norm_2
    if math.isinf(ord):
        return reductions.norm_most if ord > 0 else reductions.norm_least
    return reductions.count if ord == 0 else reductions.norm_1 if ord == 1 else reductions.norm_p


def check_not_empty(x: Array, ord: float, dim: Dims) -> None:
    if x.size:
        return
    empty = [d for d in normalize_dims(dim, len(x.shape)) if x.shape[d] == 0]
    if empty:
        place = "an empty tensor because" if dim is None else f"the dimension {empty[0]} because this dimension is empty and"
        raise RuntimeError(f"linalg.vector_norm cannot compute the {ord:g} norm on {place} the operation does not have an identity")


def vector_norm(
    x: Array, ord: float = 2, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Array:
    """The `ord`-norm of all elements, or of the vectors along dimensions."""
    if not isinstance(ord, int | float):
        raise TypeError(f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}")
    if x._data.dtype.kind not in "fcV":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {x.dtype.scalar_name}\n  fix: x.float()"
        )
    if dtype is not None:
        x = widened("linalg.vector_norm", x, dtype)
    return linalg_vector_norm(x, ord, dim, keepdim, out=out)


def widened(name: str, x: Array, dtype: Any) -> Array:
    """The input of a norm in the dtype in which it is to be computed."""
    wanted = as_dtype(dtype)
    kind = wanted.scalar_name
    if not (wanted.is_floating_point or wanted.is_complex):
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {kind}")
    if wanted.is_complex is not x.is_complex():
        needed = "complex" if x.is_complex() else "real"
        raise RuntimeError(f"{name}: dtype should be {needed} for {needed} inputs, but got {kind}")
    if promote_types(x.dtype, wanted) is not wanted:
        raise RuntimeError(
            spelled(
                f"{name}: the dtype of the input ({x.dtype.scalar_name}) should be convertible without narrowing to the specified dtype "
                f"({kind})\n  fix: x.to({wanted}) first, to say that narrowing is meant"
            )
        )
    return x.to(wanted)


@composite()
def norm(input: Array, p: Any = "fro", dim: Dims = None, keepdim: bool = False, dtype: Any = None, out: Any = None) -> Array:
    """The p-norm of all elements, or along dimensions. `p='fro'` is the 2-norm."""
    if p is None or (p == "fro" and (dim is None or isinstance(dim, int) or len(dim) < 3)):
        p = 2
    if isinstance(p, str):
        from ..linalg import matrix_norm

        return matrix_norm(input, p, tuple(range(input.ndim)) if dim is None else dim, keepdim, dtype=dtype, out=out)
    return vector_norm(input, p, dim, keepdim, dtype=dtype, out=out)


@composite(function=False)
def renorm_(input: Array, p: float, dim: int, maxnorm: float) -> Array:
    """In-place form of `renorm`."""
    return input.copy_(renorm(input.clone(), p, dim, maxnorm))


@composite()
def renorm(input: Array, p: float, dim: int, maxnorm: float, *, out: Any = None) -> Array:
    """The slices along a dimension, shortened to `maxnorm` where their p-norm exceeds it."""
    if len(input.shape) < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {len(input.shape)} dimensions")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    dim = wrap_dim(dim, len(input.shape))
    norms = vector_norm(input, p, tuple(d for d in range(len(input.shape)) if d != dim), True)
    return into(out, input * FUNCTIONS["where"](norms > maxnorm, maxnorm / (norms + 1e-7), 1.0), SAME)
