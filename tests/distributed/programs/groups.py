"""Groups, messages between two, arrays of processes, and gradients that go through collectives, on each rank."""

from __future__ import annotations

import warnings
from datetime import timedelta
from typing import Any

import adjoint as ad
import adjoint.distributed._functional_collectives as functional
from adjoint import distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
last = size - 1


def fails(call, kind, words):
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)


# ---- messages

x = ad.zeros(3)
if rank == 0:
    dist.send(ad.arange(6.0)[::2], 1, tag=5)
    dist.send(ad.ones(3), 1, tag=6)
elif rank == 1:
    assert dist.recv(x, 0, tag=6) == 0 and x.tolist() == [1, 1, 1]  # by tag, not by time
    assert dist.recv(x, 0, tag=5) == 0 and x.tolist() == [0, 2, 4]
if rank == 0:
    seen = set()
    for _ in range(last):
        sender = dist.recv(x)  # from anybody
        assert x.tolist() == [sender] * 3
        seen.add(sender)
    assert seen == set(range(1, size))
else:
    dist.send(ad.full((3,), float(rank)), 0)
dist.barrier()
to, source = (rank + 1) % size, (rank - 1) % size
got, half = ad.zeros(50_000), ad.zeros(4).bfloat16()
works = dist.batch_isend_irecv([
    dist.P2POp(dist.isend, ad.full((50_000,), float(rank)), to), dist.P2POp(dist.irecv, got, source),
    dist.P2POp(dist.isend, ad.full((4,), float(rank)).bfloat16(), to, tag=1), dist.P2POp(dist.irecv, half, source, tag=1),
])  # fmt: skip
for work in works:
    work.wait()
assert got.eq(source).all() and half.tolist() == [source] * 4 and all(work.is_completed() for work in works)
late = dist.irecv(ad.zeros(1), source)
fails(lambda: late.wait(timedelta(seconds=0.2)), RuntimeError, "Timed out waiting 200ms for irecv")
dist.barrier()
dist.isend(ad.ones(1), to).wait()
assert late.wait() and late.result()[0].item() == 1
if rank == 0:
    dist.send_object_list(["a", {"b": ad.ones(2)}], 1)
elif rank == 1:
    objects: Any = [None, None]
    assert dist.recv_object_list(objects) == 0 and objects[0] == "a" and objects[1]["b"].tolist() == [1, 1]

# ---- groups

pair = dist.new_group([last, 0])
if rank in (0, last):
    assert dist.get_process_group_ranks(pair) == [0, last] and dist.get_rank(pair) == int(rank == last) and pair.size() == 2
    x = ad.tensor([rank])
    dist.broadcast(x, last, group=pair)
    assert x.item() == last
    dist.broadcast(x, group_src=0, group=pair)
    assert x.item() == last and dist.get_global_rank(pair, 1) == last and dist.get_group_rank(pair, last) == 1
    later = dist.all_reduce(x, group=pair, async_op=True)
    assert later.wait() and x.item() == 2 * last
else:
    assert pair == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(pair) == -1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert dist.all_reduce(ad.ones(1), group=pair) is None
    assert "does not belong to the given group" in str(caught[0].message)
backwards = dist.new_group(list(range(size))[::-1], sort_ranks=False)
assert dist.get_rank(backwards) == last - rank
own, all_of_them = dist.new_subgroups(1)
assert own.size() == 1 and len(all_of_them) == size
if rank in (0, last):  # only the members have to call it
    mine = dist.new_group([0, last], use_local_synchronization=True)
    dist.barrier(mine)
    dist.destroy_process_group(mine)
split = dist.split_group(split_ranks=[[0], list(range(1, size))])
assert split is not None and split.size() == (1 if rank == 0 else last)
dist.monitored_barrier()
dist.monitored_barrier(backwards)
dist.barrier()
if rank == 0:
    short = timedelta(seconds=0.2)
    fails(lambda: dist.monitored_barrier(timeout=short), RuntimeError, "[Rank 0]: Rank 1 failed to pass monitoredBarrier in 200 ms")
    fails(
        lambda: dist.monitored_barrier(timeout=short, wait_all_ranks=True), RuntimeError,
        f"Ranks {', '.join(map(str, range(1, size)))} failed to pass",
    )  # fmt: skip
dist.barrier()

# ---- gradients

x = (ad.arange(float(size)) * (rank + 1)).requires_grad_()
total, squares = sum(range(1, size + 1)), sum(i * i for i in range(1, size + 1))


def gradient(results):
    x.grad = None
    results = results if isinstance(results, tuple) else (results,)
    sum(((i + 1) * (rank + 1) * one).sum() for i, one in enumerate(results)).backward()
    return x.grad.tolist()


