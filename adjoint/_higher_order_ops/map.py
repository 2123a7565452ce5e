"""A function of one row after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops._registry import FUNCTIONS
from ..utils._pytree import tree_leaves, tree_map

__all__ = ["map"]


def rows(xs: Any, dim: int = 0) -> list[Any]:
    """A tree of tensors as a list of trees, one for each place along a dimension."""
    leaves = tree_leaves(xs)
    lengths = {leaf.shape[dim] for leaf in leaves}
    if len(lengths) > 1:
        raise RuntimeError(f"the tensors must have the same length along dimension {dim}, but these differ: {sorted(lengths)}")
    return [tree_map(lambda leaf, i=i: leaf.select(dim, i), xs) for i in range(max(lengths, default=0))]


def stacked(results: list[Any], dim: int = 0) -> Any:
    """A list of equal trees as one tree of tensors: the inverse of `rows`."""
    return tree_map(lambda *leaves: None if leaves[0] is None else FUNCTIONS["stack"](leaves, dim), *results)


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """`f(x, *args)` for each x along the first dimension of the tensors in `xs`, stacked.

    >>> from adjoint._higher_order_ops import map
    >>> map(lambda x, y: x * y, ad.tensor([[1.0, 2.0], [3.0, 4.0]]), ad.tensor([1.0, 10.0]))
    tensor([[ 1., 20.],
            [ 3., 40.]])
    """
    return stacked([f(x, *args) for x in rows(xs)])
