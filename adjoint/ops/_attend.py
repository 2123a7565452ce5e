"""Attention by compiled code (`_kernels/attend.py`), where nobody asks for the weights later: how the work is cut into pieces."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from .._kernels import attend, gemm
from .._kernels.sharing import rooms
from ._registry import Array
from ._warm import KINDS

SCORES = 3 << 14  # of a block of queries: they are used again while they are in the second cache
LEAST, MOST = 24, 96  # queries of a block, if there are as many
ROOM = 1 << 24  # numbers for what is arranged
WORK = 1 << 16  # elements of a piece of work, for it to be handed to a thread by itself


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


def steps(x: Array) -> tuple[int, int, int, int]:
    """How far apart matrices and their elements are, if there are up to two dimensions of batches."""
    outer, inner = (0, 0, *x.strides[:-2])[-2:]
    return outer, inner, x.strides[-2] // x.itemsize, x.strides[-1] // x.itemsize


def attended(query: Array, key: Array, value: Array, mask: Array | None, scale: float, causal: bool) -> Array | None:
    """`softmax(query @ key.T * scale + mask, -1) @ value`; None if these are not such as compiled code takes."""
    kind, lanes = KINDS[query.dtype.char], gemm.lanes(KINDS[query.dtype.char])
    *batch, queries, width = query.shape
    keys, breadth = value.shape[-2:]
    count = math.prod(batch)
    if query.ndim > 4 or breadth % lanes or not all(x.flags.aligned for x in (query, key, value)):
        return None
    step, values, height, blocks, deep, row = plan(queries, keys, width, breadth, kind)
    if step * count > ROOM:
        return None
    masks, allowed, bias = 1, None, None
    if mask is not None:
        while mask.ndim > 2 and mask.shape[0] == 1:
            mask = mask[0]
        mask = np.ascontiguousarray(np.broadcast_to(mask, (*batch, queries, keys)[query.ndim - mask.ndim :]))
        masks, (allowed, bias) = mask.size // keys, (mask, None) if mask.dtype == bool else (None, mask)
    out, room = np.empty((*batch, queries, breadth), query.dtype), np.empty(step * count, query.dtype)
    inner = batch[-1] if batch else 1
    if not attend.function("arrange_keys")(
        room, key, value, *steps(key), *steps(value), inner, keys, width, breadth, step, values, 2 * count, keys * width
    ):
        return None
    room_size = height * (row + 1) * query.itemsize
    done = attend.function("attend")(
        out, query, room, *rooms.take(room_size), *steps(query), allowed, bias, scale, attend.softmax(kind), int(causal), masks, inner,
        queries, keys, width, breadth, step, values, height, blocks, deep, row, count * blocks, height * keys * (width + breadth) >> 4,
    )  # fmt: skip
    return out if done else None
