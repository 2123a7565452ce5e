"""Order statistics: median, mode, quantiles. They find the position of an element; see Note [Selected elements] in reduce.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import _return_types as return_types
from .._methods import OpMethods
from ._batching import rows
from ._operands import refuse
from ._out import into
from ._precision import INT64
from ._primitives import loops
from ._registry import FUNCTIONS, REDUCTION, Array, composite, op
from ._rules import holds, wrap_dim
from .reduce import refuse_complex, require_elements, selected, selected_at_once, selection, share_all
from .sort import in_order

median_values = selection("median", "MedianBackward1")
nanmedian_values = selection("nanmedian", "NanmedianBackward1")
mode_values = selection("mode", "ModeBackward0")
kthvalue_values = selection("kthvalue", "KthvalueBackward0")

RANK, MEDIAN, NANMEDIAN = range(3)  # what the kernel of order_loops.py looks for
Search = Callable[[Array, int], Array]  # from an array and an axis to one position in each slice, the axis kept


@op(method=False, function=False, differentiable=False)
def search(input: Array, find: Search, dim: int, keepdim: bool) -> Array:
    """The positions along a dimension that `find` finds."""
    if not input.shape:
        return np.zeros_like(input, INT64)
    dim = wrap_dim(dim, len(input.shape))
    found = find(input, dim)
    return found if keepdim else np.squeeze(found, axis=dim)


def at_rank(x: Array, rank: Any, axis: int) -> Array:
    """The position of the element of a rank. Among equals the first comes first, and NaN comes last."""
    return np.take_along_axis(in_order(x, axis, False), rank, axis=axis)


def find_median(x: Array, axis: int) -> Array:
    """The lower one of two in the middle; the first NaN, if there is any."""
    if (found := loops("order").of_rank(x, axis, MEDIAN)) is not None:
        return found[1]
    valid = np.sum(~np.isnan(x), axis=axis, keepdims=True)
    return at_rank(x, np.where(valid < x.shape[axis], valid, (x.shape[axis] - 1) // 2), axis)


def find_nanmedian(x: Array, axis: int) -> Array:
    if (found := loops("order").of_rank(x, axis, NANMEDIAN)) is not None:
        return found[1]
    valid = np.sum(~np.isnan(x), axis=axis, keepdims=True)
    return at_rank(x, np.maximum(valid - 1, 0) // 2, axis)


def find_rank(rank: int, x: Array, axis: int) -> Array:
    if (found := loops("order").of_rank(x, axis, RANK, rank)) is not None:
        return found[1]
    shape = tuple(1 if d == axis else size for d, size in enumerate(x.shape))
    return at_rank(x, np.full(shape, rank), axis)


def find_mode(x: Array, axis: int) -> Array:
    """The last occurrence of the most frequent value; of the smallest such value, if there are several."""
    if x.__class__ is np.ndarray and (found := loops("order").mode(x, axis)) is not None:
        return found[1]
    order = in_order(x, axis, False)
    values = np.moveaxis(np.take_along_axis(x, order, axis=axis), axis, -1)
    # The length of the run of equal values that ends at each place.
    places = np.arange(values.shape[-1])
    starts = np.concatenate([np.ones_like(values[..., :1], dtype=bool), values[..., 1:] != values[..., :-1]], axis=-1)
    lengths = places - np.maximum.accumulate(np.where(starts, places, 0), axis=-1)
    rank = np.moveaxis(np.argmax(lengths, axis=-1, keepdims=True), -1, axis)
    return np.take_along_axis(order, rank, axis=axis)


def checked(name: str, input: Array, dim: int) -> None:
    if isinstance(input, OpMethods):
        dim = wrap_dim(dim, input.ndim)  # type: ignore[attr-defined]
        require_elements(name, input._data, dim)  # type: ignore[attr-defined]
        refuse_complex(name, input._data)  # type: ignore[attr-defined]


# ---- median -------------------------------------------------------------------------------------------------------------------------


def refuse_median(input: Array, kernel: str) -> None:
    if input._data.dtype.kind in "cb":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.scalar_name}'\n  fix: x.float(), x.real or x.abs()")


def median_of_all(input: Array, find: Search, what: int) -> Array:
    if (found := loops("order").of_rank(input, None, what)) is not None:
        return found[0]
    flat = input.reshape(-1)
    return flat[find(flat, 0)[0]] if flat.shape[0] else np.full_like(input, math.nan, shape=())


def middle_of_rows(find: Any, input: Any) -> Any:
    return find(input, 1)[0] if input.shape[1] else input.new_full((input.shape[0],), math.nan)


@op(nodes="MedianBackward0", method=False, function=False, warns=False, wide=False, check=refuse("c", "median_cpu"),
    jvp=REDUCTION, input=share_all, batch=lambda input: middle_of_rows(median, rows(input)))  # fmt: skip
def median_all(input: Array) -> Array:
    return median_of_all(input, find_median, MEDIAN)


@op(nodes="NanmedianBackward0", method=False, function=False, warns=False, wide=False, check=refuse("c", "median_cpu"),
    jvp=REDUCTION, input=share_all, batch=lambda input: middle_of_rows(nanmedian, rows(input)))  # fmt: skip
def nanmedian_all(input: Array) -> Array:
    return median_of_all(input, find_nanmedian, NANMEDIAN)


@composite()
def median(input: Array, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The element in the middle (the lower one of two); along a dimension, `(values, indices)`."""
    if dim is None:
        refuse_median(input, "median_cpu")
        return median_all(input, out=out)
    find = loops("order").of_rank
    found = selected_at_once(median_values, return_types.median, find, input, dim, keepdim, out, MEDIAN, 0, keepdim)
    if found is not None:
        return found
    refuse_median(input, "median_out")
    checked("median", input, dim)
    return selected(median_values, return_types.median, input, search(input, find_median, dim, keepdim), dim, keepdim, out)


