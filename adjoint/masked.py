"""Reductions and normalizations that leave out the elements where a mask is False, under the names of `torch.masked`.

An element that is left out counts as what does not change the result: zero in a sum, one in a product, and so on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._dtype import as_dtype as _as_dtype
from ._dtype import bool_ as _bool
from ._dtype import float32 as _float32
from ._dtype import int64 as _int64
from ._errors import spelled
from ._linalg_norms import norm as _norm
from .ops._registry import FUNCTIONS as _FUNCTIONS
from .ops._rules import normalize_dims as _normalize_dims
from .ops.vector_norm import vector_norm as _vector_norm

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median", "norm", "normalize",
    "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip


def _converted(input: Any, dtype: Any) -> Any:
    return input if dtype is None else input.to(_as_dtype(dtype))


def _filled(input: Any, mask: Any, value: Any) -> Any:
    """The input, with another value where it is masked out."""
    if mask is None:
        return input
    if mask.ndim > input.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return _FUNCTIONS["where"](mask.broadcast_to(input.shape), input, input.new_full((), value))


def _counted(input: Any, mask: Any, dim: Any, keepdim: bool) -> Any:
    """How many elements each result is made of."""
    ones = input.detach().new_ones(input.shape, dtype=_int64) if mask is None else mask.broadcast_to(input.shape)
    return ones.sum(dim, keepdim=keepdim)


def _lowest(input: Any) -> Any:
    return -math.inf if input.is_floating_point() else np.iinfo(input._data.dtype).min if input.dtype is not _bool else False


def _highest(input: Any) -> Any:
    return math.inf if input.is_floating_point() else np.iinfo(input._data.dtype).max if input.dtype is not _bool else True


def _dims(input: Any, dim: Any) -> tuple[int, ...]:
    """The dimensions to reduce, in order; None and an empty list mean all of them."""
    return tuple(sorted(_normalize_dims(dim, input.ndim))) if input.ndim else ()


# ---- sums and products --------------------------------------------------------------------------------------------------------------


def _whole(input: Any, dtype: Any) -> Any:
    """Integers are added and multiplied in 64 bits."""
    return _converted(input, _int64 if dtype is None and not (input.is_floating_point() or input.is_complex()) else dtype)


def sum(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The sum of the elements that are not masked out."""
    return _filled(_whole(input, dtype), mask, 0).sum(_dims(input, dim), keepdim=bool(keepdim))


def prod(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The product of the elements that are not masked out."""
    result = _filled(_whole(input, dtype), mask, 1)
    for place in reversed(_dims(input, dim)):
        result = result.prod(place, keepdim=bool(keepdim))
    return result


def cumsum(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The running sum of the elements that are not masked out."""
    x = _converted(input, dtype)
    return _filled(x, mask, 0).cumsum(dim, dtype=x.dtype)


def cumprod(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The running product of the elements that are not masked out."""
    x = _converted(input, dtype)
    return _filled(x, mask, 1).cumprod(dim, dtype=x.dtype)


# ---- extremes -----------------------------------------------------------------------------------------------------------------------


def amax(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The largest of the elements that are not masked out."""
    x = _converted(input, dtype)
    return _filled(x, mask, _lowest(x)).amax(_dims(input, dim), keepdim=bool(keepdim))


def amin(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The smallest of the elements that are not masked out."""
    x = _converted(input, dtype)
    return _filled(x, mask, _highest(x)).amin(_dims(input, dim), keepdim=bool(keepdim))


def argmax(input: Any, dim: int | None = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """Where the largest of the elements stands that are not masked out. (In the dtype of the input, as in PyTorch.)"""
    x = _converted(input, dtype)
    return _filled(x, mask, _lowest(x)).argmax(dim, keepdim=bool(keepdim)).to(x.dtype)


def argmin(input: Any, dim: int | None = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """Where the smallest of the elements stands that are not masked out. (In the dtype of the input, as in PyTorch.)"""
    x = _converted(input, dtype)
    return _filled(x, mask, _highest(x)).argmin(dim, keepdim=bool(keepdim)).to(x.dtype)


# ---- means and their relatives ------------------------------------------------------------------------------------------------------


def mean(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The mean of the elements that are not masked out; NaN if all are."""
    if input.dtype is _bool and dtype is None:
        raise ValueError(spelled("mean: expected a dtype for truth values\n  fix: dtype=torch.float32"))
    dims = _dims(input, dim)
    total = sum(input, dims, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _counted(input, mask, dims, bool(keepdim))


def median(input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The element in the middle of those that are not masked out (the lower one of two); NaN if all are."""
    x = _converted(input, dtype)
    if not x.is_floating_point():
        raise NotImplementedError("median: expected floating point values\n  fix: x.float()")
    if mask is None:
        return x.median(dim, keepdim).values
    return _filled(x, mask, math.nan).nanmedian(dim, keepdim).values


def var(
    input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: float | None = None, keepdim: bool | None = False,
    dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    """The variance of the elements that are not masked out."""
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    x = input if input.is_floating_point() or input.is_complex() else input.to(_float32)
    x = _converted(x, dtype)
    dims = _dims(input, dim)
    count = _counted(x, mask, dims, True)
    centered = _filled(x - sum(x, dims, keepdim=True, mask=mask) / count, mask, 0)
    total = (centered * centered.conj()).sum(dims, keepdim=bool(keepdim))
    count = count if keepdim or not dims else count.reshape(total.shape)
    return total / count.sub(correction).clamp(min=0).to(total.dtype)


def std(
    input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: float | None = None, keepdim: bool | None = False,
    dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    """The standard deviation of the elements that are not masked out."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


def norm(
    input: Any, ord: float | None = 2.0, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None
) -> Any:
    """The `ord`-norm of the elements that are not masked out."""
    ord = 2.0 if ord is None else ord
    x = _filled(_converted(input, dtype), mask, math.inf if ord < 0 else 0)
    dims = _dims(input, dim)
    return _vector_norm(x, ord, dims, bool(keepdim)) if dims or not input.ndim else _norm(x, ord)


# ---- in logarithms, and normalized --------------------------------------------------------------------------------------------------


def logsumexp(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """`log(exp(x).sum())` of the elements that are not masked out."""
    x = _converted(input, dtype)
    wide = x if x.is_floating_point() or x.is_complex() else x.to(_float32)
    return _filled(wide, mask, -math.inf).logsumexp(_dims(input, dim), keepdim=keepdim).to(x.dtype)


def logaddexp(input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None) -> Any:
    """`log(exp(input) + exp(other))`; an element that is masked out on one side adds nothing."""
    x, y = _converted(input, dtype), _converted(other, dtype)
    return _FUNCTIONS["logaddexp"](_filled(x, input_mask, -math.inf), _filled(y, other_mask, -math.inf))


def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Exponentials along a dimension, scaled to the sum 1; zero where the element is masked out."""
    return _filled(_converted(input, dtype), mask, -math.inf).softmax(dim)


def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return _filled(_converted(input, dtype), mask, -math.inf).log_softmax(dim)


def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """`softmax` of the negative input."""
    return (-_filled(_converted(input, dtype), mask, math.inf)).softmax(dim)


def normalize(input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None) -> Any:
    """The input divided by the norm along a dimension of the elements that are not masked out; zero where one is."""
    x = _converted(input, dtype)
    size = norm(x, ord, dim, keepdim=True, mask=mask)
    return _filled(x, mask, 0) / size.clamp(min=eps)


def __dir__() -> list[str]:
    return __all__
