"""Distances, and vectors of length one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor import wrap
from ._batching import behind_batch
from ._registry import COMMON, FUNCTIONS, Array, composite, op
from ._rules import sum_to
from .vector_norm import divided, vector_norm


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


MANY = 25  # rows, from which on distances are computed by a product of matrices


def squares(x: Array) -> Array:
    return np.sum(x * x, axis=-1, keepdims=True)


def distances_rule(g: Array, x1: Array, x2: Array, out: Array, x1_shape: Any, x2_shape: Any, needs: tuple[bool, bool]) -> list[Any]:
    """Each pair pulls along the line between its rows; rows that coincide do not."""
    pull = divided(g, out)
    back = np.swapaxes(pull, -1, -2)
    first = sum_to(np.sum(pull, axis=-1, keepdims=True) * x1 - np.matmul(pull, x2), x1_shape) if needs[0] else None
    return [first, sum_to(np.sum(back, axis=-1, keepdims=True) * x2 - np.matmul(back, x1), x2_shape) if needs[1] else None]


def distances_jvp(x1: Array, x1_t: Any, x2: Array, x2_t: Any, out: Array) -> Array:
    change = 0
    if x1_t is not None:
        change = change + np.sum(x1 * x1_t, axis=-1, keepdims=True) - np.matmul(x1_t, np.swapaxes(x2, -1, -2))
    if x2_t is not None:
        change = change + np.swapaxes(np.sum(x2 * x2_t, axis=-1, keepdims=True), -1, -2) - np.matmul(x1, np.swapaxes(x2_t, -1, -2))
    return divided(change, out)


def distances_of_batches(x1: Any, x2: Any) -> Any:
    return euclidean_distances(*(behind_batch(x, max(x1.ndim, x2.ndim)) for x in (x1, x2)))


@op(method=False, function=False, out=False, wide=True, promote=COMMON, nodes="CdistBackward0", joint=distances_rule, jvp=distances_jvp,
    batch=distances_of_batches)  # fmt: skip
def euclidean_distances(x1: Array, x2: Array) -> Array:
    """`|a - b|` of all pairs of rows, by `a² + b² - 2ab`."""
    products = np.matmul(x1, np.swapaxes(x2, -1, -2))
    return np.sqrt(np.maximum(squares(x1) + np.swapaxes(squares(x2), -1, -2) - 2 * products, 0))


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
    many = x1.shape[-2] > MANY or x2.shape[-2] > MANY
    if p == 2 and (compute_mode == "use_mm_for_euclid_dist" or (many and compute_mode == "use_mm_for_euclid_dist_if_necessary")):
        return euclidean_distances(x1, x2)
    return vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


@composite(method=False)
def pdist(input: Array, p: float = 2.0) -> Array:
    """The distances between all pairs of rows, each pair once."""
    if len(input.shape) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(input.shape)}D")
    first, second = (wrap(place) for place in np.triu_indices(input.shape[0], 1))
    return vector_norm(input.index_select(0, first) - input.index_select(0, second), p, -1)


@composite()
def dist(input: Array, other: Array, p: float = 2) -> Array:
    """The p-norm of the difference."""
    return vector_norm(input - other, p)
