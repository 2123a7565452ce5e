"""PyTorch's `torch.nn.attention.flex_attention`: attention whose scores a function changes, and whose pairs a function allows.

Both functions are written for one pair of positions. They get tensors of indices that broadcast to all pairs, so they are called once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..._creation import zeros_like
from ..._dtype import bool_, int32
from ..._ranges import arange
from ..._tensor import Tensor
from ...ops.masked import where
from ..functional import pad

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Any]
ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Any]
_DEFAULT_SPARSE_BLOCK_SIZE = 128


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Every pair is allowed."""
    return (token_q + token_kv) >= 0


def _pairs(*sizes: int) -> list[Tensor]:
    """The indices of the batch, the head, the query and the key, each along a dimension of its own."""
    return [arange(size).view(*[-1 if place == own else 1 for place in range(4)]) for own, size in enumerate(sizes)]


def create_mask(mod_fn: Any, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """What a `mask_mod` says of all pairs; of a `score_mod`, the scores that it makes of zeros.

    >>> from adjoint.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 2)
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    import inspect

    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    places = _pairs(*shape)
    if len(inspect.signature(mod_fn).parameters) == 5:
        scores = zeros_like(sum(places), dtype=None).float().expand(shape)  # type: ignore[arg-type]
        return mod_fn(scores, *places).expand(shape)  # type: ignore[no-any-return]
    return mod_fn(*places).to(bool_).expand(shape).contiguous()  # type: ignore[no-any-return]


class BlockMask:
    """Which pairs are allowed, by a function, and which blocks of pairs have such pairs. Here the function alone decides."""

    def __init__(
        self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None, BLOCK_SIZE: tuple[int, int] = (128, 128), mask_mod: MaskMod = noop_mask,
    ) -> None:  # fmt: skip
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None, full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE, mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None, compute_q_blocks: bool = True,
    ) -> BlockMask:  # fmt: skip
        """From the blocks themselves: for each row of blocks how many there are, and which."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        lengths = seq_lengths or (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        return cls(lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, size, mask_mod or noop_mask)

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def to_dense(self) -> Tensor:
        """Ones for blocks that have allowed pairs."""
        blocks = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            blocks = blocks | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return blocks.to(int32)

    def allowed(self) -> Tensor:
        """The pairs that are allowed: those of blocks that the function allows, and all of full blocks."""
        batch, heads, queries, keys = self.shape
        mask = create_mask(self.mask_mod, batch, heads, queries, keys) & self._spread(_dense(self.kv_num_blocks, self.kv_indices))
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            mask = mask | self._spread(_dense(self.full_kv_num_blocks, self.full_kv_indices))
        return mask

    def _spread(self, blocks: Tensor) -> Tensor:
        rows = blocks.repeat_interleave(self.BLOCK_SIZE[0], -2).repeat_interleave(self.BLOCK_SIZE[1], -1)
        return rows[..., : self.seq_lengths[0], : self.seq_lengths[1]]

    def numel(self) -> int:
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """The percentage of pairs in blocks that are left out."""
        return float(100 * (1 - int(self.to_dense().sum()) * math.prod(self.BLOCK_SIZE) / self.numel()))

    def to(self, device: Any) -> BlockMask:
        return self

    def __getitem__(self, index: Any) -> BlockMask:
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in index)
        full = self.full_kv_num_blocks is not None and self.full_kv_indices is not None
        return BlockMask(
            self.seq_lengths, self.kv_num_blocks[index], self.kv_indices[index],
            self.full_kv_num_blocks[index] if full else None,  # type: ignore[index]
            self.full_kv_indices[index] if full else None,  # type: ignore[index]
            self.BLOCK_SIZE, self.mask_mod,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def _dense(counts: Tensor, indices: Tensor) -> Tensor:
    """Which blocks are named: the first `counts` of `indices`, row by row."""
    named = arange(indices.shape[-1]) < counts.unsqueeze(-1)
    return zeros_like(indices).scatter(-1, indices.long(), named.to(indices.dtype)).to(bool_)


def create_block_mask(
    mask_mod: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE, _compile: bool = False, separate_full_blocks: bool = True,
    **options: Any,
) -> BlockMask:  # fmt: skip
    """A `BlockMask` for a function, and sequences of some length."""
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN)
    rows, columns = -(-Q_LEN // size[0]), -(-KV_LEN // size[1])
    padded = pad(mask.to(int32), (0, columns * size[1] - KV_LEN, 0, rows * size[0] - Q_LEN))
    counts = padded.view(*mask.shape[:2], rows, size[0], columns, size[1]).sum((3, 5))
    full = (counts == math.prod(size)) if separate_full_blocks else zeros_like(counts, dtype=bool_)
    named, order = _ordered((counts > 0) & ~full)
    full_named, full_order = _ordered(full) if separate_full_blocks else (None, None)
    return BlockMask((Q_LEN, KV_LEN), named, order, full_named, full_order, size, mask_mod)


def _ordered(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of each row are meant, and the numbers of all, those first."""
    return blocks.sum(-1, dtype=int32), blocks.to(int32).argsort(-1, descending=True, stable=True).to(int32)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The pairs that all functions allow."""

    def both(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Any:
        result = noop_mask(b, h, q, kv)
        for mod in mask_mods:
            result = result & mod(b, h, q, kv)
        return result

    return both


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The pairs that one of the functions allows."""

    def either(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Any:
        result = ~noop_mask(b, h, q, kv)
        for mod in mask_mods:
            result = result | mod(b, h, q, kv)
        return result

    return either


class AuxRequest(NamedTuple):
    """What is wanted besides the result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What there is besides the result."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: ScoreMod | None = None, block_mask: BlockMask | None = None,
    scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False, kernel_options: Any = None, *,
    return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """Attention whose scores `score_mod(score, batch, head, query, key)` changes, between the pairs that `block_mask` allows.

    >>> import adjoint as ad
    >>> from adjoint.nn.attention.flex_attention import flex_attention
    >>> x = ad.ones(1, 1, 3, 2)
    >>> flex_attention(x, x, x, score_mod=lambda score, b, h, q, kv: score - (q - kv).abs()).shape
    torch.Size([1, 1, 3, 2])
    """
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise ValueError("NYI: Currently query, key and value must be 4D tensors: (batch, heads, positions, numbers)")
    heads, shared = query.shape[1], key.shape[1]
    if heads != shared and not enable_gqa:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={shared}. "
            "Try setting enable_gqa=True for GQA."
        )
    if heads % shared:
        raise ValueError(f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={shared}.")
    if return_aux is not None and return_aux.max_scores:
        raise NotImplementedError("Returning max scores is not supported on CPU/MPS.")
    lengths = query.shape[2], key.shape[2]
    if block_mask is not None and block_mask.seq_lengths != lengths:
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={lengths[0]} and kv_len={lengths[1]}: "
            "make one for these lengths, by create_block_mask"
        )
    if heads != shared:
        key, value = (tensor.repeat_interleave(heads // shared, 1) for tensor in (key, value))
    scores = (query @ key.transpose(-2, -1)) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if score_mod is not None:
        scores = score_mod(scores, *_pairs(*scores.shape)).to(scores.dtype)
    if block_mask is not None:
        scores = where(block_mask.allowed(), scores, -math.inf)
    largest = scores.detach().amax(-1, keepdim=True).nan_to_num(neginf=0.0)  # a row without allowed pairs is zero, not NaN
    weights = (scores - largest).exp()
    total = weights.sum(-1, keepdim=True)
    out = (weights @ value) / total.clamp_min(1e-38)
    lse = (total.log() + largest).squeeze(-1)
    if return_aux is not None:
        return out, AuxOutput(lse if return_aux.lse else None)
    return (out, lse) if return_lse else out
