"""All partial results of an associative function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .map import rows, stacked

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """x0, f(x0, x1), f(f(x0, x1), x2), ... along a dimension, for an associative f.

    Both modes compute the same: "pointwise" promises that f does not mix elements.

    >>> from adjoint._higher_order_ops import associative_scan
    >>> associative_scan(ad.maximum, ad.tensor([1.0, 3.0, 2.0, 5.0]), dim=0, combine_mode="generic")
    tensor([1., 3., 3., 5.])
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    steps = rows(xs, dim)
    if len(steps) < 2:
        return xs
    results: list[Any] = []
    for x in reversed(steps) if reverse else steps:
        results.append(combine_fn(results[-1], x) if results else x)
    return stacked(results[::-1] if reverse else results, dim)
