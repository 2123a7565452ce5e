"""What two processes find by collectives, written to a file by each: `collectives.py FOLDER`, with PyTorch or with adjoint as torch."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.nn
from torch.distributed.device_mesh import init_device_mesh


def lines(rank, folder):
    Op = dist.ReduceOp
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    found = []

    def note(name, value):
        found.append(f"{name}: {value}")

    def refused(name, call):
        try:
            call()
        except Exception as error:
            note(name, type(error).__name__)
        else:
            note(name, "went well")

    generator = torch.Generator().manual_seed(rank)
    numbers = torch.randn(100, generator=generator)
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.int32, torch.int64, torch.uint8,
                  torch.int8, torch.bool):  # fmt: skip
        for op in ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"):
            whole = not (dtype.is_floating_point or dtype.is_complex)
            if (op == "AVG" and whole) or (op[0] == "B" and not whole) or (dtype.is_complex and op not in ("SUM", "AVG")):
                continue
            if dtype.is_complex:
                x = torch.complex(numbers, numbers.flip(0))
            else:
                x = (numbers * 100).int().to(dtype) if whole else (numbers * 3).to(dtype)
            dist.all_reduce(x, getattr(Op, op))
            kept = x.view(torch.float32) if dtype.is_complex else x
            note(f"{dtype} {op}", kept.tolist())
    for op in ("PRODUCT", "MIN", "MAX"):
        refused(f"complex {op}", lambda op=op: dist.all_reduce(torch.ones(2, dtype=torch.complex64), getattr(Op, op)))
    x = torch.arange(6.0).reshape(2, 3).t() * (rank + 1)
    dist.all_reduce(x)
    note("transposed", (x.tolist(), x.is_contiguous()))
    x = torch.ones(2, requires_grad=True)
    dist.all_reduce(x)
    note("leaf", (x.tolist(), x.requires_grad, x.is_leaf, x.grad_fn))
    x = torch.full((3,), float(rank))
    note("broadcast", (dist.broadcast(x, 1), x.tolist()))
    gathered = [torch.zeros(2, 3).t() for _ in range(2)]
    dist.all_gather(gathered, torch.arange(6.0).reshape(3, 2) + rank)
    note("all_gather", [(one.tolist(), one.stride()) for one in gathered])
    flat = torch.zeros(4)
    dist.all_gather_into_tensor(flat, torch.arange(2.0) + rank)
    note("all_gather_into_tensor", flat.tolist())
    gathered = [torch.zeros(2) for _ in range(2)] if rank == 1 else None
    dist.gather(torch.full((2,), float(rank)), gathered, dst=1)
    note("gather", gathered)
    x = torch.zeros(2)
    dist.scatter(x, [torch.ones(2), torch.ones(2) * 2] if rank == 0 else None)
    note("scatter", x.tolist())
    dist.reduce_scatter_tensor(x, torch.arange(4.0) * (rank + 1))
    note("reduce_scatter_tensor", x.tolist())
    dist.reduce_scatter(x, [torch.ones(2) * (rank + 1), torch.arange(2.0)], Op.MAX)
    note("reduce_scatter", x.tolist())
    x = torch.zeros(3)
    dist.all_to_all_single(x, torch.arange(3.0) + 10 * rank, [2, 1] if rank else [1, 2], [1, 2] if rank == 0 else [2, 1])
    note("all_to_all_single", x.tolist())
    x = torch.full((2,), float(rank + 1))
    dist.reduce(x, 0)
    note("reduce", x.tolist() if rank == 0 else None)
    objects = [None, None]
    dist.all_gather_object(objects, {"rank": rank})
    note("all_gather_object", objects)
    objects = [rank, "a"]
    dist.broadcast_object_list(objects, 1)
    note("broadcast_object_list", objects)
    objects = [None]
    dist.scatter_object_list(objects, ["x", "y"] if rank == 0 else None)
    note("scatter_object_list", objects)
    if rank == 0:
        dist.send(torch.arange(3.0), 1, tag=3)
    else:
        note("recv", (dist.recv(x := torch.zeros(3), tag=3), x.tolist()))
    x = torch.zeros(1)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.ones(1) * rank, 1 - rank), dist.P2POp(dist.irecv, x, 1 - rank)]):
        work.wait()
    note("batch", x.tolist())
    work = dist.all_reduce(x, async_op=True)
    note("work", (work.wait(), work.is_completed(), work.get_future().wait()[0].tolist()))
    group = dist.new_group([1, 0])
    note("group", (dist.get_process_group_ranks(group), dist.get_rank(group), group.group_name, group.size(), dist.get_backend(group)))
    alone = dist.new_group([1])
    note("not in it", (dist.get_rank(alone), dist.get_world_size(alone), dist.all_reduce(torch.ones(1), group=alone)))
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("data", "model"))
    note("mesh", (mesh["data"], mesh.get_coordinate(), mesh["data"].mesh.tolist(), dist.get_process_group_ranks(mesh.get_group("model"))))
    w = (torch.arange(2.0) * (rank + 1)).requires_grad_()
    for name, call in (
        ("all_reduce", lambda: torch.distributed.nn.all_reduce(w)),
        ("all_gather", lambda: torch.cat(torch.distributed.nn.all_gather(w))),
        ("broadcast", lambda: torch.distributed.nn.broadcast(w, 1)),
        ("reduce_scatter", lambda: torch.distributed.nn.functional.reduce_scatter(torch.zeros(2), [w, w * 2])),
        ("scatter", lambda: torch.distributed.nn.scatter([w, w * 2], 0)),
        ("all_gather_tensor", lambda: functional.all_gather_tensor_autograd(w, 0, dist.group.WORLD)),
        ("reduce_scatter_tensor", lambda: functional.reduce_scatter_tensor_autograd(w, "sum", 0, dist.group.WORLD)),
    ):
        w.grad = None
        result = call()
        (result * (rank + 1)).sum().backward()
        note(f"nn {name}", (result.tolist(), w.grad.tolist()))
    for name, call in (
        ("counts", lambda: dist.all_gather([torch.zeros(2)], torch.ones(2))),
        ("shapes", lambda: dist.all_gather([torch.zeros(3), torch.zeros(2)], torch.ones(2))),
        ("dtypes", lambda: dist.all_gather([torch.zeros(2).double()] * 2, torch.ones(2))),
        ("no tensor", lambda: dist.all_reduce([torch.ones(1)])),
        ("self", lambda: dist.send(torch.ones(1), rank)),
        ("gather list", lambda: dist.gather(torch.ones(1), [torch.ones(1)] * 2 if rank else None, dst=0)),
        ("mesh size", lambda: init_device_mesh("cpu", (3,))),
        ("mesh name", lambda: mesh["x"]),
        ("twice", lambda: dist.init_process_group("gloo", rank=rank, world_size=2)),
    ):
        refused(name, call)
    dist.barrier()
    Path(folder, str(rank)).write_text("\n".join(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.multiprocessing.spawn(lines, (sys.argv[1],), 2)