@composite()
def nanmedian(input: Array, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The median of the elements that are not NaN; along a dimension, `(values, indices)`."""
    if dim is None:
        refuse_median(input, "median_cpu")
        return nanmedian_all(input, out=out)
    find = loops("order").of_rank
    found = selected_at_once(nanmedian_values, return_types.nanmedian, find, input, dim, keepdim, out, NANMEDIAN, 0, keepdim)
    if found is not None:
        return found
    refuse_median(input, "median_out")
    checked("nanmedian", input, dim)
    return selected(nanmedian_values, return_types.nanmedian, input, search(input, find_nanmedian, dim, keepdim), dim, keepdim, out)


# ---- mode, kthvalue -----------------------------------------------------------------------------------------------------------------


@composite()
def mode(input: Array, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The most frequent value along a dimension (the smallest of several) and the last place where it stands."""
    found = selected_at_once(mode_values, return_types.mode, loops("order").mode, input, dim, keepdim, out, keepdim)
    if found is not None:
        return found
    checked("mode", input, dim)
    return selected(mode_values, return_types.mode, input, search(input, find_mode, dim, keepdim), dim, keepdim, out)


@composite()
def kthvalue(input: Array, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The k-th smallest element along a dimension, counted from 1."""
    checked("kthvalue", input, dim)
    if input.dtype.name == "bool":
        raise NotImplementedError("\"kthvalue_cpu\" not implemented for 'Bool'\n  fix: x.byte()")
    size = input.shape[dim] if input.shape else 1
    if not 1 <= k <= size:
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {wrap_dim(dim, len(input.shape))}: it has {size} elements, "
            f"so k is 1 to {size}, not {k}"
        )
    find = loops("order").of_rank
    found = selected_at_once(kthvalue_values, return_types.kthvalue, find, input, dim, keepdim, out, RANK, k - 1, keepdim)
    if found is not None:
        return found
    index = search(input, partial(find_rank, k - 1), dim, keepdim)
    return selected(kthvalue_values, return_types.kthvalue, input, index, dim, keepdim, out)


# ---- quantiles ----------------------------------------------------------------------------------------------------------------------

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


@composite()
def quantile(
    input: Array, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear", out: Any = None
) -> Array:
    """The values below which the fractions `q` of the elements lie; NaN if there is any among them."""
    return quantiles("quantile", input, q, dim, keepdim, interpolation, out)


@composite()
def nanquantile(
    input: Array, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear", out: Any = None
) -> Array:
    """The quantiles of the elements that are not NaN."""
    return quantiles("nanquantile", input, q, dim, keepdim, interpolation, out)


def quantiles(name: str, input: Array, q: Any, dim: int | None, keepdim: bool, interpolation: str, out: Any) -> Array:
    fractions = checked_fractions(name, input, q, interpolation)
    x = input.reshape(-1) if dim is None or not input.shape else input.movedim(dim, -1).contiguous()
    x = FUNCTIONS["sort"](x)[0]
    last = x.shape[-1] - 1
    if name == "quantile":  # NaN is sorted last: the last rank finds it
        ranks = FUNCTIONS["where"](x[..., -1:].isnan(), float(last), fractions * last)
    else:
        ranks = fractions * (x.isnan().logical_not().sum(-1, keepdim=True) - 1).clamp(min=0)
    if interpolation == "nearest":
        ranks = ranks.round()
    lower = ranks.floor()
    below, above = (x.gather(-1, rank.long()) for rank in (lower, ranks.ceil()))
    if interpolation in ("linear", "midpoint"):
        weight = ranks - lower if interpolation == "linear" else ranks.new_full(ranks.shape, 0.5)
        result = FUNCTIONS["lerp"](below, above, weight.to(input.dtype))  # (from the nearer side, which may be infinite)
    else:
        result = above if interpolation == "higher" else below
    result = arranged(result, isinstance(q, OpMethods) and q.ndim == 1, len(input.shape), dim, keepdim)  # type: ignore[attr-defined]
    return into(out, result, "quantile() out tensor must be same dtype as the input tensor")


def checked_fractions(name: str, input: Array, q: Any, interpolation: str) -> Array:
    """The fractions as a vector."""
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if input.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype\n  fix: x.float()")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}")
    if not isinstance(q, OpMethods):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        return input.new_full((1,), q)
    if q.ndim > 1:  # type: ignore[attr-defined]
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.dtype is not input.dtype:  # type: ignore[attr-defined]
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor\n  fix: q.to({input.dtype})")
    if holds(((q < 0) | (q > 1)).any()):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    return q.reshape(-1)


def arranged(result: Array, several: bool, ndim: int, dim: int | None, keepdim: bool) -> Array:
    """The fractions, in the last dimension so far, first; the reduced dimension, if it is kept, in its place."""
    result = result.movedim(-1, 0)
    if keepdim and dim is None:
        result = result.reshape((-1,) + (1,) * ndim)
    elif keepdim and dim is not None and ndim:
        result = result.unsqueeze(wrap_dim(dim, ndim) + 1)
    return result if several else result[0]
