"""A loop over rows that carries a state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..utils._pytree import tree_leaves
from .map import rows, stacked

__all__ = ["scan"]


def scan(combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> tuple[Any, Any]:
    """`carry, y = combine_fn(carry, x)` for each x along `dim`: the last carry, and all y stacked along their first dimension.

    >>> from adjoint._higher_order_ops import scan
    >>> scan(lambda carry, x: (carry + x, carry * x), ad.tensor(0.0), ad.tensor([1.0, 2.0, 3.0]))
    (tensor(6.), tensor([0., 2., 9.]))
    """
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not tree_leaves(init):
        raise RuntimeError("scan() operator requires init leaves.")
    if not tree_leaves(xs):
        return init, []
    steps = rows(xs, dim)
    if not steps:
        raise RuntimeError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    carry, outputs = init, []
    for x in reversed(steps) if reverse else steps:
        carry, y = combine_fn(carry, x)
        outputs.append(y)
    return carry, stacked(outputs[::-1] if reverse else outputs)
