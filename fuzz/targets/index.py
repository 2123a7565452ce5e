"""Abused indices: any number as an index or a size, and memory that is watched on both sides. A call raises, or writes where it may."""

from __future__ import annotations

import random
import traceback
from typing import Any

import numpy as np

GUARD = 64  # elements on either side
MARK = 123.0
WILD = (0, 1, 2, 3, 5, -1, -2, -6, 6, 7, 100, -100, 2**31 - 1, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63), -(2**62), 4095, 2**20)


def guarded(rng: random.Random, shape: tuple[int, ...], dtype: str = "float32") -> tuple[Any, Any]:
    """A tensor between marked memory, and all of it."""
    import adjoint as ad

    size = int(np.prod(shape))
    memory = np.full(size + 2 * GUARD, MARK, dtype)
    memory[GUARD : GUARD + size] = np.arange(size)
    return ad.from_numpy(memory)[GUARD : GUARD + size].view(shape), memory


def wild(rng: random.Random, size: int) -> int:
    return rng.choice(WILD) if rng.random() < 0.5 else rng.randrange(-size, size)


def call(rng: random.Random, x: Any, shape: tuple[int, ...]) -> Any:
    """One of the functions that take indices, with whatever indices."""
    import adjoint as ad

    F = ad.nn.functional
    dim = rng.randrange(-3, 3)
    size = max(shape)

    def some(*counts: int) -> Any:
        dtype = rng.choice(["int64"] * 5 + ["int32"])
        numbers = [wild(rng, size) for _ in range(int(np.prod(counts)))]
        return ad.from_numpy(np.array(numbers, dtype="int64").astype(dtype).reshape(counts))

    one, two, source = some(3), some(2, 3), ad.ones(2, 3)
    number = [wild(rng, size) for _ in range(4)]
    row = ad.ones(3)
    reduce = rng.choice(["sum", "prod", "mean", "amax", "amin"])
    return rng.choice([
        lambda: x[one], lambda: x[:, one], lambda: x[one, one], lambda: x.__setitem__(one, 1.0), lambda: x.__setitem__((one, one), row),
        lambda: x.index_put_((one,), row, accumulate=rng.random() < 0.5), lambda: x.index_put_((one, one), row, accumulate=True),
        lambda: x.index_select(dim, one), lambda: x.index_add_(dim, one, x), lambda: x.index_copy_(dim, one, x),
        lambda: x.index_fill_(dim, one, 2.0), lambda: x.gather(dim, two), lambda: x.scatter_(dim, two, source),
        lambda: x.scatter_(dim, two, 2.0), lambda: x.scatter_add_(dim, two, source), lambda: x.scatter_reduce_(dim, two, source, reduce),
        lambda: x.index_reduce_(dim, one, x, rng.choice(["prod", "mean", "amax", "amin"])), lambda: x.take(two), lambda: x.put_(one, row),
        lambda: x.put_(one, row, accumulate=True), lambda: x.take_along_dim(two, dim), lambda: F.embedding(one, x),
        lambda: F.embedding(one, x.detach().clone().requires_grad_(), padding_idx=number[0]).sum().backward(),
        lambda: F.embedding_bag(one, x, some(2), mode=rng.choice(["sum", "mean", "max"])), lambda: F.embedding_bag(two, x, mode="max"),
        lambda: F.one_hot(one, number[0]), lambda: F.cross_entropy(x, some(shape[0]), ignore_index=number[0]),
        lambda: F.nll_loss(x, some(shape[0]), weight=ad.ones(shape[1])), lambda: F.multi_margin_loss(x, some(shape[0])),
        lambda: F.multilabel_margin_loss(x, some(*shape)), lambda: F.max_unpool1d(x[None], some(1, *shape), 2),
        lambda: F.max_unpool2d(x[None, None], some(1, 1, *shape), 2),
        lambda: F.ctc_loss(x[:, None].log_softmax(-1), some(1, 2), some(1), some(1)),
        lambda: x.narrow(dim, number[0], number[1]), lambda: x.select(dim, number[0]), lambda: x.unfold(dim, number[0], number[1]),
        lambda: x.as_strided((number[0] % 9, number[1] % 9), (number[2], number[3])), lambda: x.as_strided((2, 2), (1, 1), number[0]),
        lambda: x.as_strided_scatter(ad.ones(2, 2), (2, 2), (number[0], 1), number[1]), lambda: x.roll(number[0], dim),
        lambda: x.diagonal(number[0]), lambda: x.tril_(number[0]), lambda: x.triu(number[0]), lambda: x.unbind(number[0]),
        lambda: x.split(number[0], dim), lambda: x.tensor_split((number[0], number[1]), dim), lambda: x.chunk(number[0], dim),
        lambda: x.topk(number[0], dim), lambda: x.kthvalue(number[0], dim), lambda: x.repeat_interleave(some(shape[0]) % 5, 0),
        lambda: x.select_scatter(ad.ones(shape[1]), 0, number[0]), lambda: x.slice_scatter(x, dim, number[0], number[1], number[2]),
        lambda: x.diagonal_scatter(ad.ones(3), number[0]), lambda: x.index_select(0, one).sum(), lambda: x.movedim(number[0], number[1]),
        lambda: ad.bincount(some(4) % 1000), lambda: ad.segment_reduce(x, "sum", lengths=some(2)), lambda: ad.cumsum(x, number[0]),
        lambda: ad.searchsorted(x, x, sorter=some(*shape)), lambda: ad.bucketize(x, row, right=True), lambda: ad.unravel_index(one, shape),
        lambda: ad.tril_indices(number[0] % 99, number[1] % 99, number[2]), lambda: ad.combinations(row, number[0] % 6),
        lambda: ad.linalg.lu_solve(ad.eye(3), some(3).int(), ad.ones(3, 2)),
        lambda: ad.ormqr(ad.ones(3, 3), ad.ones(number[0] % 5), ad.ones(3, 2)),
        lambda: ad.linalg.householder_product(ad.ones(3, 2), ad.ones(number[0] % 5)), lambda: x.resize_(3, 2), lambda: x.flip(number[0]),
        lambda: F.fold(x[None], (number[0] % 9, number[1] % 9), 2), lambda: F.unfold(x[None, None], number[0] % 9, number[1] % 9 or 1),
        lambda: F.avg_pool1d(x, number[0] % 9, number[1] % 9, number[2] % 5), lambda: F.max_pool1d(x, number[0], number[1]),
        lambda: F.adaptive_avg_pool1d(x, number[0] % 99), lambda: F.pad(x, (number[0] % 9 - 4, number[1] % 9 - 4)),
        lambda: F.pixel_shuffle(x[None, None], number[0]), lambda: F.interpolate(x[None, None], size=(number[0] % 50, number[1] % 50)),
        lambda: F.grid_sample(x[None, None], ad.full((1, 1, 2, 2), float(number[0])), align_corners=False), lambda: F.glu(x, dim),
    ])  # fmt: skip


def check(rng: random.Random) -> str:
    """Call, and look at the memory around; what is wrong, or nothing."""
    shape = (rng.choice([2, 4]), rng.choice([3, 6]))
    x, memory = guarded(rng, shape)
    chosen = call(rng, x, shape)
    try:
        chosen()
    except (IndexError, RuntimeError, ValueError, TypeError, OverflowError, AssertionError, MemoryError):
        pass  # (AssertionError is PyTorch's for a padding_idx; a size that is right may still be too large)
    except Exception:
        return f"index {traceback.format_exc()}"
    if (memory[:GUARD] != MARK).any() or (memory[-GUARD:] != MARK).any():
        return f"index {chosen.__code__.co_firstlineno}: memory beside the tensor was changed"
    return ""
