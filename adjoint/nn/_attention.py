"""Attention: averages of values, weighted by how well their keys fit a query."""

from __future__ import annotations

from math import sqrt

import numpy as np

from .._tensor import Tensor, wrap
from ..ops.softmax import softmax
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
    """`softmax(query @ key.T * scale + mask) @ value`. A boolean mask says where attention is allowed."""
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        heads = query.shape[-3]
        key, value = key.repeat_interleave(heads // key.shape[-3], -3), value.repeat_interleave(heads // value.shape[-3], -3)
    factor = 1 / sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * sqrt(factor)) @ (key * sqrt(factor)).transpose(-2, -1)
    allowed = attn_mask
    if is_causal:
        allowed = wrap(np.tri(query.shape[-2], key.shape[-2], dtype=bool))
    if allowed is not None:
        scores = scores.masked_fill(allowed.logical_not(), -np.inf) if allowed._data.dtype == bool else scores + allowed
    weights: Tensor = softmax(scores, -1)
    if allowed is not None and allowed._data.dtype == bool:
        nothing = allowed.logical_not().all(-1, keepdim=True)  # a row that may look at nothing gets zeros, not NaNs
        weights = weights.masked_fill(nothing, 0.0)
    return dropout(weights, dropout_p) @ value
