"""The Transformer: encoder and decoder, and the layers they are made of."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from math import inf
from typing import Any

from .._device import resolve
from .._dtype import default_numpy
from .._site import warn
from .._state import grad_enabled
from .._tensor import Tensor
from ..ops.activation import relu as relu_op
from . import functional as F
from . import init
from ._multihead import canonical_mask, subsequent_mask, warn_of_mixture
from .containers import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import TensorModule as Module
from .multihead import MultiheadAttention
from .normalization import LayerNorm

Activation = Callable[[Tensor], Tensor]


class Transformer(Module):
    """An encoder of the source, and a decoder that reads it while it makes the target.

    >>> import adjoint as ad
    >>> model = ad.nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=16, batch_first=True)
    >>> model(ad.ones(3, 5, 8), ad.ones(3, 4, 8)).shape
    torch.Size([3, 4, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()

        settings: Any = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*settings), num_encoder_layers, norm())
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*settings), num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoder's answer to the target, having read the source."""
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError(
                f"the batch number of src and tgt must be equal (got {src.shape[batch]} and {tgt.shape[batch]} along dimension {batch})"
            )
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                f"the feature number of src and tgt must be equal to d_model (which is {self.d_model}, but they have {src.shape[-1]} and "
                f"{tgt.shape[-1]})"
            )
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(  # type: ignore[no-any-return]
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, memory_is_causal
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A mask for targets that may not look ahead.

        >>> import adjoint as ad
        >>> ad.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        mask = subsequent_mask(sz, default_numpy() if dtype is None else dtype.numpy)
        return mask if device is None else mask.to(resolve(device))


# ---- stacks of layers ---------------------------------------------------------------------------------------------------------------


class TransformerEncoder(Module):
    """Encoder layers, one after another."""

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        obstacle = _obstacle_to_nesting(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not obstacle
        if enable_nested_tensor and obstacle:
            warn(f"enable_nested_tensor is True, but self.use_nested_tensor is False because {obstacle}")

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool | None = None
    ) -> Tensor:
        """All layers, then the norm."""
        warn_of_mixture(src_key_padding_mask, mask)
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src)
        mask = canonical_mask(mask, "mask", src)
        causal = is_causal_mask(mask, is_causal, src, self.layers[0].self_attn.batch_first if len(self.layers) else False)
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if padding is not None:
            outside = padding == -inf
            if self._leaves_padding_out(src, mask, padding, outside):
                output = output.masked_fill(outside.unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _leaves_padding_out(self, src: Tensor, mask: Tensor | None, padding: Tensor, outside: Tensor) -> bool:
        """PyTorch's fast path for evaluation works without the padding, which then comes out as zeros."""
        usable = self.use_nested_tensor and not self.training and src.ndim == 3 and mask is None
        if not usable or (grad_enabled() and any(p.requires_grad for p in self.parameters())):
            return False
        if not ((padding == 0) | outside).all():  # some of it is only weighed
            return False
        return not self.mask_check or bool((outside[:, 1:] >= outside[:, :-1]).all())  # all of it is at the end


def _obstacle_to_nesting(layer: Module) -> str:
    """Why PyTorch would not use its fast path for evaluation with this layer."""
    if not isinstance(layer, TransformerEncoderLayer):
        return f"{layer} was not TransformerEncoderLayer"
    attention = layer.self_attn
    obstacles = (
        (layer.norm_first, "encoder_layer.norm_first was True"),
        (not attention.batch_first,
         "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)"),
        (not attention._qkv_same_embed_dim, "encoder_layer.self_attn._qkv_same_embed_dim was not True"),
        (attention.in_proj_bias is None, "encoder_layer.self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, "encoder_layer.activation_relu_or_gelu was not True"),
        (layer.norm1.eps != layer.norm2.eps, "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"),
        (attention.num_heads % 2 == 1, "encoder_layer.self_attn.num_heads is odd"),
    )  # fmt: skip
    return next((text for found, text in obstacles if found), "")


class TransformerDecoder(Module):
    """Decoder layers, one after another."""

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """All layers, then the norm."""
        causal = is_causal_mask(tgt_mask, tgt_is_causal, tgt, self.layers[0].self_attn.batch_first if len(self.layers) else False)
        output = tgt
        for layer in self.layers:
            output = layer(
                output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal, memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return output if self.norm is None else self.norm(output)


# ---- layers -------------------------------------------------------------------------------------------------------------------------


class _Layer(Module):
    """What encoder and decoder layers have in common: attention to themselves, and two linear layers."""

    cross = False  # whether there is attention to another sequence too

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        for name in ("self_attn", "multihead_attn") if self.cross else ("self_attn",):
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype))
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)
        self.norm_first = norm_first
        numbers = (1, 2, 3) if self.cross else (1, 2)
        for number in numbers:
            setattr(self, f"norm{number}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype))
        for number in numbers:
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation
        self.activation_relu_or_gelu = _kind_of(self.activation)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("activation", F.relu)

    def _residual(self, x: Tensor, norm: Module, block: Activation) -> Tensor:
        """`x` with what a block makes of it, normalized before or after."""
        return x + block(norm(x)) if self.norm_first else norm(x + block(x))

    def _sa_block(self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False) -> Tensor:
        attended = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False, is_causal=is_causal
        )
        return self.dropout1(attended[0])  # type: ignore[no-any-return]

    def _ff_block(self, x: Tensor) -> Tensor:
        last = self.dropout3 if self.cross else self.dropout2
        return last(self.linear2(self.dropout(self.activation(self.linear1(x)))))  # type: ignore[no-any-return]


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, then a small network for each element; each with a residual connection and a norm."""

    self_attn: MultiheadAttention
    norm1: LayerNorm
    norm2: LayerNorm

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The sequence, with each element changed by those that it attends to."""
        warn_of_mixture(src_key_padding_mask, src_mask)
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src)
        mask = canonical_mask(src_mask, "src_mask", src)
        x = self._residual(src, self.norm1, lambda x: self._sa_block(x, mask, padding, is_causal))
        return self._residual(x, self.norm2, self._ff_block)


