"""One rank on each of two hosts."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from adjoint.distributed._mpiexec import mpi_environment, mpiexec
from tests.distributed.ranks import finish
from tests.hosts.hosts import ADDRESSES, program, two_hosts


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    with two_hosts(tmp_path_factory.mktemp("hosts")) as made:
        yield made


HERE = """
import socket
import adjoint as ad
from adjoint import distributed as dist

dist.init_process_group()
names = [None, None]
dist.all_gather_object(names, socket.gethostname())
total = ad.full((1000,), dist.get_rank() + 1.0)
dist.all_reduce(total)
assert total.eq(3).all()
if dist.get_rank() == 0:
    print(*names)
dist.destroy_process_group()
"""


def test_mpiexec_starts_a_rank_on_each_host(hosts):
    where = ",".join(f"{address}:1" for address in ADDRESSES)
    command = [mpiexec(), "--host", where, "-n", "2", "-x", "PYTHONPATH", sys.executable, program(hosts.folder, HERE)]
    job = hosts.run(0, *command, env=mpi_environment())
    assert job.code == 0, job
    assert " ".join(hosts.names) in job.text.splitlines(), job


def test_the_network_of_the_hosts_is_their_own(hosts):
    """What is reached is the other host: its address is nobody's here, and nothing else is reached at all."""
    reach = "import socket; socket.create_connection(('{}', 1), 1)"
    for address, error in ((ADDRESSES[1], "ConnectionRefusedError"), ("10.77.20.1", "Network is unreachable")):
        job = hosts.run(0, sys.executable, "-c", reach.format(address))
        assert error in job.text, job


def test_launch_starts_a_rank_on_each_host(hosts):
    """By one command, on one of them: the other is reached by ssh, finds the store, and its lines arrive."""
    command = [sys.executable, "-m", "adjoint", "launch", "--host", ",".join(ADDRESSES), program(hosts.folder, HERE + WORDS)]
    job = hosts.run(0, *command)
    assert job.code == 0, job
    assert f"[rank0]: {' '.join(hosts.names)}" in job.text.splitlines(), job
    assert f"[rank1]: 1 of 2, group 1, here 0 of 1, on {hosts.names[1]}" in job.text.splitlines(), job
    job = hosts.run(0, *command, env={"ADJOINT_FAIL": "1"})
    assert job.code == 3 and f"host      : {hosts.names[1]}\n  rank      : 1 (local_rank: 0)\n  exitcode  : 3" in job.text, job


@pytest.mark.parametrize("meet", [["--master-addr", ADDRESSES[0]], ["--rdzv-backend=c10d", f"--rdzv-endpoint={ADDRESSES[0]}:29400"]])
def test_every_host_runs_the_launcher(hosts, meet):
    """As torchrun is used, and without an ssh between them."""
    (hosts.folder / "ssh").rename(hosts.folder / "away")
    try:
        command = [sys.executable, "-m", "adjoint", "launch", "--nnodes=2", "--nproc-per-node=2", *meet]
        text = program(hosts.folder, WORDS)
        ranks = [[] if "c10d" in meet[0] else [f"--node-rank={i}"] for i in range(2)]
        for env, code in ({}, 0), ({"ADJOINT_FAIL": "1"}, 3):
            with ThreadPoolExecutor() as pool:
                jobs = [pool.submit(partial(hosts.run, i, *command, *ranks[i], text, env=env)) for i in range(2)]
                first, second = (job.result() for job in jobs)
            assert first.code == code and bool(second.code) == bool(code), (first, second)
            assert f"[rank3]: 3 of 4, group 1, here 1 of 2, on {hosts.names[1]}" in first.text.splitlines() or code, first
    finally:
        (hosts.folder / "away").rename(hosts.folder / "ssh")


WORDS = """
import os, socket, sys
names = ("RANK", "WORLD_SIZE", "GROUP_RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
print("{} of {}, group {}, here {} of {}, on".format(*map(os.environ.get, names)), socket.gethostname())
sys.exit(3 if os.environ.get("ADJOINT_FAIL") and os.environ["RANK"] == "1" else 0)
"""


TRAIN = """
import hashlib, socket
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
names = [None, None]
dist.all_gather_object(names, socket.gethostname())
torch.manual_seed(dist.get_rank())
layers = nn.Sequential(nn.Linear(8, 300), nn.Tanh(), nn.Linear(300, 300), nn.Tanh(), nn.Linear(300, 1))
model = DistributedDataParallel(layers, bucket_cap_mb=0.1)
optimizer = torch.optim.SGD(model.parameters(), 0.1, 0.9)
for _ in range(20):
    optimizer.zero_grad()
    model(torch.randn(16, 8)).pow(2).mean().backward()
    optimizer.step()
state = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
print("trained on", len({*names}), "hosts:", hashlib.sha256(state).hexdigest())
dist.destroy_process_group()
"""


def test_training_on_two_hosts_gives_the_bits_of_one(hosts):
    launch = [sys.executable, "-m", "adjoint", "launch"]
    script = program(hosts.folder, TRAIN)
    where = ["--host", ",".join(ADDRESSES), "--master-addr", ADDRESSES[0]]
    two = hosts.run(0, *launch, "--nnodes", "2", "--nproc-per-node", "1", *where, script)
    one = finish([*launch, "--nproc-per-node", "2", script], cwd=hosts.folder)
    for job, count in ((two, 2), (one, 1)):
        assert job.code == 0, job
        assert job.text.count(f"trained on {count} hosts") == 2, job
    results = {line.split()[-1] for job in (two, one) for line in job.text.splitlines() if "trained on" in line}
    assert len(results) == 1, (two.text, one.text)