assert gradient(dist.nn.all_reduce(x)) == [total] * size
assert gradient(dist.nn.all_gather(x)) == [(rank + 1) * total] * size
assert gradient(dist.nn.broadcast(x, 1)) == [total if rank == 1 else 0] * size
assert gradient(dist.nn.reduce(x, last)) == [size] * size
assert gradient(dist.nn.gather(x, last)) == [(rank + 1) * size] * size
assert gradient(dist.nn.scatter([x * (i + 1) for i in range(size)], last)) == [squares if rank == last else 0] * size
assert gradient(dist.nn.all_to_all_single(ad.zeros(size), x)) == [i + 1 for i in range(size)]
assert gradient(dist.nn.functional.reduce_scatter(ad.zeros(size), [x * (i + 1) for i in range(size)])) == [squares] * size
if rank in (0, last):
    assert gradient(dist.nn.broadcast(x, last, pair)) == [1 + size if rank == last else 0] * size
y = (ad.ones(size, 2) * (rank + 1)).requires_grad_()
assert functional.all_gather_tensor(y, 1, dist.group.WORLD).tolist() == [[i + 1 for i in range(size) for _ in range(2)]] * size
part = functional.reduce_scatter_tensor_autograd(y, "sum", 0, dist.group.WORLD)
(part * (rank + 1)).sum().backward()
assert part.tolist() == [[total] * 2] and y.grad.tolist() == [[i + 1] * 2 for i in range(size)]
assert functional.reduce_scatter_tensor(y, "avg", 0, dist.group.WORLD).tolist() == [[total / size] * 2]
assert functional.permute_tensor(y, [(i + 1) % size for i in range(size)], dist.group.WORLD)[0, 0].item() == source + 1
assert functional.broadcast(y, 1, dist.group.WORLD)[0, 0].item() == 2

# ---- arrays of processes

line = dist.init_device_mesh("cpu", (size,), mesh_dim_names=("all",))
assert line.get_group() is dist.group.WORLD and line.get_local_rank() == rank and line.get_coordinate() == (rank,)
some = dist.DeviceMesh("cpu", [last, 0])
assert some.get_coordinate() == ((0,) if rank == last else (1,) if rank == 0 else None)
if size == 4:
    mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "model"))
    row, column = divmod(rank, 2)
    assert mesh.get_coordinate() == (row, column) and (mesh.get_local_rank("data"), mesh.get_local_rank("model")) == (row, column)
    assert mesh["data"].mesh.tolist() == [column, column + 2] and mesh["model"].mesh.tolist() == [2 * row, 2 * row + 1]
    assert dist.get_process_group_ranks(mesh.get_group("data")) == [column, column + 2]
    z = ad.tensor([float(rank)])
    dist.all_reduce(z, group=mesh["model"].get_group())
    assert z.item() == 4 * row + 1 and functional.all_reduce(ad.ones(1), "sum", (mesh, 0)).item() == 2
    assert repr(mesh["data"]) == "DeviceMesh((data=2), 'cpu', stride=(2,))"
    flat = mesh._flatten("both")
    assert flat.mesh.tolist() == [0, 1, 2, 3] and mesh["both"] == flat and flat.get_group() is dist.group.WORLD
    fails(lambda: mesh["model", "data"], KeyError, "ascending order")
    cube = dist.init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("a", "b", "c"))
    assert cube["a", "b"]._flatten("ab").mesh.tolist() == [column, column + 2] and cube["ab", "c"].shape == (2, 2)
    assert repr(cube["ab", "c"]) == "DeviceMesh((ab=2, c=2), 'cpu', stride=(2, 1))"
    again = dist.DeviceMesh.from_group(mesh.get_all_groups(), "cpu", mesh=mesh.mesh, mesh_dim_names=("x", "y"))
    assert again.get_group("y") is mesh.get_group("model")

# ---- the same bits on every rank, and every time

ad.manual_seed(rank)
for count in (1, 3, 100, 1024, 5000, 100_003, 1_000_000):
    numbers = ad.randn(count)
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.PRODUCT):
        for dtype in (ad.float32, ad.bfloat16, ad.float64):
            if count > 5000 and (op is not dist.ReduceOp.SUM or dtype is not ad.float32):
                continue
            results = []
            for async_op in (False, False, True, True):
                result = numbers.to(dtype)
                begun = dist.all_reduce(result, op, async_op=async_op)
                if begun is not None:
                    begun.wait()
                results.append(result)
            assert ad.equal(results[0], results[1]) and ad.equal(results[2], results[3])
            for result in results[::2]:
                first = result.clone()
                dist.broadcast(first, 0)
                assert ad.equal(first, result), (count, op, dtype)
for op in (dist.ReduceOp.MAX, dist.ReduceOp.MIN):
    numbers = ad.tensor([float("nan") if rank == 1 else 1.0, float(rank)])
    dist.all_reduce(numbers, op)
    first = numbers.clone()
    dist.broadcast(first, 0)
    assert ad.equal(first.view(ad.int32), numbers.view(ad.int32)), numbers
dist.destroy_process_group()
