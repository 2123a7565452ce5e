"""One rank ends, or stops: the others learn of it and end, whoever it is and however it happens."""

from __future__ import annotations

import pytest

from tests.distributed import ranks

PROGRAM = """
import os, signal, sys, time
from datetime import timedelta
import adjoint as ad
import adjoint.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=2))
kind, who = sys.argv[1], int(sys.argv[2])
x = ad.ones(3)
for step in range(3):
    if step == 2 and dist.get_rank() == who:
        if kind == "exception": raise ValueError("this rank's own")
        if kind == "exit": sys.exit(4)
        if kind == "end": break
        if kind == "destroy": dist.destroy_process_group(); break
        if kind in ("STOP", "KILL", "INT"): os.kill(os.getpid(), getattr(signal, "SIG" + kind))
        if kind == "message": dist.recv(x, 0)
    dist.all_reduce(x)
"""


@pytest.mark.parametrize(
    ("kind", "who", "code", "said"),
    [
        ("exception", 1, 1, "ValueError: this rank's own"),
        ("INT", 0, 130, "KeyboardInterrupt"),
        ("exit", 1, 4, ""),
        ("KILL", 0, 137, ""),
    ],
)
def test_a_rank_that_fails_ends_all_with_its_code(kind, who, code, said):
    job = ranks.run(2, PROGRAM, kind, str(who), timeout=40)
    assert job.code == code, job
    assert said in job.ranks[who], job


@pytest.mark.parametrize(("kind", "how"), [("end", "has ended"), ("destroy", "has called destroy_process_group")])
def test_who_waits_for_a_rank_that_has_left_is_told(kind, how):
    job = ranks.run(2, PROGRAM, kind, "0", timeout=40)
    assert job.code == 1, job
    assert f"in all_reduce, but rank 0 {how}\n    program.py:18   dist.all_reduce(x)\n  rank 0 {how}" in job.ranks[1], job


def test_every_rank_that_waits_too_long_tells_for_whom():
    job = ranks.run(3, PROGRAM, "STOP", "0", timeout=40)
    assert job.code == 1, job
    for rank, other in ((1, 2), (2, 1)):
        assert f"adjoint: rank {rank} has waited" in job.ranks[rank], job
        assert "in all_reduce, " in job.ranks[rank]
        assert "\n    program.py:18   dist.all_reduce(x)\n  rank 0 does not answer: it is stopped" in job.ranks[rank], job
        assert f"\n  rank {other} has come: program.py:18   dist.all_reduce(x) has been in all_reduce for" in job.ranks[rank], job


def test_a_barrier_has_a_timeout_of_its_own():
    program = """
    import time
    from datetime import timedelta
    import adjoint.distributed as dist

    dist.init_process_group("gloo")
    dist.barrier(timeout=timedelta(minutes=1))
    if dist.get_rank() == 0:
        dist.barrier(timeout=timedelta(seconds=1))
    time.sleep(60)
    """
    job = ranks.run(2, program, timeout=40)
    assert job.code == 1 and "in barrier, longer than the timeout of 1 s" in job.ranks[0], job


def test_a_rank_that_waits_elsewhere_is_told_apart():
    job = ranks.run(2, PROGRAM, "message", "1", timeout=40)
    assert job.code == 1, job
    assert '  rank 1 has not come: program.py:17   if kind == "message": dist.recv(x, 0) has been in recv for' in job.ranks[0], job
    assert "  rank 0 has not come: program.py:18   dist.all_reduce(x) has been in all_reduce for" in job.ranks[1], job


def test_a_rank_may_end_long_before_the_others():
    job = ranks.run(2, """
        import time
        import adjoint as ad
        import adjoint.distributed as dist

        dist.init_process_group()
        dist.barrier()
        if dist.get_rank() == 1:
            time.sleep(2)  # it computes, and needs nobody
            print("done")
    """, timeout=40)  # fmt: skip
    assert job.code == 0, job
    assert job.ranks[1] == "done\n"
