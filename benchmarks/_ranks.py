"""Cases of several processes: adjoint over MPI and PyTorch over gloo in the same processes, in turn."""

from __future__ import annotations

import importlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._timing import CASES, TURN_SECONDS, Row, Step

RANKS = 2
MARK = "measured: "


@dataclass(frozen=True)
class RanksCase:
    """A step that `RANKS` processes of one thread each take together."""

    name: str
    build: Callable[[Any], Step]

    def measure(self, libraries: Any, seconds: float) -> Row:
        from adjoint.distributed._mpiexec import mpi_environment, mpiexec

        command = [mpiexec(), "-n", str(RANKS), sys.executable, "-m", f"{__package__}._ranks", self.name, str(seconds), str(free_port())]
        environment = {**os.environ, **mpi_environment(RANKS), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        root = Path(__file__).resolve().parent.parent
        done = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        ours, theirs = json.loads(done.stdout.split(MARK)[1])
        return Row(self.name, "µs", ours * 1e6, theirs * 1e6)


def ranks(name: str) -> Callable[[Callable[[Any], Step]], Callable[[Any], Step]]:
    """Register a function that takes the library module, whose group of processes is there, and returns the step to time."""

    def register(build: Callable[[Any], Step]) -> Callable[[Any], Step]:
        CASES.append(RanksCase(name, build))
        return build

    return register


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def slowest(lib: Any, seconds: float) -> float:
    """The most that a process took. They all know it, and so decide alike."""
    found = lib.tensor(seconds, dtype=lib.float64)
    lib.distributed.all_reduce(found, op=lib.distributed.ReduceOp.MAX)
    return float(found.item())


def turn(lib: Any, step: Step, calls: int) -> float:
    """The seconds per call of some calls in a row. They count as one: a process that comes late finds the others' work done."""
    lib.distributed.barrier()
    start = time.perf_counter()
    for _ in range(calls):
        step()
    return slowest(lib, (time.perf_counter() - start) / calls)


def best_turns(libraries: list[Any], build: Callable[[Any], Step], seconds: float) -> list[float]:
    """The best seconds per call with each library; they take turns, so that a busy moment hits all alike."""
    steps = [(lib, build(lib)) for lib in libraries]
    for lib, step in steps:
        turn(lib, step, 2)  # caches fill and kernels compile here
    best = [turn(lib, step, 3) for lib, step in steps]
    begin, turns = time.perf_counter(), 0
    while slowest(libraries[0], time.perf_counter() - begin) < seconds or turns < 3:
        for i, (lib, step) in enumerate(steps):
            best[i] = min(best[i], turn(lib, step, max(2, round(TURN_SECONDS / best[i]))))
        turns += 1
    return best


def main(name: str, seconds: float, port: int) -> None:
    """What each process runs."""
    import torch

    import adjoint

    from .__main__ import select_cases

    adjoint.distributed.init_process_group("mpi")
    rank = adjoint.distributed.get_rank()
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    for lib in (adjoint, torch):
        lib.set_num_threads(1)
    (case,) = (case for case in select_cases("") if case.name == name)
    assert isinstance(case, RanksCase)
    best = best_turns([adjoint, torch], case.build, seconds)
    if rank == 0:
        print(MARK + json.dumps(best), flush=True)
    for lib in (adjoint, torch):
        lib.distributed.destroy_process_group()


if __name__ == "__main__":
    importlib.import_module(f"{__package__}._ranks").main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))  # the cases' own class
