"""Measure what a message costs: `python tools/links.py` prints the constants that docs/scaling.md reckons with.

A message of n bytes takes `latency + n * per_byte`. Two ranks send messages to and fro, through shared memory, through the loopback
device, and, as root, between two network namespaces; the best of many counts.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from adjoint.distributed._mpiexec import mpi_environment, mpiexec  # noqa: E402
from tests.distributed.ranks import Job, run  # noqa: E402
from tests.hosts.hosts import ADDRESSES, program, two_hosts  # noqa: E402

LARGE = 25 * 2**20
TCP = {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_pml": "ob1"}

PING_PONG = f"""
import time
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
other = 1 - world.rank

def seconds(size, repeats):
    message, best = np.zeros(size, np.uint8), float("inf")
    for _ in range(repeats):
        world.Barrier()
        start = time.perf_counter()
        for turn in (0, 1):
            if turn == world.rank:
                world.Send(message, other)
            else:
                world.Recv(message, other)
        best = min(best, (time.perf_counter() - start) / 2)  # there and back
    return best

latency = seconds(1, 5000)
per_byte = (seconds({LARGE}, 40) - latency) / {LARGE}
values, others = np.zeros({LARGE} // 4, np.float32), np.ones({LARGE} // 4, np.float32)
sums = []
for _ in range(20):
    start = time.perf_counter()
    np.add(values, others, values)
    sums.append(time.perf_counter() - start)
if world.rank == 0:
    print(f"latency {{latency * 1e6:.2f}} us, {{per_byte * 1e9:.3f}} ns per byte ({{1e-9 / per_byte:.2f}} GB/s), "
          f"sum {{min(sums) / {LARGE} * 1e9:.3f}} ns per byte", flush=True)
"""


def jobs() -> Iterator[tuple[str, Job]]:
    yield "shared memory", run(2, PING_PONG)
    yield "TCP, loopback", run(2, PING_PONG, env=TCP)
    if os.geteuid() == 0:
        with tempfile.TemporaryDirectory() as folder, two_hosts(Path(folder)) as hosts:
            where = ",".join(f"{address}:1" for address in ADDRESSES)
            command = [mpiexec(), "--host", where, "-n", "2", sys.executable, program(Path(folder), PING_PONG)]
            yield "TCP, two namespaces", hosts.run(0, *command, env=mpi_environment())


if __name__ == "__main__":
    for name, job in jobs():
        found = [line for text in (job.text, *job.ranks) for line in text.splitlines() if line.startswith("latency")]
        print(f"{name}: {found[0] if found else job}", flush=True)
