"""Distances, and vectors of length one."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ._batching import behind_batch
from ._operands import refuse
from ._primitives import loops
from ._registry import COMMON, FUNCTIONS, Array, composite, op
from ._rules import call, sum_to
from .join import broadcast_tensors
from .matmul import product
from .vector_norm import divided, linalg_vector_norm, norm_rule, vector_norm


@composite(method=False)
def pairwise_distance(x1: Array, x2: Array, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Array:
    """The distances between corresponding vectors in the last dimension. `eps` keeps the gradient finite where they coincide."""
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


def norms(difference: Array, p: float) -> Array:
    """The p-norms of vectors in the last dimension. For p=0 their elements are counted, and one that is NaN does not count as another."""
    if not difference.shape[-1]:
        return np.sum(difference, axis=-1)
    if p == 0:
        return np.sum(np.where(np.isnan(difference), difference, np.where(difference == 0, difference, np.ones_like(difference))), axis=-1)
    return call(linalg_vector_norm, difference, p, -1, False)


# ---- directions ---------------------------------------------------------------------------------------------------------------------

Kept = list[Any]  # the lengths that a kernel has found, for the backward pass


def lengths(x: Array, eps: float) -> tuple[Array, Array]:
    """The lengths of the vectors in the last dimension, and the same or `eps` if that is larger."""
    length = call(linalg_vector_norm, x, 2, -1, True)
    return length, np.maximum(length, eps)


def unit_rule(g: Array, input: Array, eps: float, kept: Kept) -> Array:
    if kept and g.__class__ is np.ndarray:
        g, x, size = np.ascontiguousarray(g), np.ascontiguousarray(input), input.shape[-1]
        grad = np.empty(x.shape, x.dtype)
        if loops("direction").unit_rows_back.run(grad, g, x, kept[0], eps, size, x.size // size, size):
            return grad
    length, by = lengths(input, eps)
    less = np.where(length >= eps, np.sum(g * input, axis=-1, keepdims=True) / (by * by), 0)  # below, it does not depend on the vector
    return (g - input * less) / by


@op(method=False, function=False, out=False, nodes="DivBackward0", input=unit_rule,
    jvp=lambda input, input_t, eps: unit_rule(input_t, input, eps, []), batch=lambda input, eps: unit_vectors(input, eps, []))  # fmt: skip
def unit_vectors(input: Array, eps: float, kept: Kept) -> Array:
    """The vectors in the last dimension divided by their length (or by `eps`, if that is larger)."""
    if input.__class__ is np.ndarray and input.size:
        x, size = np.ascontiguousarray(input), input.shape[-1]
        out, found = np.empty(x.shape, x.dtype), np.empty(x.size // size, x.dtype)
        if loops("direction").unit_rows.run(out, found, x, eps, size, found.size, size):
            kept.append(found)
            return out
    return input / lengths(input, eps)[1]


def normalize(input: Array, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Array:
    """The vectors along `dim` divided by their length (or by `eps`, if that is larger)."""
    data = input._data
    if p == 2 and out is None and dim.__class__ is int and dim in (-1, len(data.shape) - 1) and data.dtype.char in "fd":
        return unit_vectors(input, float(eps), [])
    return FUNCTIONS["div"](input, vector_norm(input, p, dim, True).clamp(min=eps), out=out)


def cosines_rule(g: Array, x1: Array, x2: Array, out: Array, eps: float, kept: Kept, needs: tuple[bool, bool]) -> list[Array | None]:
    if kept and g.__class__ is np.ndarray:
        x, y, size = np.ascontiguousarray(x1), np.ascontiguousarray(x2), x1.shape[-1]
        grads = [np.empty(x.shape, x.dtype) if need else None for need in needs]
        numbers = np.ascontiguousarray(g), np.ascontiguousarray(out), x, y, kept[0], eps, size, x.size // size, size
        if loops("direction").cosines_back.run(*grads, *numbers):
            return grads
    (length1, by1), (length2, by2) = lengths(x1, eps), lengths(x2, eps)
    g, out = (np.expand_dims(a, -1) for a in (g, out))
    share = g / (by1 * by2)
    return [
        x2 * share - x1 * divided(g * out, by1 * length1) if needs[0] else None,
        x1 * share - x2 * divided(g * out, by2 * length2) if needs[1] else None,
    ]


def cosines_jvp(x1: Array, x1_t: Any, x2: Array, x2_t: Any, out: Array, eps: float) -> Array:
    slopes = cosines_rule(np.ones_like(out), x1, x2, out, eps, [], (x1_t is not None, x2_t is not None))
    return sum(np.sum(slope * t, axis=-1) for slope, t in zip(slopes, (x1_t, x2_t), strict=True) if t is not None)


@op(method=False, function=False, out=False, nodes="SumBackward1", joint=cosines_rule, jvp=cosines_jvp,
    batch=lambda x1, x2, eps: cosines(x1, x2, eps, []))  # fmt: skip
def cosines(x1: Array, x2: Array, eps: float, kept: Kept) -> Array:
    """The cosines of the angles between vectors in the last dimension of two arrays of one shape."""
    if x1.__class__ is x2.__class__ is np.ndarray and x1.size and x1.shape == x2.shape:
        x, y, size = np.ascontiguousarray(x1), np.ascontiguousarray(x2), x1.shape[-1]
        out, rows = np.empty(x.shape[:-1], x.dtype), x.size // size
        both = np.empty(2 * rows, x.dtype)
        if loops("direction").cosines.run(out, both, x, y, eps, size, rows, size):
            kept.append(both)
            return out
    return np.sum((x1 / lengths(x1, eps)[1]) * (x2 / lengths(x2, eps)[1]), axis=-1)


@composite(method=False)
def cosine_similarity(x1: Array, x2: Array, dim: int = 1, eps: float = 1e-8) -> Array:
    """The cosine of the angle between corresponding vectors along `dim`."""
    data, other = x1._data, x2._data
    if data.shape == other.shape and data.dtype == other.dtype and data.dtype.char in "fd" and dim in (-1, len(data.shape) - 1):
        return cosines(x1, x2, float(eps), [])
    common = FUNCTIONS["result_type"](x1, x2)
    if not common.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {common.scalar_name}")
    x1, x2 = (x.to(common) for x in broadcast_tensors(x1, x2))
    sizes = [vector_norm(x, 2, dim, True) for x in (x1, x2)]
    first, second = (size + (size.clamp(min=eps) - size).detach() for size in sizes)  # the slope is that of the length, below `eps` too
    return (x1 / first * (x2 / second)).sum(dim)


# ---- distances of all pairs ---------------------------------------------------------------------------------------------------------

MANY = 25  # rows, from which on distances are computed by a product of matrices
NARROW = 64  # elements of a row, up to which their gradients are computed sooner without


def direct_gradients(g: Array, x1: Array, x2: Array, out: Array, p: float, needs: tuple[bool, bool]) -> list[Any] | None:
    """The gradients by two arrays of rows from those by their distances; None where NumPy has to compute them."""
    if g.__class__ is not np.ndarray:
        return None
    kernels = loops("distance")
    left = kernels.gradient(g, out, x1, x2, p, kernels.LEFT) if needs[0] else None
    right = kernels.gradient(g, out, x2, x1, p, kernels.RIGHT) if needs[1] else None
    return [left, right] if (left is not None, right is not None) == needs else None


def squares(x: Array) -> Array:
    return np.sum(x * x, axis=-1, keepdims=True)


def distances_rule(g: Array, x1: Array, x2: Array, out: Array, x1_shape: Any, x2_shape: Any, needs: tuple[bool, bool]) -> list[Any]:
    """Each pair pulls along the line between its rows; rows that coincide do not."""
    if x1_shape[-1] <= NARROW and (found := direct_gradients(g, x1, x2, out, 2.0, needs)) is not None:
        return found
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
    check=refuse("c", "cdist"), batch=distances_of_batches)  # fmt: skip
def euclidean_distances(x1: Array, x2: Array) -> Array:
    """`|a - b|` of all pairs of rows, by `a² + b² - 2ab`."""
    if x1.__class__ is x2.__class__ is np.ndarray and x1.size and x2.size:
        products = product(x1, np.swapaxes(x2, -1, -2))
        if (found := loops("distance").from_products(products, squares(x1), squares(x2))) is not None:
            return found
    else:
        products = np.matmul(x1, np.swapaxes(x2, -1, -2))
    return np.sqrt(np.maximum(squares(x1) + np.swapaxes(squares(x2), -1, -2) - 2 * products, 0))


def pulls(g: Array, x1: Array, x2: Array, out: Array, p: float, dtype: Any) -> Array:
    """The slopes of the distances of all pairs by the elements of their first row."""
    difference = x1[..., :, None, :] - x2[..., None, :, :]
    return norm_rule(g, difference, out, difference.shape, dtype, p, -1, False)


def crossed_rule(
    g: Array, x1: Array, x2: Array, out: Array, p: float, x1_shape: Any, x2_shape: Any, x1_dtype: Any, needs: tuple[bool, bool]
) -> list[Any]:
    if (found := direct_gradients(g, x1, x2, out, p, needs)) is not None:
        return found
    pull = pulls(g, x1, x2, out, p, x1_dtype)
    first = sum_to(np.sum(pull, axis=-2), x1_shape) if needs[0] else None
    return [first, sum_to(-np.sum(pull, axis=-3), x2_shape) if needs[1] else None]


def crossed_jvp(x1: Array, x1_t: Any, x2: Array, x2_t: Any, out: Array, p: float) -> Array:
    pull = pulls(np.ones_like(out), x1, x2, out, p, out._data.dtype)
    change = sum(part for part in (x1_t if x1_t is None else x1_t[..., :, None, :], None if x2_t is None else -x2_t[..., None, :, :])
                 if part is not None)
    return np.sum(pull * change, axis=-1)


@op(method=False, function=False, out=False, promote=COMMON, nodes="CdistBackward0", joint=crossed_rule, jvp=crossed_jvp,
    check=refuse("c", "cdist"),
    batch=lambda x1, x2, p: distances(*(behind_batch(x, max(x1.ndim, x2.ndim)) for x in (x1, x2)), p))  # fmt: skip
def distances(x1: Array, x2: Array, p: float) -> Array:
    """The p-norms of the differences of all pairs of rows."""
    if x1.__class__ is x2.__class__ is np.ndarray and (found := loops("distance").crossed(x1, x2, p)) is not None:
        return found
    return norms(x1[..., :, None, :] - x2[..., None, :, :], p)


MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


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
    if compute_mode not in MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode; use one of {', '.join(MODES)}")
    if x1.dtype is not x2.dtype:
        raise RuntimeError(f"expected scalar type {x1.dtype.scalar_name} but found {x2.dtype.scalar_name}\n  fix: x2.to({x1.dtype})")
    if len(x1.shape) > 2 < len(x2.shape):
        from ._matrices import check_batches

        check_batches(x1.shape, x2.shape)
    many = x1.shape[-2] > MANY or x2.shape[-2] > MANY
    if p == 2 and (compute_mode == "use_mm_for_euclid_dist" or (many and compute_mode == "use_mm_for_euclid_dist_if_necessary")):
        return euclidean_distances(x1, x2)
    return distances(x1, x2, float(p))


@lru_cache(16)
def numbers_of_pairs(n: int) -> Array:
    """Where the distance of each pair stands; anything on the diagonal."""
    numbers = np.zeros((n, n), np.int64)
    first, second = np.triu_indices(n, 1)
    numbers[first, second] = numbers[second, first] = np.arange(len(first))
    return numbers


def square(pairs: Array, n: int) -> Array:
    """What is given for each pair as a symmetric matrix."""
    return np.where(np.eye(n, dtype=bool), 0, pairs[numbers_of_pairs(n)])


def paired_rule(g: Array, input: Array, out: Array, p: float, input_dtype: Any) -> Array:
    n = input.shape[0]
    if n < 2:
        return input * 0
    kernels = loops("distance")
    if g.__class__ is np.ndarray and (found := kernels.gradient(g, out, input, input, p, kernels.PAIRS)) is not None:
        return found
    return np.sum(pulls(square(g, n), input, input, square(out, n), p, input_dtype), axis=-2)


def paired_jvp(input: Array, input_t: Array, out: Array, p: float) -> Array:
    first, second = np.triu_indices(input.shape[0], 1)
    difference = input[first] - input[second]
    slope = norm_rule(np.ones_like(out), difference, out, difference.shape, out._data.dtype, p, -1, False)
    return np.sum(slope * (input_t[first] - input_t[second]), axis=-1)


def paired_batch(input: Array, p: float) -> Array:
    first, second = np.triu_indices(input.shape[1], 1)
    return norms(input[:, first] - input[:, second], p)


@op(method=False, function=False, out=False, nodes="PdistBackward0", input=paired_rule, jvp=paired_jvp, check=refuse("c", "pdist"),
    batch=paired_batch)  # fmt: skip
def distances_of_pairs(input: Array, p: float) -> Array:
    if input.__class__ is np.ndarray and (found := loops("distance").paired(input, p)) is not None:
        return found
    first, second = np.triu_indices(input.shape[0], 1)
    return norms(input[first] - input[second], p)


@composite(method=False)
def pdist(input: Array, p: float = 2.0) -> Array:
    """The distances between all pairs of rows, each pair once."""
    if len(input.shape) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(input.shape)}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes\n  fix: x.float()")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return distances_of_pairs(input, float(p))


@composite()
def dist(input: Array, other: Array, p: float = 2) -> Array:
    """The p-norm of the difference."""
    input, other = broadcast_tensors(input, other)
    return vector_norm(input - other, p)
