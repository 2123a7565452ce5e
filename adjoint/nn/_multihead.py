"""Attention with several heads, as a function."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np

from .._creation import zeros_like
from .._site import warn
from .._tensor import Tensor, wrap
from ..ops.join import cat
from ..ops.matmul import linear
from ..ops.softmax import softmax
from ._attention import additive, scaled_dot_product_attention
from ._dropout import dropout
from ._padding import pad


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Project queries, keys and values, attend with each head on its part of the features, and project what comes out.

    Inputs are `(length, batch, features)`, or `(length, features)` without a batch. Where a mask is True there is no attention; a
    floating-point mask is added to the scores. Returns the result and, if wanted, the weights.
    """
    check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    batched = query.ndim == 3
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, features = query.shape
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    padding = canonical_mask(key_padding_mask, "key_padding_mask", query)
    if is_causal and padding is None and not need_weights:
        mask = None  # the hint says it all
    else:
        mask = canonical_mask(attn_mask, "attn_mask", query)
        is_causal = is_causal and padding is None
    warn_of_mixture(key_padding_mask, attn_mask)

    if features != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {features}")
    source = key.shape[0]
    along = int(batch_is_outside(query))  # the dimension of the length: the batch stays first where it is so in memory
    if along:
        turned = {id(x): x.transpose(0, 1) for x in (query, key, value)}
        query, key, value = (turned[id(x)] for x in (query, key, value))
    width = features // num_heads
    if width * num_heads != features:
        raise AssertionError(f"embed_dim {features} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
        weights = [q_proj_weight, k_proj_weight, v_proj_weight]
        if any(weight is None for weight in weights):
            raise AssertionError("use_separate_proj_weight is True, but q_proj_weight, k_proj_weight or v_proj_weight is None")
        biases = [None] * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
        q, k, v = (linear(x, weight, bias) for x, weight, bias in zip((query, key, value), weights, biases, strict=True))
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = projected(query, key, value, in_proj_weight, in_proj_bias)

    mask = checked_mask(mask, batch * num_heads, length, source)
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key and value.")
        k, v = (cat([x, extra.transpose(0, along).expand(*([batch, 1] if along else [1, batch]), -1)], along)
                for x, extra in ((k, bias_k), (v, bias_v)))  # fmt: skip
        mask, padding = longer(mask), longer(padding)
    elif bias_k is not None or bias_v is not None:
        raise AssertionError("bias_k and bias_v go together: one of them is None")

    q = by_head(q, None, "", batch, num_heads, along)
    k = by_head(k, static_k, "static_k", batch, num_heads, along)
    v = by_head(v, static_v, "static_v", batch, num_heads, along)
    if add_zero_attn:
        nothing = k.new_zeros((batch, num_heads, 1, width))
        k, v = cat([k, nothing], 2), cat([v, nothing], 2)
        mask, padding = longer(mask), longer(padding)
    source = k.shape[2]
    if mask is not None:
        mask = mask if mask.shape[0] == 1 else mask.view(batch, num_heads, length, source)
    if padding is not None:
        if padding.shape != (batch, source):
            raise AssertionError(f"expecting key_padding_mask shape of {(batch, source)}, but got {padding.shape}")
        padding = padding.view(batch, 1, 1, source)
        mask = padding if mask is None else mask + padding

    attend = attend_openly if need_weights else attend_quickly
    mixed, attention = attend(q, k, v, mask, dropout_p if training else 0.0, is_causal)
    # In training the length comes first in memory, as in PyTorch: dropout takes its random numbers in the order of memory.
    stays = along and not training
    mixed = (mixed.transpose(1, 2) if stays else mixed.permute(2, 0, 1, 3)).reshape(length * batch, features)
    result = linear(mixed, out_proj_weight, out_proj_bias)
    shown = out_proj_weight.shape[0]
    result = result.view(batch, length, shown).transpose(0, 1) if stays else result.view(length, batch, shown)
    result = result if batched else result.squeeze(1)
    if attention is None:
        return result, None
    attention = attention.mean(1) if average_attn_weights else attention
    return result, attention if batched else attention.squeeze(0)


def batch_is_outside(x: Tensor) -> bool:
    """Whether a tensor `(length, batch, features)` is the view of one that has the batch first, as a layer with `batch_first` makes it."""
    strides = x._data.strides if x._data.__class__ is np.ndarray else (1, 0)
    return strides[0] < strides[1]


def attend_openly(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, rate: float, is_causal: bool) -> tuple[Tensor, Tensor | None]:
    """What the heads see, and their weights."""
    scores = (q * sqrt(1.0 / q.shape[-1])) @ k.transpose(-2, -1)
    attention: Tensor = softmax(scores if mask is None else scores + mask, -1)
    attention = dropout(attention, rate) if rate else attention
    return attention @ v, attention


def attend_quickly(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, rate: float, is_causal: bool) -> tuple[Tensor, Tensor | None]:
    """What the heads see."""
    return scaled_dot_product_attention(q, k, v, mask, rate, is_causal), None


def projected(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, ...]:
    """The three projections, whose weights are stacked: as few products as there are different inputs."""
    if query is key and key is value:
        return linear(query, weight, bias).chunk(3, -1)  # type: ignore[no-any-return]
    features = query.shape[-1]
    biases = [None] * 3 if bias is None else bias.chunk(3)
    if key is value:
        first, rest = weight.split([features, 2 * features])
        bias_q, bias_kv = (None, None) if bias is None else bias.split([features, 2 * features])
        return (linear(query, first, bias_q), *linear(key, rest, bias_kv).chunk(2, -1))
    return tuple(linear(x, w, b) for x, w, b in zip((query, key, value), weight.chunk(3), biases, strict=True))


def by_head(x: Tensor, static: Tensor | None, name: str, batch: int, heads: int, along: int) -> Tensor:
    """Queries, keys or values as `(batch, head, length, width)`; those that are given by head replace what was computed."""
    width = x.shape[-1] // heads
    if static is None:
        if x.shape[1 - along] != batch:
            raise RuntimeError(f"shape '{[x.shape[along], batch * heads, width]}' is invalid for input of size {x.numel()}")
        parts: Tensor = x.view(*x.shape[:2], heads, width)
        return parts.transpose(1, 2) if along else parts.permute(1, 2, 0, 3)
    if static.shape[0] != batch * heads:
        raise AssertionError(f"expecting {name}.size(0) of {batch * heads}, but got {static.shape[0]}")
    if static.shape[2] != width:
        raise AssertionError(f"expecting {name}.size(2) of {width}, but got {static.shape[2]}")
    return static.view(batch, heads, -1, width)


def longer(mask: Tensor | None) -> Tensor | None:
    """A mask for one more key, which may be looked at."""
    return None if mask is None else pad(mask, (0, 1))


# ---- masks --------------------------------------------------------------------------------------------------------------------------


def canonical_mask(mask: Tensor | None, name: str, like: Tensor) -> Tensor | None:
    """A mask as what is added to scores."""
    if mask is None:
        return None
    if mask._data.dtype != bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return additive(mask, like, forbidden=True)


def warn_of_mixture(key_padding_mask: Tensor | None, attn_mask: Tensor | None) -> None:
    if key_padding_mask is not None and attn_mask is not None and key_padding_mask.dtype != attn_mask.dtype:
        warn("Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead.")


def checked_mask(mask: Tensor | None, heads: int, length: int, source: int) -> Tensor | None:
    """A mask with three dimensions: one for all heads, or one for each."""
    if mask is None:
        return None
    if mask.ndim == 2:
        if mask.shape != (length, source):
            raise RuntimeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be {(length, source)}.")
        return mask.unsqueeze(0)
    if mask.shape != (heads, length, source):
        raise RuntimeError(f"The shape of the 3D attn_mask is {mask.shape}, but should be {(heads, length, source)}.")
    return mask


def subsequent_mask(size: int, dtype: np.dtype) -> Tensor:
    """Zeros on and below the diagonal, minus infinity above: no element looks at those after it."""
    return wrap(np.triu(np.full((size, size), -np.inf, dtype), 1))


def check_shapes(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None, num_heads: int
) -> None:
    dims = query.ndim
    if dims not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    what = "batched (3-D)" if dims == 3 else "unbatched (2-D)"
    if key.ndim != dims or value.ndim != dims:
        raise AssertionError(
            f"For {what} `query`, expected `key` and `value` to be {dims}-D but found {key.ndim}-D and {value.ndim}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.ndim != dims - 1:
        raise AssertionError(
            f"For {what} `query`, expected `key_padding_mask` to be `None` or {dims - 1}-D but found {key_padding_mask.ndim}-D tensor "
            "instead"
        )
    if key_padding_mask is not None and dims == 3 and key_padding_mask.shape[0] != query.shape[1]:
        raise AssertionError(f"Expected key_padded_mask.shape[0] to be {query.shape[1]}, but got {key_padding_mask.shape[0]}")
    if key_padding_mask is not None and dims == 3 and key_padding_mask.shape[1] != key.shape[0]:
        raise AssertionError(f"Expected key_padded_mask.shape[1] to be {key.shape[0]}, but got {key_padding_mask.shape[1]}")
    if attn_mask is not None:
        if attn_mask.ndim not in (2, 3):
            raise AssertionError(
                f"For {what} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D tensor instead"
            )
        expected = (num_heads, query.shape[0], key.shape[0])
        if dims == 2 and attn_mask.ndim == 3 and attn_mask.shape != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")


def _none_or_dtype(input: Tensor | None) -> Any:
    """The dtype of a tensor that may be None."""
    if input is None or isinstance(input, Tensor):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True
) -> Tensor | None:
    """A mask that is added to scores: one of truth values has minus infinity where it is true."""
    if mask is None:
        return None
    if mask.dtype.name != "bool" and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.")
    if mask.is_floating_point():
        return mask
    return zeros_like(mask, dtype=target_type).masked_fill_(mask, -inf)
