"""PyTorch's `torch.nn.attention.flex_attention`: attention whose scores a function changes, and whose pairs a function allows.

Both functions are written for one pair of positions. They get tensors of indices that broadcast to all pairs, so they are called once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from itertools import product
from typing import Any, NamedTuple, Self

from ..._creation import zeros, zeros_like
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
    """What a `mask_mod` says of all pairs; of a `score_mod`, which scores it leaves above minus infinity.

    >>> from adjoint.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 2)
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    places = _pairs(*shape)
    if _parameters(mod_fn) == 5:
        return (mod_fn(zeros(shape), *places) > -math.inf).expand(shape)  # type: ignore[no-any-return]
    return mod_fn(*places).to(bool_).expand(shape).contiguous()  # type: ignore[no-any-return]


def _parameters(mod_fn: Any) -> int:
    """How many there are: four of a `mask_mod`, five of a `score_mod`."""
    import inspect

    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [value for value in inspect.signature(mod_fn).parameters.values() if value.kind in kinds]
    count = sum(parameter.default is inspect.Parameter.empty for parameter in parameters)
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}: mask_mod(b, h, q, kv) or score_mod(score, b, h, q, kv)")
    return count


class BlockMask:
    """Which pairs are allowed: those of some blocks that a function allows (`kv_indices`), and all of others (`full_kv_indices`).

    For each row of blocks there is how many are meant, and the numbers of all, those first; for each column too (`q_indices`).
    """

    def __init__(
        self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None, q_num_blocks: Tensor | None, q_indices: Tensor | None, full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None, BLOCK_SIZE: tuple[int, int] = (128, 128), mask_mod: MaskMod = noop_mask,
    ) -> None:  # fmt: skip
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None, full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE, mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None, compute_q_blocks: bool = True,
    ) -> Self:  # fmt: skip
        """From the blocks of each row: how many there are, and which."""
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        lengths = seq_lengths or (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        rows = kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices
        result = cls(lengths, *rows, None, None, None, None, size, mask_mod or noop_mask)
        if compute_q_blocks:
            result.q_num_blocks, result.q_indices = _ordered(_dense(kv_num_blocks, kv_indices).mT)
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                result.full_q_num_blocks, result.full_q_indices = _ordered(_dense(full_kv_num_blocks, full_kv_indices).mT)
        return result

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """The arguments that make it. The four before the size of blocks are PyTorch's orders of writes on GPUs: none."""
        tensors = [getattr(self, name) for name in _TENSORS]
        pairs: list[tuple[Any, ...]] = [self.seq_lengths, self.BLOCK_SIZE] if flatten else [(self.seq_lengths,), (self.BLOCK_SIZE,)]
        return (*pairs[0], *tensors, None, None, None, None, *pairs[1], self.mask_mod)

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
        moved = copy(self)
        for name in _TENSORS:
            tensor = getattr(self, name)
            setattr(moved, name, tensor if tensor is None else tensor.to(device))
        return moved

    def __getitem__(self, index: Any) -> Self:
        """Some batches, heads and rows of blocks. Their pairs have other indices, so the function has to be set anew."""
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in index)
        return self._part(index, index, self.seq_lengths, _of_sliced)

    def _adjust(self, new_q_len: int, new_kv_len: int) -> Self:
        """The mask of shorter sequences."""
        rows, columns = -(-new_q_len // self.BLOCK_SIZE[0]), -(-new_kv_len // self.BLOCK_SIZE[1])
        first = slice(None), slice(None), slice(rows)
        return self._part(first, (*first, slice(columns)), (new_q_len, new_kv_len), self.mask_mod)

    def _part(self, counted: Any, named: Any, lengths: tuple[int, int], mask_mod: MaskMod) -> Self:
        full = self.full_kv_num_blocks is not None and self.full_kv_indices is not None
        return self.from_kv_blocks(
            self.kv_num_blocks[counted], self.kv_indices[named],
            self.full_kv_num_blocks[counted] if full else None,  # type: ignore[index]
            self.full_kv_indices[named] if full else None,  # type: ignore[index]
            self.BLOCK_SIZE, mask_mod, lengths, compute_q_blocks=self.q_indices is not None,
        )  # fmt: skip

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture of each of the first `limit` masks: where blocks are left out it is empty. A cell is grey if only some of its
        blocks are, since there are at most so many cells as `grid_size` says (-1: one for each block)."""
        dense = self.to_dense()
        cells = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        steps = [1 if cell == -1 else -(-size // cell) for size, cell in zip(dense.shape[-2:], cells, strict=True)]
        pictures = []
        places = list(product(*map(range, dense.shape[:-2])))
        for place in places[:limit]:
            rows = [[cell.float().mean().item() for cell in row.split(steps[1], 1)] for row in dense[place].split(steps[0])]
            lines = ("".join("██" if share == 1 else "░░" if share else "  " for share in row) for row in rows)
            pictures.append("\n".join([str(place), *lines, ""]))
        return "\n".join([*pictures, _MORE] if len(places) > limit else pictures)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self) -> str:
        tensors = [(name, getattr(self, name)) for name in _TENSORS]
        said = [(name, tensor if tensor is None else tensor.shape) for name, tensor in tensors]
        said += [("BLOCK_SIZE", self.BLOCK_SIZE), ("shape", self.shape), ("sparsity", f"{self.sparsity():.2f}%")]
        said += [("mask_mod", getattr(self.mask_mod, "__name__", self.mask_mod))]
        return "BlockMask(\n" + ",\n".join(f"    {name}={value}" for name, value in said) + "\n)"


_TENSORS = [
    "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices", "full_q_num_blocks",
    "full_q_indices",
]  # fmt: skip
_MORE = (
    "...\nTo print out more, set BlockMask.to_string(limit=N)\n"
    "You can also index (BlockMask[batch, head]) to choose a specific batch or head"
)


def _of_sliced(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Any:
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask: the pairs of the part have other indices than those of the whole\n"
        "  fix: part = whole[:, :, row]; part.mask_mod = lambda b, h, q, kv: whole.mask_mod(b, h, q + row * whole.BLOCK_SIZE[0], kv)"
    )


def _dense(counts: Tensor, indices: Tensor) -> Tensor:
    """Which blocks are named: the first `counts` of `indices`, row by row."""
    named = arange(indices.shape[-1]) < counts.unsqueeze(-1)
    return zeros_like(indices).scatter(-1, indices.long(), named.to(indices.dtype)).to(bool_)


def create_block_mask(
    mask_mod: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE, _compile: bool = False, separate_full_blocks: bool = True,
) -> BlockMask:  # fmt: skip
    """A `BlockMask` for a function, and sequences of some length."""
    if _parameters(mask_mod) != 4:
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}; write mask_mod(b, h, q, kv)")
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN)
    rows, columns = -(-Q_LEN // size[0]), -(-KV_LEN // size[1])
    padded = pad(mask.to(int32), (0, columns * size[1] - KV_LEN, 0, rows * size[0] - Q_LEN))
    counts = padded.view(*mask.shape[:2], rows, size[0], columns, size[1]).sum((3, 5))
    full = (counts == math.prod(size)) if separate_full_blocks else zeros_like(counts, dtype=bool_)
    some, others = _ordered((counts > 0) & ~full), _ordered(full) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(some[0], some[1], others[0], others[1], size, mask_mod, (Q_LEN, KV_LEN))


def _ordered(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of each row are meant, and the numbers of all, those first."""
    return blocks.sum(-1, dtype=int32), blocks.to(int32).argsort(-1, descending=True, stable=True).to(int32)


def _check_callable(mask_mods: tuple[MaskMod, ...]) -> None:
    if not all(map(callable, mask_mods)):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The pairs that all functions allow."""
    _check_callable(mask_mods)

    def both(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Any:
        result = noop_mask(b, h, q, kv)
        for mod in mask_mods:
            result = result & mod(b, h, q, kv)
        return result

    return both


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The pairs that one of the functions allows."""
    _check_callable(mask_mods)

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
    """Attention whose scores `score_mod(score, batch, head, query, key)` changes, between the pairs that `block_mask` allows. There is no
    kernel of Triton's that `kernel_options` would be for.

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
