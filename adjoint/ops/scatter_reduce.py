"""`scatter_reduce`: combining elements at the places that a tensor of indices names along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._registry import Array, composite, op
from ._rules import call
from .assign import writes
from .scatter import _scatter_value, _used, as_vector, check_along, gather, in_front, places, scatter_add

Shape = tuple[int, ...]

_COMBINE = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _starting_value(reduce: str, dtype: np.dtype[Any]) -> Any:
    """What to begin with where the old value does not count."""
    if reduce in ("sum", "mean", "prod"):
        return 1 if reduce == "prod" else 0
    if dtype.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    if limits is None:
        return reduce == "amin"
    return limits.min if reduce == "amax" else limits.max


def _combine_into(input: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool) -> None:
    if reduce not in _COMBINE:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    dim = check_along("scatter_reduce", input, dim, index, src)
    if not index.size:
        return
    target, where, values = as_vector(input), places(index, dim), _used(src, index)
    if not include_self:
        target[where] = _starting_value(reduce, input.dtype)
    _COMBINE[reduce].at(target, where, values)
    if reduce == "mean":
        count = np.full(target.shape, include_self, np.intp)
        np.add.at(count, where, 1)
        target[...] = (np.true_divide if target.dtype.kind in "fc" else np.floor_divide)(target, np.maximum(count, 1))


def _shares(
    g: Array, input: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool, out: Array
) -> tuple[Array, Array]:
    """The gradients of the old values and of the combined ones. Those of `src` have the shape of the index."""
    used = src[tuple(slice(0, size) for size in index.shape)]
    zeros = np.zeros_like(g)
    if reduce == "sum":
        own, others = g, call(gather, g, dim, index)
    elif reduce == "mean":
        count = call(scatter_add, zeros + int(include_self), dim, index, np.ones_like(used))
        share = g / np.maximum(count, 1)
        own, others = share, call(gather, share, dim, index)
    elif reduce == "prod":
        own, others = _product_shares(g, input, dim, index, used, include_self, out)
    else:
        # Equal extrema share the gradient equally.
        own_hit = np.where(input == out, np.ones_like(g), 0)
        hits = np.where(used == call(gather, out, dim, index), np.ones_like(used), 0)
        own_hit = own_hit if include_self else call(_scatter_value, own_hit, dim, index, 0)
        share = g / np.maximum(call(scatter_add, own_hit, dim, index, hits), 1)
        own, others = share * own_hit, call(gather, share, dim, index) * hits
        untouched = call(_scatter_value, np.ones_like(g), dim, index, 0)
        return (own if include_self else np.where(untouched == 1, g, 0)), others
    return (own if include_self else call(_scatter_value, own, dim, index, 0) if reduce != "sum" else call(_scatter_value, g, dim, index, 0)), others


def _product_shares(g: Array, input: Array, dim: int, index: Array, used: Array, include_self: bool, out: Array) -> tuple[Array, Array]:
    """The derivative of a product is the product of the other factors, which division gives except where a factor is zero."""
    one = np.ones_like(g)
    base = input if include_self else call(_scatter_value, input, dim, index, 1)
    factors = call(_scatter_reduce, one, dim, index, used, "prod")
    zero = used == 0
    zeros = call(scatter_add, np.where(base == 0, one, 0), dim, index, np.where(zero, np.ones_like(used), 0))
    without_zeros = call(_scatter_reduce, np.where(base == 0, 1, base), dim, index, np.where(zero, 1, used), "prod")
    alone = call(gather, g * without_zeros * (zeros == 1), dim, index)  # the only zero among its factors
    others = np.where(zero, alone, call(gather, g * out, dim, index) / np.where(zero, 1, used))
    return g * factors, others


def _reduce_grads(
    g: Array, input: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool, out: Array
) -> tuple[Any, ...]:
    own, others = _shares(g, input, dim, index, src, reduce, include_self, out)
    return own, None, in_front(others, tuple(src.shape))
