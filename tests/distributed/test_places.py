"""Processes that no MPI launcher has started become an MPI job, which ends as a whole, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from textwrap import dedent

import pytest

from adjoint.distributed import _places
from adjoint.distributed._mpiexec import mpi_environment
from adjoint.distributed._stores import HashStore
from tests.distributed import ranks

SPAWNED = Path(__file__).parent / "programs" / "spawned.py"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def spawned(method, how, address, *end):
    return ranks.finish([sys.executable, str(SPAWNED), method, how, str(address), *end])


@pytest.mark.parametrize(
    ("method", "how"), [("spawn", "environment"), ("spawn", "tcp"), ("spawn", "store"), ("fork", "file")]
)
def test_they_find_each_other(method, how, tmp_path):
    job = spawned(method, how, tmp_path / "meeting" if how in ("file", "store") else f"127.0.0.1:{free_port()}")
    assert job.code == 0 and all(f"rank {i} is done" in job.text for i in range(3)), job


@pytest.mark.parametrize(
    ("method", "end", "words"),
    [
        ("spawn", "killed", "process 1 terminated with signal SIGKILL"),
        ("spawn", "exits", "process 1 terminated with exit code 3"),
        ("spawn", "raises", "ValueError: rank 1 has enough"),
        ("fork", "raises", "ValueError: rank 1 has enough"),
    ],
)
def test_one_that_ends_takes_the_others_along(method, end, words, tmp_path):
    job = spawned(method, "file", tmp_path / "meeting", end)
    assert job.code == 1 and "is done" not in job.text and words in job.text, job


WAITING = """
import os, sys
import adjoint as ad
from adjoint import distributed as dist
dist.init_process_group("gloo", store=dist.FileStore(sys.argv[1], 2), rank=int(sys.argv[2]), world_size=2)
dist.barrier()
with open(f"{sys.argv[1]}.{sys.argv[2]}", "w") as file:
    file.write(os.environ["OMPI_COMM_WORLD_RANK"])
dist.recv(ad.ones(1), 1 - int(sys.argv[2]))
"""


@pytest.mark.parametrize(("victim", "place"), [("_place_holder", 2), ("prterun", 0)])
def test_when_the_job_is_killed_so_are_its_processes(victim, place, tmp_path):
    meeting = tmp_path / "meeting"
    environment = {**os.environ, "PYTHONPATH": str(ranks.ROOT), "ADJOINT_TEST_JOB": str(tmp_path)}
    started = [
        subprocess.Popen([sys.executable, "-c", WAITING, str(meeting), str(rank)], env=environment, stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    while not all((tmp_path / f"meeting.{rank}").exists() for rank in range(2)):
        assert all(process.poll() is None for process in started), [process.communicate() for process in started]
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in ranks.processes(str(tmp_path))}
    os.kill(min(pid for pid, command in commands.items() if victim in command.split("\0")[place]), signal.SIGKILL)
    for process in started:
        assert "the MPI job has ended" in process.communicate(timeout=60)[1] and process.returncode == -signal.SIGTERM
    while ranks.processes(str(tmp_path)):
        pass


def test_what_cannot_be_said(monkeypatch):
    store = HashStore()
    listener = socket.create_server(("127.0.0.1", 0))
    other = {"host": "there", "port": listener.getsockname()[1], "token": "t"}
    store.set("0", '{"host": "here"}')
    store.set("1", json.dumps(other))
    with pytest.raises(RuntimeError, match=r"on several machines \(here, there\).*python -m adjoint launch"):
        _places._Job(store, 2)
    with pytest.raises(RuntimeError, match=r"on several machines \(here, there\)"), listener:  # and the other is told
        _places._given(listener, "t", None, timedelta(seconds=60))
    store.set("places/0", '{"host": "another machine"}')
    with pytest.raises(RuntimeError, match=r"on several machines \(another machine, "):
        _places.borrow(store, 1, 2, timedelta(seconds=60))
    store.set("1", json.dumps(other | {"host": "here"}))
    monkeypatch.setattr(_places, "mpiexec", lambda: "echo")  # MPICH's launcher calls itself so
    monkeypatch.setattr(_places.subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 0, "HYDRA build details:"))
    with pytest.raises(RuntimeError, match="ranks of MPICH; start the processes with"):
        _places._Job(store, 2)


def test_who_has_started_mpi_before_is_told_so():
    program = """
        from mpi4py import MPI
        from adjoint import distributed as dist
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=2)
    """
    environment = {**os.environ, **mpi_environment()}
    ended = subprocess.run([sys.executable, "-c", dedent(program)], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 1 and "MPI was started in it before" in ended.stderr, ended.stderr
