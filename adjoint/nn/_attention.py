"""Attention as a function: what it checks, and which ops compute it."""

from __future__ import annotations

from math import sqrt

import numpy as np

from .._dtype import bfloat16, float16
from .._site import warn
from .._state import ATTENTION_BACKENDS, GRAD, get_mode
from .._tensor import Tensor
from ..ops.attention import attention, attention_weights
from ._dropout import dropout

HALVES = (float16, bfloat16)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`softmax(query @ key.T * scale + mask) @ value`. A boolean mask says where attention is allowed.

    >>> import adjoint as ad
    >>> x = ad.ones(2, 3, 4)
    >>> ad.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).shape
    torch.Size([2, 3, 4])
    """
    if not ATTENTION_BACKENDS["math"]:
        require_backend(query, key, value, dropout_p)
    if not dropout_p and not enable_gqa and (mode := get_mode()) <= GRAD and at_once(query, key, value, attn_mask, is_causal):
        factor = 1 / sqrt(query._data.shape[-1]) if scale is None else scale
        kept: list[object] | None = [] if mode and (query.requires_grad or key.requires_grad or value.requires_grad) else None
        return attention(query, key, value, attn_mask, factor, is_causal, kept)  # type: ignore[no-any-return]
    check_inputs(query, key, value, attn_mask)
    if attn_mask is not None and attn_mask.ndim > max(query.ndim, key.ndim):
        raise RuntimeError(f"output with shape {list(query.shape[:-1])} + [keys] doesn't match the broadcast shape {list(attn_mask.shape)}")
    if is_causal and attn_mask is not None:
        if hasattr(attn_mask, "variant"):  # nn/attention/bias.py
            raise ValueError("CausalBias should not be used with causal=True")
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if not 0.0 <= dropout_p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if enable_gqa:
        key, value = for_each_query_head(key, query), for_each_query_head(value, query)
    if attn_mask is not None and attn_mask._data.dtype != bool:
        attn_mask = attn_mask.to(query.dtype)
    if (dtype := query.dtype) in HALVES:  # whose scores would be too coarse
        mask = attn_mask if attn_mask is None or attn_mask.dtype not in HALVES else attn_mask.float()
        return scaled_dot_product_attention(query.float(), key.float(), value.float(), mask, dropout_p, is_causal, scale=scale).to(dtype)
    factor = 1 / sqrt(query._data.shape[-1] or 1) if scale is None else scale  # without features there is nothing to scale
    weights: Tensor = attention_weights(query @ key.transpose(-2, -1), attn_mask, factor, is_causal)
    return (dropout(weights, dropout_p) if dropout_p else weights) @ value


def require_backend(query: Tensor, key: Tensor, value: Tensor, dropout_p: float) -> None:
    """Refuse what PyTorch's other way on a CPU does not compute, if that of plain formulas is not allowed."""
    if not ATTENTION_BACKENDS["flash"]:
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math kernel and "
            "the fused kernels.\n  fix: allow SDPBackend.MATH or SDPBackend.FLASH_ATTENTION"
        )
    if not flash_serves(query, key, value, dropout_p):
        warn(
            "Flash attention kernel not used because: it takes queries, keys and values of 4 dimensions and equal widths, without dropout"
        )
        raise RuntimeError("No available kernel. Aborting execution.\n  fix: allow SDPBackend.MATH")


def flash_serves(query: Tensor, key: Tensor, value: Tensor, dropout_p: float) -> bool:
    """Whether PyTorch's other way on a CPU computes it."""
    shapes = [x.shape for x in (query, key, value)]
    return not dropout_p and all(len(shape) == 4 and 0 not in shape[1:] for shape in shapes) and len({shape[-1] for shape in shapes}) == 1


def at_once(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool) -> bool:
    """Whether one op can compute all of it: ordinary tensors that fit each other, and a mask that requires no gradient."""
    q, k, v = query._data, key._data, value._data
    if not q.__class__ is k.__class__ is v.__class__ is np.ndarray or not (q.dtype is k.dtype is v.dtype and q.dtype.char in "fd"):
        return False
    if q.ndim < 2 or not q.shape[:-2] == k.shape[:-2] == v.shape[:-2] or q.shape[-1:] != k.shape[-1:] or k.shape[-2] != v.shape[-2]:
        return False
    if mask is not None:
        scores, allowed = (*q.shape[:-1], k.shape[-2]), mask._data
        if is_causal or allowed.__class__ is not np.ndarray or mask.requires_grad or allowed.ndim > len(scores):
            return False
        if allowed.dtype is not q.dtype and allowed.dtype != bool:
            return False
        if any(size not in (1, full) for size, full in zip(reversed(allowed.shape), reversed(scores), strict=False)):
            return False
    return bool(q.size and k.size and v.size)


def additive(mask: Tensor, like: Tensor, *, forbidden: bool) -> Tensor:
    """A boolean mask as what is added to scores: minus infinity where it is `forbidden`. A floating-point mask is that already."""
    if mask._data.dtype != bool:
        return mask.to(like.dtype)
    return like.new_zeros(mask.shape).masked_fill(mask if forbidden else mask.logical_not(), -np.inf)


def for_each_query_head(shared: Tensor, query: Tensor) -> Tensor:
    """Heads of keys or values, repeated for the groups of query heads that share them."""
    heads, own = query.shape[-3], shared.shape[-3]
    if heads % own:
        raise RuntimeError(f"Number of heads in key and value must divide the number of heads in query, but got {own} and {heads}")
    return shared.repeat_interleave(heads // own, -3)


def check_inputs(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None) -> None:
    if min(query._data.ndim, key._data.ndim, value._data.ndim) < 2:
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
    if dtype.kind == "c":
        raise NotImplementedError(f"\"softmax_lastdim_kernel_impl\" not implemented for '{query.dtype.scalar_name}'")
    if dtype.kind in "iub":
        raise RuntimeError(f"expected scalar type Float but found {query.dtype.scalar_name}; use query.float()")
    if attn_mask is not None and attn_mask._data.dtype not in (dtype, np.dtype(bool), np.dtype("float32")):
        raise RuntimeError(
            f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {attn_mask.dtype} and  "
            f"query.dtype: {query.dtype} instead."
        )
