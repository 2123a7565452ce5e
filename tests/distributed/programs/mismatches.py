"""Ranks that do different things: each of them is told so, with the lines of two of them."""

from __future__ import annotations

import adjoint as ad
from adjoint import distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
other = rank == dist.get_world_size() - 1
assert dist.get_debug_level() is dist.DebugLevel.DETAIL
last = dist.get_world_size() - 1
pair = dist.new_group([0, last])


def told(call, *differences):
    try:
        call()
    except RuntimeError as error:
        words = str(error)
    else:
        raise AssertionError(differences)
    assert words.startswith("Detected mismatch between collectives on ranks. Rank 0 is running collective: "), words
    assert f"but rank {last} is running collective" in words and f"differ in: {', '.join(differences)}." in words, words
    assert words.count("mismatches.py:") == 2, words


told(lambda: dist.all_reduce(ad.ones(3 if other else 2)), "shape")
told(lambda: dist.all_reduce(ad.ones(2, dtype=ad.float64 if other else ad.float32)), "dtype")
told(lambda: dist.all_reduce(ad.ones(2), dist.ReduceOp.MAX if other else dist.ReduceOp.SUM), "op")
told(lambda: dist.broadcast(ad.ones(2), int(other)), "root")
told(lambda: dist.barrier() if other else dist.all_reduce(ad.ones(2)), "collective", "dtype", "shape", "op")
told(lambda: dist.all_reduce(ad.ones(2), async_op=other), "async_op")
if rank in (0, last):
    told(lambda: dist.all_gather([ad.ones(1 + other)] * 2, ad.ones(1 + other), pair), "shape")
x = ad.ones(2)
dist.all_reduce(x)  # nothing has begun that would be in the way
assert x.tolist() == [dist.get_world_size()] * 2
dist.all_to_all([ad.zeros(rank + 1) for _ in range(last + 1)], [ad.zeros(i + 1) for i in range(last + 1)])
dist.set_debug_level(dist.DebugLevel.OFF)
dist.all_reduce(x)
dist.destroy_process_group()
