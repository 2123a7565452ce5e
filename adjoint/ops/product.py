"""Products of elements: all of them, and running.

Note [Zeros in a product]
The derivative of a product by one factor is the product of the others. Dividing the product by the factor gives it in one step, but not
where a factor is zero. With one zero only that factor has a derivative; with two none has. For a second derivative this shortcut loses
terms, so under `create_graph` the other factors are multiplied out, at quadratic cost, wherever a zero may be among them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import spelled
from .._methods import OpMethods
from ..autograd.regions import PARTIAL
from ._batching import rows
from ._precision import INT64, compute_dtype, wide, with_dtype
from ._primitives import loops
from ._registry import REDUCTION, Array, composite, op
from ._rules import call, cast, flipped, unreduce, wrap_dim
from .reduce import axes_of


def surely(condition: Array) -> bool:
    """Whether a condition is known to hold everywhere; False where its value cannot be known yet."""
    while isinstance(condition, OpMethods):
        condition = condition._data  # type: ignore[attr-defined]
    return bool(condition.all()) if isinstance(condition, np.ndarray | np.generic) else False


def without_each(x: Array, dim: int) -> Array:
    """One more dimension, in which factor after factor is replaced by 1: `result[..., k, j, ...] = 1 if k == j else x[..., j, ...]`."""
    size, after = x.shape[dim], len(x.shape) - 1 - dim
    one = np.reshape(np.eye(size, dtype=bool), (size, size) + (1,) * after)
    return np.where(one, 1, np.expand_dims(x, dim))


# ---- the product of all -------------------------------------------------------------------------------------------------------------


def multiplied(x: Array, axis: Any, keepdim: bool, dtype: Any) -> Array:
    x = with_dtype(x, dtype)
    found = loops("reduce").product.run(x, axis, keepdim)
    if found is not None:
        return found if dtype is None else cast(found, x.dtype)  # (integers are multiplied as int64)
    inner = INT64 if x.dtype.kind in "iub" and dtype is None else compute_dtype(x.dtype)
    result = np.prod(x, axis=axis, dtype=inner, keepdims=keepdim)
    return result if x.dtype.kind in "iub" else cast(result, x.dtype)


def others(x: Array, out: Array, dim: int) -> Array:
    """For each factor along `dim`, the product of the others. `out` keeps the dimension."""
    nonzero = x != 0
    if surely(nonzero):
        return out / x
    if isinstance(x, OpMethods):
        return np.prod(without_each(x, dim), axis=dim + 1)
    zeros = np.sum(~nonzero, axis=dim, keepdims=True)
    factors = np.where(nonzero, x, 1)
    product = np.prod(factors, axis=dim, keepdims=True)
    return np.where(zeros == 0, product / factors, np.where((zeros == 1) & ~nonzero, product, 0))


def prod_rule(g: Array, input: Array, out: Array, input_shape: Any, input_dtype: Any, dim: int, keepdim: bool) -> Array:
    if not input_shape:
        return cast(g * 1, input_dtype)
    found = compiled_rule(g, input, out, input_shape, dim)
    if found is not None:
        return found
    g, out = (unreduce(a, input_shape, dim, keepdim) for a in (g, out))
    return cast(g * others(cast(input, compute_dtype(input_dtype)), out, wrap_dim(dim, len(input_shape))), input_dtype)


def compiled_rule(g: Array, x: Array, out: Array, shape: Any, dim: int | None) -> Array | None:
    """The gradient by a kernel, where a finite result says that no factor is zero; else None."""
    if x.__class__ is not np.ndarray or not surely(np.isfinite(out) & (out != 0)):
        return None
    return loops("spread").by_quotient(shape, dim, g, x, out)


def prod_all_rule(g: Array, input: Array, out: Array, input_shape: Any, input_dtype: Any) -> Array:
    if not input_shape:
        return cast(g * 1, input_dtype)
    found = compiled_rule(g, input, out, input_shape, None)
    if found is not None:
        return found
    flat = np.reshape(cast(input, compute_dtype(input_dtype)), (-1,))
    return cast(np.reshape(g * others(flat, out, 0), input_shape), input_dtype)


@op(nodes="ProdBackward0", along="reduce.product", adopts=True, method=False, function=False, holomorphic=True, jvp=REDUCTION,
    input=prod_all_rule, batch=lambda input, dtype: prod_dim(rows(input), 1, dtype=dtype))  # fmt: skip
def prod_all(input: Array, *, dtype: Any = None) -> Array:
    return multiplied(input, None, False, dtype)


@op(nodes="ProdBackward1", along="reduce.product", adopts=True, method=False, function=False, holomorphic=True, jvp=REDUCTION,
    input=prod_rule)  # fmt: skip
def prod_dim(input: Array, dim: int, keepdim: bool = False, *, dtype: Any = None) -> Array:
    return multiplied(input, axes_of(wrap_dim(dim, len(input.shape)), len(input.shape)), keepdim, dtype)


@composite()
def prod(input: Array, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Array:
    """The product of all elements, or along a dimension."""
    if isinstance(dim, tuple | list):
        raise TypeError(f"prod() received an invalid combination of arguments - got (Tensor, {type(dim).__name__}), but dim is one int")
    return prod_all(input, dtype=dtype, out=out) if dim is None else prod_dim(input, dim, keepdim, dtype=dtype, out=out)


# ---- running products ---------------------------------------------------------------------------------------------------------------


def from_the_end(x: Array, dim: int) -> Array:
    """The running sum from the other end."""
    found = loops("scan").sums.run(x, dim, True)
    if found is None:
        found = flipped(np.cumsum(flipped(wide(x), dim), axis=dim), dim)
    return found


def refuse_truths(name: str, x: Array, dtype: Any) -> None:
    """Truth values have no running sums or products of their own kind."""
    if dtype is not None and x.dtype.kind == "b":
        raise NotImplementedError(spelled(f"\"{name}_out_cpu\" not implemented for 'Bool'\n  fix: leave dtype out, or pass torch.int64"))


def cumprod_rule(g: Array, input: Array, out: Array, input_shape: Any, input_dtype: Any, dim: int) -> Array:
    if not input_shape:
        return cast(g * 1, input_dtype)
    dim = wrap_dim(dim, len(input_shape))
    x = cast(input, compute_dtype(input_dtype))
    if surely(x != 0):
        return cast(from_the_end(g * out, dim) / x, input_dtype)
    size, after = input_shape[dim], len(input_shape) - 1 - dim
    later = np.reshape(np.triu(np.ones((size, size), bool)), (size, size) + (1,) * after)
    running = call(cumprod, without_each(x, dim), dim + 1)
    return cast(np.sum(np.where(later, running * np.expand_dims(g, dim), 0), axis=dim + 1), input_dtype)


def cumprod_jvp(input: Array, input_t: Array, out: Array, dim: int) -> Array:
    """The rule is linear in its gradient, and its transpose is found by the same products of the others."""
    if not input.shape:
        return input_t * 1
    dim = wrap_dim(dim, len(input.shape))
    if surely(input != 0):
        return out * np.cumsum(input_t / input, axis=dim)
    size, after = input.shape[dim], len(input.shape) - 1 - dim
    later = np.reshape(np.triu(np.ones((size, size), bool)), (size, size) + (1,) * after)
    running = cumprod(without_each(input, dim), dim + 1)
    return np.sum(np.where(later, running * np.expand_dims(input_t, dim + 1), 0), axis=dim)


@op(inplace=True, along="scan.products", adopts=True, overlap=PARTIAL, input=cumprod_rule, holomorphic=True, jvp=cumprod_jvp)
def cumprod(input: Array, dim: int, *, dtype: Any = None) -> Array:
    """The product of the elements up to each one, along a dimension."""
    dim = wrap_dim(dim, len(input.shape))
    x = with_dtype(input, dtype)
    if not x.shape:
        return cast(x, INT64 if x.dtype.kind in "iub" and dtype is None else x.dtype) * 1
    refuse_truths("cumprod", x, dtype)
    found = loops("scan").products.run(x, dim, False)
    if found is not None:
        return found if dtype is None else cast(found, x.dtype)
    inner = INT64 if x.dtype.kind in "iub" and dtype is None else compute_dtype(x.dtype)
    result = np.cumprod(wide(x), axis=dim, dtype=inner)
    return result if x.dtype.kind in "iub" else cast(result, x.dtype)
