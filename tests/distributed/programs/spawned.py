"""Processes that no MPI launcher has started, and how they find each other: `spawned.py METHOD HOW ADDRESS [END]`."""

from __future__ import annotations

import os
import signal
import sys

import adjoint as ad
from adjoint import distributed as dist
from adjoint import multiprocessing as mp

SIZE = 3


def work(rank: int, how: str, address: str, end: str) -> None:
    if how == "environment":
        os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = address.split(":")
        dist.init_process_group("gloo", rank=rank, world_size=SIZE)
    elif how == "store":
        dist.init_process_group("gloo", store=dist.FileStore(address, SIZE), rank=rank, world_size=SIZE)
    else:
        dist.init_process_group(init_method=f"{how}://{address}", rank=rank, world_size=SIZE)
    x = ad.ones(3) * (rank + 1)
    dist.all_reduce(x)
    assert x.tolist() == [6, 6, 6]
    if end and rank == 1:
        print("rank 1 ends", flush=True)
        if end == "raises":
            raise ValueError("rank 1 has enough")
        os.kill(os.getpid(), signal.SIGKILL) if end == "killed" else os._exit(3)
    dist.group.WORLD.get_group_store().set(f"rank {rank}", "here")
    dist.group.WORLD.get_group_store().wait([f"rank {i}" for i in range(SIZE)])
    dist.barrier()
    dist.destroy_process_group()
    dist.init_process_group("gloo", store=dist.HashStore(), rank=rank, world_size=SIZE)  # again, over the job that there is
    pair = dist.new_group([0, 2])
    if rank != 1:
        dist.all_reduce(x, group=pair)
        assert x.tolist() == [12, 12, 12]
    dist.barrier()
    print(f"rank {rank} is done", flush=True)
    if rank:  # not all programs destroy it
        dist.destroy_process_group()


if __name__ == "__main__":
    mp.start_processes(work, (*sys.argv[2:], "")[:3], SIZE, start_method=sys.argv[1])
