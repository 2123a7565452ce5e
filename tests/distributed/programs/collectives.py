"""Every collective with every kind of tensor, on each rank; what is wrong is an AssertionError of that rank."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import distributed as dist
from adjoint.distributed import _mpi

if "pieces" in sys.argv:
    _mpi.LIMIT = 2  # as if tensors of more elements than that were longer than MPI can count
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
Op = dist.ReduceOp
NUMBERS = (ad.uint8, ad.int8, ad.int16, ad.int32, ad.int64, ad.float16, ad.bfloat16, ad.float32, ad.float64)
OTHERS = (ad.bool, ad.complex64, ad.complex128, ad.float8_e4m3fn, ad.float8_e5m2, ad.uint16, ad.uint32, ad.uint64)


def of(numbers, dtype):
    return ad.tensor(numbers).to(dtype)


def equal(found, expected):
    assert found.tolist() == (expected.tolist() if isinstance(expected, ad.Tensor) else expected), (found, expected)


# ---- combinations: all operations, all types

values = [[1, 2, 3], [2, 2, 1], [3, 1, 0], [1, 0, 2]][:size]
for op, combine in ((Op.SUM, np.sum), (Op.PRODUCT, np.prod), (Op.MIN, np.min), (Op.MAX, np.max)):
    for dtype in NUMBERS:
        x = of(values[rank], dtype)
        dist.all_reduce(x, op)
        equal(x, combine(values, 0).tolist())
        assert x.dtype is dtype
for dtype, largest in ((ad.uint8, 255), (ad.int8, 127), (ad.int16, 2**15 - 1), (ad.int32, 2**31 - 1)):
    x = ad.full((100,), largest, dtype=dtype)
    dist.all_reduce(x)  # wraps around
    equal(x, [int(np.array(largest * size).astype(x.numpy().dtype))] * 100)
for op, bits in ((Op.BAND, np.bitwise_and), (Op.BOR, np.bitwise_or), (Op.BXOR, np.bitwise_xor)):
    for dtype in (ad.uint8, ad.int16, ad.int64):
        x = of(values[rank], dtype)
        dist.all_reduce(x, op)
        equal(x, bits.reduce(values, 0).tolist())
if "pieces" not in sys.argv:
    x = ad.arange(3_000_001, dtype=ad.float32)  # more than goes in one call
    dist.all_reduce(x)
    assert x.eq(ad.arange(3_000_001, dtype=ad.float32) * size).all()
truths = [[True, False, i == 0] for i in range(size)]
for op, expected in ((Op.SUM, [True, False, True]), (Op.MAX, [True, False, True]), (Op.BOR, [True, False, True]),
                     (Op.MIN, [True, False, False]), (Op.PRODUCT, [True, False, False]), (Op.BAND, [True, False, False]),
                     (Op.BXOR, [size % 2 == 1, False, True])):  # fmt: skip
    x = ad.tensor(truths[rank])
    dist.all_reduce(x, op)
    equal(x, expected)
for dtype in (ad.float16, ad.bfloat16, ad.float32, ad.float64, ad.complex64, ad.float8_e4m3fn):
    x = of([2.0 * (rank + 1), 0.0], dtype)
    dist.all_reduce(x, Op.AVG)
    equal(x, [float(size + 1), 0.0])
x = of([1e4 * (rank + 1)], ad.float16)  # the sum would be too much for the type, the mean is not
dist.all_reduce(x * 6, Op.SUM)
x = ad.full((1,), 6e4, dtype=ad.float16)
dist.all_reduce(x, Op.AVG)
assert abs(x.item() - 6e4) < 40
x = ad.tensor([1 + 2j, 1j * rank])
dist.all_reduce(x)
equal(x, [size * (1 + 2j), 1j * sum(range(size))])

# ---- any layout: what a tensor does not look at stays

x = ad.arange(6.0).reshape(2, 3).t()
dist.all_reduce(x)
equal(x, (ad.arange(6.0) * size).reshape(2, 3).t())
whole = ad.arange(6.0)
dist.all_reduce(whole[::2])
equal(whole, [0, 1, 2 * size, 3, 4 * size, 5])
x = ad.arange(16.0).reshape(1, 4, 2, 2)
x = x.to(memory_format=ad.channels_last) if rank else x  # ranks agree on elements, not on strides
dist.all_reduce(x)
equal(x, (ad.arange(16.0) * size).reshape(1, 4, 2, 2))
for shape in ((), (0,), (3, 0), (1, 1)):
    x = ad.ones(shape)
    dist.all_reduce(x)
    equal(x, ad.ones(shape) * size)
    dist.broadcast(x, 0)
    gathered = [ad.ones(shape) for _ in range(size)]
    dist.all_gather(gathered, x)
    equal(gathered[-1], x)
w = ad.ones(2, requires_grad=True)
y = w * w
dist.all_reduce(w)
assert w.tolist() == [size] * 2 and w.requires_grad and w.is_leaf and w.grad_fn is None
try:
    y.sum().backward()
except RuntimeError as error:
    assert "modified by an inplace operation" in str(error)
else:
    raise AssertionError("the collective was not seen as a write")
with ad.inference_mode():
    x = ad.ones(2)
    dist.all_reduce(x)
    equal(x, [size] * 2)

# ---- copies: all types, and targets of any layout

for dtype in NUMBERS + OTHERS:
    mine = of([rank, 1, 0], dtype)
    x = mine.clone()
    dist.broadcast(x, size - 1)
    equal(x, of([size - 1, 1, 0], dtype))
    each = [of([i, 1, 0], dtype) for i in range(size)]
    gathered = [ad.zeros(6).to(dtype)[::2] for _ in range(size)]
    dist.all_gather(gathered, mine)
    for one, expected in zip(gathered, each, strict=True):
        equal(one, expected)
    flat = ad.zeros(3 * size).to(dtype)
    dist.all_gather_into_tensor(flat, mine)
    equal(flat, ad.cat(each))
    flat = ad.zeros(3 * size).to(dtype)
    flat[3 * rank : 3 * rank + 3] = mine
    dist.all_gather_into_tensor(flat, flat[3 * rank : 3 * rank + 3])  # the part that is gathered lies in its place
    equal(flat, ad.cat(each))
    gathered = [ad.zeros(3).to(dtype) for _ in range(size)]
    dist.gather(mine, gathered if rank == 1 else None, dst=1)
    equal(gathered[-1], each[-1] if rank == 1 else ad.zeros(3).to(dtype))
    x = ad.zeros(3).to(dtype)
    dist.scatter(x, each if rank == 0 else None)
    equal(x, mine)
    x = ad.zeros(size).to(dtype)
    dist.all_to_all_single(x, of([rank] * size, dtype))
    equal(x, of(list(range(size)), dtype))

# ---- parts of combinations

for dtype in (ad.float32, ad.bfloat16, ad.int32, ad.complex64):
    part = ad.zeros(2).to(dtype)
    source = ad.arange(2 * size).to(dtype)
    dist.reduce_scatter_tensor(part, source)
    equal(part, of([2 * rank * size, (2 * rank + 1) * size], dtype))
    equal(source, ad.arange(2 * size).to(dtype))
    dist.reduce_scatter(part, [of([i, rank], dtype) for i in range(size)])
    equal(part, of([rank * size, sum(range(size))], dtype))
flat = ad.arange(2.0 * size)
dist.reduce_scatter_tensor(flat[2 * rank : 2 * rank + 2], flat)
equal(flat[2 * rank : 2 * rank + 2], [2.0 * rank * size, (2.0 * rank + 1) * size])
x = of([rank, 1], ad.bfloat16)
dist.reduce(x, dst=size - 1, op=Op.MAX)
equal(x, [size - 1, 1] if rank == size - 1 else [rank, 1])

# ---- to each another part, and of another length

sent = [ad.full((i + 1,), 10.0 * rank + i) for i in range(size)]
got = [ad.zeros(rank + 1) for _ in range(size)]
dist.all_to_all(got, sent)
for i, one in enumerate(got):
    equal(one, [10.0 * i + rank] * (rank + 1))
lengths = [i + 1 for i in range(size)]
joined = ad.zeros((rank + 1) * size, 2)
dist.all_to_all_single(joined, ad.cat(sent).unsqueeze(1).expand(-1, 2), [rank + 1] * size, lengths)
equal(joined[:, 1], [10.0 * i + rank for i in range(size) for _ in range(rank + 1)])

# ---- what goes on meanwhile

x, y = ad.ones(1000), ad.ones(3, 2).t()
work, other = dist.all_reduce(x, async_op=True), dist.all_reduce(y, Op.AVG, async_op=True)
following = work.get_future().then(lambda done: done.value()[0].sum().item())
assert following.wait() == 1000 * size and work.is_completed() and work.is_success() and work.exception() is None
assert other.wait() and y.tolist() == [[1, 1, 1]] * 2 and other.result() == [y]
assert dist.barrier(async_op=True).wait(dist.default_pg_timeout)
works = [dist.all_gather([ad.zeros(1) for _ in range(size)], ad.ones(1), async_op=True),
         dist.broadcast(x, 0, async_op=True), dist.reduce(x, 0, async_op=True),
         dist.reduce_scatter_tensor(ad.zeros(1), ad.ones(size), async_op=True),
         dist.all_to_all_single(ad.zeros(size), ad.ones(size), async_op=True),
         dist.gather(ad.ones(1), [ad.zeros(1) for _ in range(size)] if rank == 0 else None, async_op=True),
         dist.scatter(ad.zeros(1), [ad.ones(1)] * size if rank == 0 else None, async_op=True)]  # fmt: skip
ad.futures.wait_all([one.get_future() for one in works])
assert all(one.is_completed() for one in works) and works[0].result()[-1].item() == 1
for _ in range(50):
    dist.all_reduce(ad.ones(2_000), async_op=True)  # nobody holds the memory that is written
dist.barrier()
with dist._coalescing_manager(async_ops=True) as together:
    a, b = ad.ones(1), ad.ones(2)
    dist.all_reduce(a)
    dist.all_reduce(b)
assert together.wait() and a.item() == size and b.tolist() == [size] * 2
pair = [ad.ones(1), ad.ones(2)]
dist.all_reduce_coalesced(pair)
assert [one.tolist() for one in pair] == [[size], [size] * 2]

# ---- objects

objects: Any = [None] * size
dist.all_gather_object(objects, {"rank": rank, "text": "x" * rank * 1000})
assert [one["rank"] for one in objects] == list(range(size)) and len(objects[-1]["text"]) == (size - 1) * 1000
objects = [rank, ad.tensor([rank])]
dist.broadcast_object_list(objects, src=1)
assert objects == [1, ad.tensor([1])]
objects = [None]
dist.scatter_object_list(objects, [str(i) * i for i in range(size)] if rank == 0 else None)
assert objects == [str(rank) * rank]
objects = [None] * size if rank == 1 else None
dist.gather_object((rank,), objects, dst=1)
assert objects == ([(i,) for i in range(size)] if rank == 1 else None)

# ---- what cannot be

for call, kind, words in (
    (lambda: dist.all_reduce(ad.ones(2, dtype=ad.complex64), Op.MAX), ValueError, "all_reduce does not support"),
    (lambda: dist.all_reduce(ad.ones(2), Op.BAND), RuntimeError, "Cannot use ReduceOp.BAND with non-integral dtype"),
    (lambda: dist.all_reduce(ad.ones(2, dtype=ad.int32), Op.AVG), RuntimeError, "result type Float can't be cast"),
    (lambda: dist.all_gather([ad.zeros(2).double()] * size, ad.ones(2)), ValueError, "tensors with different dtypes"),
    (lambda: dist.all_gather_into_tensor(ad.zeros(3), ad.ones(2)), RuntimeError, "invalid tensor size"),
    (lambda: dist.reduce_scatter_tensor(ad.zeros(3), ad.ones(2)), RuntimeError, "input tensor must be the same size"),
    (lambda: dist.all_to_all_single(ad.zeros(size + 1), ad.zeros(size + 1)), RuntimeError, "does not divide equally"),
    (lambda: dist.send(ad.ones(1), rank), ValueError, "Invalid destination rank"),
    (lambda: dist.broadcast(ad.ones(1), size), ValueError, "is not part of group"),
    (lambda: dist.all_reduce(ad.eye(2).to_sparse()), RuntimeError, "x.to_dense()"),
    (lambda: dist.gather(ad.ones(1), [ad.ones(1)] * size, dst=(rank + 1) % size), ValueError, "must NOT be specified"),
):  # fmt: skip
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
dist.destroy_process_group()
