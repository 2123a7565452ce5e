"""Attention: averages of values, weighted by how well their keys fit a query."""

from __future__ import annotations

from math import sqrt

import numpy as np

from .._tensor import Tensor
from ..ops.softmax import attention_weights
from ._dropout import dropout


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`softmax(query @ key.T * scale + mask) @ value`. A boolean mask says where attention is allowed.

    >>> import adjoint as ad
    >>> x = ad.ones(2, 3, 4)
    >>> ad.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).shape
    torch.Size([2, 3, 4])
    """
    check_inputs(query, key, value, attn_mask)
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if not 0.0 <= dropout_p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if enable_gqa:
        key, value = for_each_query_head(key, query), for_each_query_head(value, query)
    if attn_mask is not None and attn_mask._data.dtype != bool:
        attn_mask = attn_mask.to(query.dtype)
    factor = 1 / sqrt(query.shape[-1]) if scale is None else scale
    weights: Tensor = attention_weights(query @ key.transpose(-2, -1), attn_mask, factor, is_causal)
    return (dropout(weights, dropout_p) if dropout_p else weights) @ value


def additive(mask: Tensor, like: Tensor, *, forbidden: bool) -> Tensor:
    """A boolean mask as what is added to scores: minus infinity where it is `forbidden`. A floating-point mask is that already."""
    if mask._data.dtype != bool:
        return mask.to(like.dtype)
    return like.new_zeros(mask.shape).masked_fill(mask if forbidden else mask.logical_not(), -np.inf)  # type: ignore[no-any-return]


def for_each_query_head(shared: Tensor, query: Tensor) -> Tensor:
    """Heads of keys or values, repeated for the groups of query heads that share them."""
    heads, own = query.shape[-3], shared.shape[-3]
    if heads % own:
        raise RuntimeError(f"Number of heads in key and value must divide the number of heads in query, but got {own} and {heads}")
    return shared.repeat_interleave(heads // own, -3)  # type: ignore[no-any-return]


def check_inputs(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None) -> None:
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {query.ndim} "
            f"key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    dtype = query._data.dtype
    if not key._data.dtype == value._data.dtype == dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype} key.dtype: {key.dtype} and "
            f"value.dtype: {value.dtype} instead."
        )
    if dtype.kind in "iub":
        raise RuntimeError(f"expected scalar type Float but found {query.dtype.scalar_name}; use query.float()")
    if attn_mask is not None and attn_mask._data.dtype not in (dtype, np.dtype(bool), np.dtype("float32")):
        raise RuntimeError(
            f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {attn_mask.dtype} and  "
            f"query.dtype: {query.dtype} instead."
        )