class TransformerDecoderLayer(_Layer):
    """Attention of a sequence to itself, then to another one, then a small network for each element."""

    cross = True

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The sequence, with each element changed by those of both sequences that it attends to."""
        x = self._residual(tgt, self.norm1, lambda x: self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
        x = self._residual(
            x, self.norm2, lambda x: self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        )
        return self._residual(x, self.norm3, self._ff_block)

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        attended = self.multihead_attn(
            x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False
        )
        return self.dropout2(attended[0])  # type: ignore[no-any-return]


# ---- helpers ------------------------------------------------------------------------------------------------------------------------


def copies(module: Module, count: int) -> ModuleList:
    """Several layers that begin with the same weights."""
    return ModuleList([deepcopy(module) for _ in range(count)])


def _get_activation_fn(activation: str) -> Activation:
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}; pass a function for any other")
    return F.relu if activation == "relu" else F.gelu


def _kind_of(activation: Any) -> int:
    """PyTorch's numbers for the activations that its fast path knows."""
    from .activation import GELU, ReLU

    if activation is F.relu or activation is relu_op or isinstance(activation, ReLU):
        return 1
    return 2 if activation is F.gelu or isinstance(activation, GELU) else 0


def is_causal_mask(mask: Tensor | None, is_causal: bool | None, x: Tensor, batch_first: bool) -> bool:
    """Whether a mask just keeps elements from looking ahead: as the caller says or, if he does not, as the mask shows."""
    if is_causal is not None or mask is None:
        return is_causal is True
    length = x.shape[0 if x.ndim == 2 or not batch_first else 1]
    return mask.shape == (length, length) and bool((mask == subsequent_mask(length, mask._data.dtype)).all())
