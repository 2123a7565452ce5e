"""The helper that starts several ranks."""

from __future__ import annotations

import pytest

from tests.distributed import ranks

HERE = """
from mpi4py import MPI
world = MPI.COMM_WORLD
print("rank", world.rank, "of", world.allreduce(1))
"""


def test_each_rank_prints_for_itself():
    job = ranks.run(3, HERE)
    assert job.code == 0, job
    assert job.ranks == [f"rank {i} of 3\n" for i in range(3)]


def test_what_does_not_end_is_killed_with_all_its_processes(monkeypatch):
    hang = """
        import os, time
        os.setsid() if os.fork() == 0 else None  # a child that has left the family
        time.sleep(600)
    """
    seen, look = [], ranks.processes

    def processes(mark):
        seen.append((mark, look(mark)))
        return seen[-1][1]

    monkeypatch.setattr(ranks, "processes", processes)
    with pytest.raises(TimeoutError, match="has not ended within 3 s"):
        ranks.run(2, hang, timeout=3)
    mark, found = seen[0]
    assert found and not look(mark)
