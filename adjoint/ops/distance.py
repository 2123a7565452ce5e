"""Distances, and vectors of length one."""

from __future__ import annotations

from typing import Any

from ._registry import FUNCTIONS, Array, composite
from .vector_norm import vector_norm


@composite(method=False)
def pairwise_distance(x1: Array, x2: Array, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Array:
    """The distances between corresponding vectors in the last dimension. `eps` keeps the gradient finite where they coincide."""
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


@composite(method=False)
def cosine_similarity(x1: Array, x2: Array, dim: int = 1, eps: float = 1e-8) -> Array:
    """The cosine of the angle between corresponding vectors along `dim`."""
    x1, x2 = FUNCTIONS["broadcast_tensors"](x1, x2)
    for x in (x1, x2):
        if x.is_complex():
            raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {x.dtype.scalar_name}")
    lengths = [vector_norm(x, 2, dim, True).clamp(min=eps) for x in (x1, x2)]
    return (x1 / lengths[0] * (x2 / lengths[1])).sum(dim)


def normalize(input: Array, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Array:
    """The vectors along `dim` divided by their length (or by `eps`, if that is larger)."""
    return FUNCTIONS["div"](input, vector_norm(input, p, dim, True).clamp(min=eps), out=out)


@composite(method=False)
def cdist(
    x1: Array, x2: Array, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Array:
    """The distance of each row of `x1` from each row of `x2`."""
    for name, x in (("x1", x1), ("x2", x2)):
        if len(x.shape) < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name.upper()} got: {len(x.shape)}D")
        if not x.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name.upper()} got: {x.dtype.scalar_name}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    return vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


@composite(method=False)
def pdist(input: Array, p: float = 2.0) -> Array:
    """The distances between all pairs of rows, each pair once."""
    if len(input.shape) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(input.shape)}D")
    rows = [(i, j) for i in range(input.shape[0]) for j in range(i + 1, input.shape[0])]
    first, second = [i for i, _ in rows], [j for _, j in rows]
    return vector_norm(input[first] - input[second], p, -1)


@composite()
def dist(input: Array, other: Array, p: float = 2) -> Array:
    """The p-norm of the difference."""
    return vector_norm(input - other, p)
