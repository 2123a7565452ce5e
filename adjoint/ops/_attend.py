"""Attention by compiled code that keeps no weights (`_kernels/attend.py`, `attend_back.py`): how the work is cut into pieces."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._kernels import attend, attend_back, gemm
from .._kernels.sharing import rooms
from .._serving import KINDS
from ._registry import Array

SCORES = 3 << 14  # of a block of queries: they are used again while they are in the second cache
LEAST, MOST = 24, 96  # queries of a block, if there are as many
ROOM = 1 << 24  # numbers for what is arranged
WORK = 1 << 16  # elements of a piece of work, for it to be handed to a thread by itself

PARTS = 8  # pieces into which the way back is cut, if it has as many keys
BACK_QUERIES, BACK_KEYS = 96, 256  # that it takes at a time


class Levels(NamedTuple):
    """What is kept of the weights: the largest score of each row, and one divided by the sum of its powers."""

    numbers: Array


@lru_cache(maxsize=256)
def plan(queries: int, keys: int, width: int, breadth: int, kind: str) -> tuple[int, ...]:
    """The numbers of room for a matrix, where values begin in it, the queries of a block, blocks, keys that are summed at a time, and how
    far rows of scores are apart."""
    wide, tall = gemm.width(kind), gemm.most_rows(gemm.VECTORS)
    height = min(MOST, max(LEAST, SCORES // keys // tall * tall))
    blocks = -(-queries // height)
    values = -(-keys // wide) * wide * width
    step = values + -(-breadth // wide) * wide * keys
    return step, values, -(-queries // blocks), blocks, -(-keys // -(-keys // gemm.DEPTH)), (-(-keys // wide) + 1) * wide


def whole(x: Array, lanes: int) -> Array:
    """With rows of whole vectors, which is how kernels write: zeros after the last column change no product."""
    missing = -x.shape[-1] % lanes
    return np.concatenate((x, np.zeros((*x.shape[:-1], missing), x.dtype)), -1) if missing else x


def first_columns(x: Array, count: int) -> Array:
    return x if x.shape[-1] == count else np.ascontiguousarray(x[..., :count])


def steps(x: Array) -> tuple[int, int, int, int]:
    """How far apart matrices and their elements are, if there are up to two dimensions of batches."""
    outer, inner = (0, 0, *x.strides[:-2])[-2:]
    return outer, inner, x.strides[-2] // x.itemsize, x.strides[-1] // x.itemsize


def rows_of_mask(mask: Array | None, shape: tuple[int, ...]) -> tuple[int, Array | None, Array | None]:
    """How many rows a mask has, what is allowed and what is added."""
    if mask is None:
        return 1, None, None
    while mask.ndim > 2 and mask.shape[0] == 1:
        mask = mask[0]
    mask = np.ascontiguousarray(np.broadcast_to(mask, shape[len(shape) - mask.ndim :]))
    return mask.size // shape[-1], *((mask, None) if mask.dtype == bool else (None, mask))


def attended(
    query: Array, key: Array, value: Array, mask: Array | None, scale: float, causal: bool, kept: list[Any] | None = None
) -> Array | None:
    """`softmax(query @ key.T * scale + mask, -1) @ value`; None if these are not such as compiled code takes. What `attended_back` needs is
    left in `kept`, if there is one."""
    if query.ndim > 4 or not all(x.flags.aligned for x in (query, key, value)):
        return None
    kind, columns = KINDS[query.dtype.char], value.shape[-1]
    value = whole(value, gemm.lanes(kind))
    *batch, queries, width = query.shape
    keys, breadth = value.shape[-2:]
    count = math.prod(batch)
    step, values, height, blocks, deep, row = plan(queries, keys, width, breadth, kind)
    if step * count > ROOM:
        return None
    masks, allowed, bias = rows_of_mask(mask, (*batch, queries, keys))
    out, room, levels = (np.empty(size, query.dtype) for size in ((*batch, queries, breadth), step * count, 2 * count * queries))
    inner = batch[-1] if batch else 1
    if not attend.function("arrange_keys")(
        room, key, value, *steps(key), *steps(value), inner, keys, width, breadth, step, values, 2 * count, keys * width
    ):
        return None
    done = attend.function("attend")(
        out, levels, query, room, *rooms.take(height * row * query.itemsize), *steps(query), allowed, bias, scale, attend.softmax(kind),
        int(causal), masks, count * queries, inner, queries, keys, width, breadth, step, values, height, blocks, deep, row, count * blocks,
        height * keys * (width + breadth) >> 4,
    )  # fmt: skip
    if not done:
        return None
    if kept is not None:
        kept.append(Levels(levels))
    return first_columns(out, columns)


def attended_back(
    levels: Levels, g: Array, query: Array, key: Array, value: Array, out: Array, mask: Array | None, scale: float, causal: bool
) -> tuple[Array, Array, Array] | None:
    """The gradients of query, key and value, after `attended` took them; None if they are not such as compiled code takes."""
    kind = KINDS[query.dtype.char]
    sizes = query.shape[-1], key.shape[-1], value.shape[-1]
    query, key, value, out, g = given = [np.ascontiguousarray(whole(x, gemm.lanes(kind))) for x in (query, key, value, out, g)]
    *batch, queries, width = query.shape
    keys, breadth = value.shape[-2:]
    count, blocks = math.prod(batch), -(-keys // BACK_KEYS)
    parts, broad = min(-(-PARTS // count), blocks), -(-keys // blocks)
    height, row = min(BACK_QUERIES, queries), (-(-broad // gemm.width(kind)) + 1) * gemm.width(kind)
    masks, allowed, bias = rows_of_mask(mask, (*batch, queries, keys))
    grads = np.zeros((parts, *query.shape), query.dtype), np.zeros_like(key), np.zeros_like(value)
    room = (2 * height + width + breadth) * row * query.itemsize
    done = attend_back.function()(
        *grads, levels.numbers, *given, *rooms.take(room), allowed, bias, scale, attend_back.slopes(kind), int(causal), masks,
        count * queries, count, queries, keys, width, breadth, parts, height, broad, row, count * parts, WORK,
    )  # fmt: skip
    if not done:
        return None
    of_query = np.add.reduce(grads[0], 0) if parts > 1 else grads[0][0]
    return first_columns(of_query, sizes[0]), first_columns(grads[1], sizes[1]), first_columns(grads[2], sizes[2])
