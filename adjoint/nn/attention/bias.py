"""Causal masks that know how they were made."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any, Self

import numpy as np

from ..._site import warn
from ..._tensor import Tensor, disabled_torch_function, wrap

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """Which corner the diagonal of a mask ends in, if there are not as many queries as keys."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A mask for `scaled_dot_product_attention`: each query sees the keys up to its own place.

    >>> import adjoint as ad
    >>> ad.nn.attention.bias.causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """

    __torch_function__ = disabled_torch_function  # type: ignore[assignment]
    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Self:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warn("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!")
        shift = seq_len_kv - seq_len_q if variant == CausalVariant.LOWER_RIGHT else 0
        mask: Any = object.__new__(cls)
        mask._data = np.tri(seq_len_q, seq_len_kv, shift, dtype=bool)
        mask._vc = mask._fn = None
        mask.variant, mask.seq_len_q, mask.seq_len_kv = variant, seq_len_q, seq_len_kv
        return mask  # type: ignore[no-any-return]

    def _materialize(self, device: Any = None) -> Tensor:
        return wrap(self._data.copy())

    def __repr__(self) -> str:
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """A mask whose diagonal begins in the upper left corner: the first query sees the first key."""
    return _made(CausalVariant.UPPER_LEFT, "causal_upper_left", size)


def causal_lower_right(*size: int) -> CausalBias:
    """A mask whose diagonal ends in the lower right corner: the last query sees the last key."""
    return _made(CausalVariant.LOWER_RIGHT, "causal_lower_right", size)


def _made(variant: CausalVariant, name: str, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return CausalBias(variant, *size)
