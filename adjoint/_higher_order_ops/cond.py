"""One function or the other, by a condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._tensor import Tensor
from ..func._batched import Batched
from ..ops._registry import FUNCTIONS
from ..utils._pytree import tree_map

__all__ = ["cond"]


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()) -> Any:
    """`true_fn(*operands)` if `pred` holds, otherwise `false_fn(*operands)`. Inside of `vmap` both run, and each example has its own.

    >>> from adjoint._higher_order_ops import cond
    >>> x = ad.tensor([1.0, 2.0])
    >>> cond(x.sum() > 0, ad.sqrt, ad.neg, (x,))
    tensor([1.0000, 1.4142])
    """
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}; write pred.all() or pred.any()")
    if isinstance(getattr(pred, "_data", None), Batched):
        where = FUNCTIONS["where"]
        return tree_map(lambda yes, no: where(pred, yes, no), true_fn(*operands), false_fn(*operands))
    return (true_fn if pred else false_fn)(*operands)
