"""Attention: averages of values, weighted by how well their keys fit a query. One op computes all of it; a second one, the weights alone,
for those who want to do something with them before they are used."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._serving import serves
from ._batching import Composed, behind_batch, expanded
from ._forward import check_shapes
from ._precision import wide
from ._primitives import primitive
from ._registry import Array, ConstantArray, op
from ._rules import call, cast, sum_to
from .matmul import product, transposed
from .softmax import softmax_along, softmax_gradient

# ---- the weights --------------------------------------------------------------------------------------------------------------------


def attention_scores(g: Array, out: Array, scores_shape: tuple[int, ...], scale: float) -> Array:
    return sum_to(softmax_gradient(g, out, -1, scale), scores_shape)


def attention_mask(g: Array, out: Array, mask_shape: tuple[int, ...]) -> Array:
    return sum_to(softmax_gradient(g, out, -1), mask_shape)


def weights_jvp(scores_t: Array, mask_t: Array, out: Array, scale: float) -> Array:
    tangents = [t for t in (None if scores_t is None else scores_t * scale, mask_t) if t is not None]
    return softmax_gradient(sum(tangents[1:], tangents[0]), out, -1)


def weights_batch(scores: Any, mask: Any, scale: float, causal: bool, batched: list[bool], examples: int) -> Any:
    scores = expanded(scores, examples, batched[0])
    return attention_weights(scores, behind_batch(mask, scores.ndim) if batched[1] else mask, scale, causal)


@op(wide=True, method=False, function=False, out=False, scores=attention_scores, mask=attention_mask, jvp=weights_jvp,
    batch=weights_batch)  # fmt: skip
def attention_weights(scores: Array, mask: Array | None, scale: float, causal: bool) -> Array:
    """`softmax(scores * scale + mask, -1)`, where a boolean mask says what is allowed, and with `causal` no query sees a later key. A query
    that may see nothing has weights of zero."""
    return weighted(scores, mask, scale, int(causal))


@primitive("softmax.attention")
def weighted(scores: Array, mask: Array | None, scale: float, causal: int) -> Array:
    """The same, where the first query sees so many keys as `causal` says, and each later one one more; with 0 all see all."""
    if mask is not None:
        check_shapes((scores, mask))
    x = wide(scores) * scale
    if causal:
        mask = np.tri(scores.shape[-2], scores.shape[-1], causal - 1, dtype=bool)
    if not scores.size:
        return np.zeros_like(scores)
    if mask is None:
        return cast(softmax_along(x, -1), scores.dtype)
    forbidden = np.logical_not(mask) if mask.dtype == bool else mask == -np.inf
    blocked = np.all(forbidden, axis=-1, keepdims=True)
    x = np.where(forbidden, -np.inf, x) if mask.dtype == bool else x + wide(mask)
    return cast(np.where(blocked, 0, softmax_along(np.where(blocked, 0, x), -1)), scores.dtype)


# ---- all of it ----------------------------------------------------------------------------------------------------------------------


QUERIES, KEYS = 24, 160  # from which on compiled code does all of it sooner, without keeping the weights

PIECE = 1 << 19  # weights that are computed at a time: they are used again while they are in the cache
ROWS = 256  # queries that are computed at a time, if that spares them keys that they do not see

Index = tuple[slice, ...]  # a part of the weights


def pieces(shape: tuple[int, ...], causal: bool) -> list[Index]:
    """Parts of the weights of a shape, one after the other; where queries do not see them, without the last keys. None if there are few
    enough to compute all at once."""
    *batch, queries, keys = shape
    if math.prod(shape) <= PIECE and not (causal and queries > ROWS):
        return []
    rows = min(queries, ROWS) if causal or queries * keys > PIECE else queries
    parts = []
    for some in groups(batch, rows * keys):
        for first in range(0, queries, rows):
            last = min(first + rows, queries)
            parts.append((*some, slice(first, last), slice(min(last, keys) if causal else keys)))
    return parts


def groups(batch: list[int], each: int) -> list[Index]:
    """Parts of a batch of matrices with so many numbers."""
    if not batch:
        return [()]
    inner = each * math.prod(batch[1:])
    if inner <= PIECE:
        step = PIECE // inner
        return [(slice(first, first + step),) + (slice(None),) * len(batch[1:]) for first in range(0, batch[0], step)]
    return [(slice(first, first + 1), *rest) for first in range(batch[0]) for rest in groups(batch[1:], each)]


def masked_part(mask: Array | None, part: Index) -> Array | None:
    """The part of a mask that belongs to a part of the weights."""
    if mask is None:
        return None
    own = part[len(part) - mask.ndim :]
    return mask[tuple(slice(None) if size == 1 else some for size, some in zip(mask.shape, own, strict=True))]


def weights_of(part: Index, query: Array, key: Array, mask: Array | None, scale: float, causal: bool) -> Array:
    *batch, rows, seen = part
    scores = product(query[(*batch, rows)], transposed(key[(*batch, seen)]))
    return weighted(scores, masked_part(mask, part), scale, 1 + rows.start if causal else 0)


def attention_grads(
    g: Array, query: Array, key: Array, value: Array, out: Array, mask: Array | None, scale: float, causal: bool, kept: list[Any],
    needs: tuple[bool, ...],
) -> tuple[Array | None, ...]:  # fmt: skip
    if g.__class__ is not np.ndarray:
        weights = call(attention_weights, product(query, transposed(key)), mask, scale, causal)
        return grads_of(weights, g, query, key, value, scale, needs)
    if kept[0].__class__ is not np.ndarray:
        from ._attend import attended_back

        if (found := attended_back(kept[0], g, query, key, value, out, mask, scale, causal)) is not None:
            return *(grad if needed else None for grad, needed in zip(found, needs, strict=False)), None
        kept = []
        attention_by_pieces(query, key, value, mask, scale, causal, kept)
    parts = pieces((*query.shape[:-1], key.shape[-2]), causal)
    if not parts:
        return grads_of(kept[0], g, query, key, value, scale, needs)
    totals = [np.zeros_like(x) if needed else None for x, needed in zip((query, key, value), needs, strict=False)]
    for (*batch, rows, seen), weights in zip(parts, kept, strict=True):
        some, others = (*batch, rows), (*batch, seen)
        grads = grads_of(weights, g[some], query[some], key[others], value[others], scale, needs)
        for total, grad, where in zip(totals, grads, (some, others, others), strict=False):
            if total is not None:
                total[where] += grad
    return *totals, None


def grads_of(
    weights: Array, g: Array, query: Array, key: Array, value: Array, scale: float, needs: tuple[bool, ...]
) -> tuple[Array | None, ...]:
    of_value = product(transposed(weights), g) if needs[2] else None
    if not needs[0] and not needs[1]:
        return None, None, of_value, None
    scores = softmax_gradient(product(g, transposed(value)), weights, -1, scale)
    return product(scores, key) if needs[0] else None, product(transposed(scores), query) if needs[1] else None, of_value, None


def attention_jvp(
    query: Array, query_t: Array, key: Array, key_t: Array, value: Array, value_t: Array, mask: Array, scale: float, causal: bool
) -> Array:
    weights = attention_weights(product(query, transposed(key)), mask, scale, causal)
    parts = []
    if query_t is not None:
        parts.append(product(softmax_gradient(product(query_t, transposed(key)) * scale, weights, -1), value))
    if key_t is not None:
        parts.append(product(softmax_gradient(product(query, transposed(key_t)) * scale, weights, -1), value))
    if value_t is not None:
        parts.append(product(weights, value_t))
    return sum(parts[1:], parts[0])


def by_parts(query: Any, key: Any, value: Any, mask: Any, scale: float, causal: bool) -> Any:
    return attention_weights(query @ key.mT, mask, scale, causal) @ value


@op(method=False, function=False, out=False, joint=attention_grads, jvp=attention_jvp, batch=Composed(by_parts),
    nodes="ScaledDotProductFlashAttentionForCpuBackward0")  # fmt: skip
def attention(
    query: Array, key: Array, value: Array, mask: ConstantArray | None, scale: float, causal: bool, kept: list[Any] | None = None
) -> Array:
    """`softmax(query @ key.T * scale + mask, -1) @ value` for batches of the same size. What the backward pass needs of the weights is left
    in `kept`, if there is one."""
    shape = (*query.shape[:-1], key.shape[-2])
    if shape[-2] >= QUERIES and shape[-1] >= KEYS and serves(query, key, value):
        from ._attend import attended

        if (found := attended(query, key, value, mask, scale, causal, kept)) is not None:
            return found
    return attention_by_pieces(query, key, value, mask, scale, causal, kept)


def attention_by_pieces(
    query: Array, key: Array, value: Array, mask: Array | None, scale: float, causal: bool, kept: list[Any] | None
) -> Array:
    """The same in a few pieces, whose weights are kept."""
    shape = (*query.shape[:-1], key.shape[-2])
    parts = pieces(shape, causal)
    if not parts or query.__class__ is not np.ndarray:
        weights = weighted(product(query, transposed(key)), mask, scale, int(causal))
        if kept is not None:
            kept.append(weights)
        return product(weights, value)
    out = np.empty((*shape[:-1], value.shape[-1]), query.dtype)
    for part in parts:
        weights = weights_of(part, query, key, mask, scale, causal)
        if kept is not None:
            kept.append(weights)
        *batch, rows, seen = part
        out[(*batch, rows)] = product(weights, value[(*batch, seen)])
    return out
