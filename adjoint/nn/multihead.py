"""Attention with several heads, as a layer."""

from __future__ import annotations

from typing import Any

from .._creation import empty
from .._tensor import Parameter, Tensor
from . import functional as F
from . import init
from ._multihead import canonical_mask, warn_of_mixture
from .linear import NonDynamicallyQuantizableLinear
from .module import Module


class MultiheadAttention(Module):
    """Several attentions side by side, each on a learned projection of queries, keys and values.

    >>> import adjoint as ad
    >>> attention = ad.nn.MultiheadAttention(embed_dim=8, num_heads=2, batch_first=True)
    >>> x = ad.ones(3, 5, 8)
    >>> result, weights = attention(x, x, x)
    >>> result.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))
    """

    _qkv_same_embed_dim = True  # of layers that were pickled before there was a choice
    in_proj_weight: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(f"embed_dim must be divisible by num_heads (got embed_dim={embed_dim} and num_heads={num_heads})")

        def parameter(wanted: bool, *shape: int) -> Parameter | None:
            return Parameter(empty(shape, device=device, dtype=dtype)) if wanted else None

        together = self._qkv_same_embed_dim
        if together:
            self.register_parameter("in_proj_weight", parameter(True, 3 * embed_dim, embed_dim))
        for name, size in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            self.register_parameter(f"{name}_proj_weight", parameter(not together, embed_dim, size))
        if not together:
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", parameter(bias, 3 * embed_dim))
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self.register_parameter("bias_k", parameter(add_bias_kv, 1, 1, embed_dim))
        self.register_parameter("bias_v", parameter(add_bias_kv, 1, 1, embed_dim))
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The result and, if wanted, the weights: averaged over heads, or for each. Masks are True where there is no attention."""
        swap = self.batch_first and query.ndim == 3
        if swap and query.ndim == key.ndim == value.ndim:
            # What was one tensor stays one: then a single product projects it.
            turned = {id(x): x.transpose(0, 1) for x in (query, key, value)}
            query, key, value = (turned[id(x)] for x in (query, key, value))
        result, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
            self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask, need_weights,
            attn_mask, not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return result.transpose(0, 1) if swap else result, weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks as one, and of which kind it is: 1 for padding alone, 2 for one mask for each head, None for none."""
        warn_of_mixture(key_padding_mask, attn_mask)
        padding = canonical_mask(key_padding_mask, "key_padding_mask", query)
        mask = canonical_mask(attn_mask, "attn_mask", query)
        if mask is None:
            return padding, None if padding is None else 1
        batch, length, _ = query.shape
        per_head = mask.view(batch, -1, length, length) if mask.ndim == 3 else mask.view(1, 1, length, length)
        merged = per_head.expand(batch, self.num_heads, -1, -1)
        return merged if padding is None else merged + padding.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1), 2
