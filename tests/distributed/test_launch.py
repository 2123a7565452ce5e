"""`python -m adjoint launch`: real ranks under mpiexec."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.distributed.ranks import ROOT, finish

LAUNCH = [sys.executable, "-m", "adjoint", "launch"]


@pytest.fixture
def launch(tmp_path):
    def launch(program, *options, module=None, arguments=(), env=None, command=LAUNCH):
        path = tmp_path / "program.py"
        path.write_text(program, encoding="utf-8")
        return finish([*command, *options, module or str(path), *arguments], env=env, cwd=tmp_path)

    return launch


def of_rank(job, rank):
    """The lines of one rank."""
    mark = f"[rank{rank}]: "
    return [line.removeprefix(mark) for line in job.text.splitlines() if line.startswith(mark)]


FACTS = """
import json, os, sys
names = ("RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK ROLE_WORLD_SIZE ROLE_NAME TORCHELASTIC_RUN_ID "
         "TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS OMP_NUM_THREADS OPENBLAS_NUM_THREADS").split()
import torch, torch.distributed as dist
dist.init_process_group("gloo")
x = torch.ones(2) * (dist.get_rank() + 1)
dist.all_reduce(x)
facts = {name: os.environ.get(name) for name in names}
where = [os.environ["MASTER_ADDR"] == "127.0.0.1", int(os.environ["MASTER_PORT"]) > 0]
print(json.dumps([facts, sys.argv[1:], x.tolist(), torch.get_num_threads(), __name__, where, dist.is_torchelastic_launched()]))
print("to stderr", file=sys.stderr)
dist.destroy_process_group()
"""


def test_every_rank_knows_which_it_is(launch):
    import json

    options = ["--nproc_per_node=3", "--rdzv-id", "job", "--role=trainer", "--max-restarts=2", "--rdzv-backend=c10d"]
    job = launch(FACTS, *options, arguments=["a", "--lr", "1"], env={"OMP_NUM_THREADS": ""})
    assert job.code == 0, job
    for rank in range(3):
        told, to_stderr = sorted(of_rank(job, rank))
        facts, arguments, total, threads, name, where, elastic = json.loads(told)
        assert facts == {
            "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "3", "LOCAL_WORLD_SIZE": "3", "GROUP_RANK": "0",
            "GROUP_WORLD_SIZE": "1", "ROLE_RANK": str(rank), "ROLE_WORLD_SIZE": "3", "ROLE_NAME": "trainer", "TORCHELASTIC_RUN_ID": "job",
            "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "2",
            "OMP_NUM_THREADS": facts["OMP_NUM_THREADS"], "OPENBLAS_NUM_THREADS": facts["OMP_NUM_THREADS"],
        }  # fmt: skip
        assert int(facts["OMP_NUM_THREADS"]) == threads == max(1, len(os.sched_getaffinity(0)) // 3)
        assert arguments == ["a", "--lr", "1"] and total == [6.0, 6.0] and name == "__main__" and all(where) and elastic
        assert to_stderr == "to stderr"


def test_one_rank_needs_no_mpi_and_no_prefix(launch):
    program = """
import os, sys
import adjoint as ad
from adjoint import distributed as dist
dist.init_process_group()
print("rank", dist.get_rank(), "of", dist.get_world_size(), "mpi4py" in sys.modules, os.environ["OMP_NUM_THREADS"])
"""
    job = launch(program, env={"OMP_NUM_THREADS": "7", "PATH": "/nowhere"})
    assert (job.code, job.text) == (0, "rank 0 of 1 False 7\n")


def test_lines_are_whole_and_none_is_lost(launch):
    program = """
import os, sys, threading
for i in range(2000):
    for part in (os.environ["RANK"], " line ", str(i), "\\n"):
        os.write(1, part.encode())
os.write(1, b"10%\\r20%\\r\\n\\xff\\n")
os.write(1, "no end ü".encode())
os.kill(os.getpid(), 9) if os.environ["RANK"] == "1" else os._exit(0)
"""
    job = launch(program, "--nproc-per-node", "2")
    for rank in range(2):
        assert of_rank(job, rank) == [*(f"{rank} line {i}" for i in range(2000)), "10%", "20%", "\ufffd", "no end ü"]
    assert job.code == 137 and re.search(r"rank      : 1 \(local_rank: 1\)\n  exitcode  : -9 \(SIGKILL\)", job.text), job.text[-1500:]


FAIL = """
import os, sys, time
import torch, torch.distributed as dist
dist.init_process_group()
dist.barrier()
if dist.get_rank() == 1:
    {how}
try:
    dist.all_reduce(torch.ones(1))
except BaseException as error:
    print("then this one fails too")
    raise
time.sleep(100)
"""


@pytest.mark.parametrize(
    ("how", "code", "facts"),
    [
        ("import json; json.loads('bad thing')", 1, ["exitcode  : 1 (pid", "error     : JSONDecodeError: Expecting value", "program.py:7"]),
        ("sys.exit(3)", 3, ["exitcode  : 3 (pid", "program.py:7"]),
        ("os._exit(4)", 4, ["exitcode  : 4 (pid"]),
        ("os.kill(os.getpid(), 11)", 139, ["exitcode  : -11 (SIGSEGV)"]),
    ],
)
def test_when_one_rank_fails_all_end(launch, how, code, facts):
    job = launch(FAIL.format(how=how), "--nproc-per-node", "2")
    assert job.code == code, job
    assert "rank      : 1 (local_rank: 1)" in job.text, job
    for fact in facts:
        assert fact in job.text, job
    if "json" in how:
        lines = [line for line in job.text.splitlines() if "[rank" in line]
        first = lines.index("[rank1]: Traceback (most recent call last):")
        assert not any(line.startswith("[rank0]:") and ("Error" in line or "Traceback" in line) for line in lines[:first]), job
        assert lines[first + 1].startswith('[rank1]:   File "') and "program.py" in lines[first + 1], job  # nothing of the launcher's


def test_started_again(launch):
    program = """
import os, sys
count = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
print("attempt", count)
sys.exit(5 if os.environ["RANK"] == "0" and count < 1 else 0)
"""
    job = launch(program, "--nproc-per-node", "2", "--max-restarts", "2")
    assert job.code == 0 and of_rank(job, 0) == ["attempt 0", "attempt 1"], job
    assert "restart 1 of 2" in job.text and "restart 2 of 2" not in job.text and "exitcode  : 5" in job.text
    job = launch(program.replace("count < 1", "count < 2"), "--max-restarts", "1")
    assert job.code == 5 and job.text.count("attempt ") == 2 and "restart 1 of 1" in job.text, job


def test_output_to_files(launch, tmp_path):
    program = "import os, sys; print('out', os.environ['LOCAL_RANK']); print('err', os.environ['LOCAL_RANK'], file=sys.stderr)"
    options = ["--log-dir", str(tmp_path / "logs"), "--redirects", "0:3", "--tee", "1:1", "--local-ranks-filter=0,1", "--rdzv_id=job"]
    job = launch(program, "--nproc-per-node", "3", *options)
    assert job.code == 0 and sorted(job.text.splitlines()) == ["[rank1]: err 1", "[rank1]: out 1"], job
    files = {str(path.relative_to(next((tmp_path / "logs").iterdir()))): path.read_text() for path in (tmp_path / "logs").rglob("*.log")}
    assert files == {"attempt_0/0/stdout.log": "out 0\n", "attempt_0/0/stderr.log": "err 0\n", "attempt_0/1/stdout.log": "out 1\n"}


def test_prefixes_of_ones_own(launch):
    env = {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "<${role_name} ${local_rank}/${rank}>"}
    job = launch("print('here')", "--nproc-per-node", "2", env=env)
    assert sorted(job.text.splitlines()) == ["<default 0/0> here", "<default 1/1> here"], job


def test_modules_commands_and_the_old_launcher(launch, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "train.py").write_text("import os, sys; print(__name__, sys.argv[1:], os.environ['RANK'])", encoding="utf-8")
    job = launch("", "-m", module="package.train", arguments=["x"])
    assert (job.code, job.text) == (0, "__main__ ['x'] 0\n"), job
    job = launch("", "--nproc-per-node", "2", "--no-python", module="sh", arguments=["-c", "echo $RANK; exit $RANK"])
    assert job.code == 1 and of_rank(job, 1) == ["1"] and "exitcode  : 1" in job.text, job
    old = [sys.executable, "-m", "adjoint.distributed.launch"]
    program = "import sys; print(sys.argv[1:])"
    job = launch(program, "--nproc_per_node=2", arguments=["x"], command=old)
    assert job.code == 0 and of_rank(job, 1) == ["['--local-rank=1', 'x']"], job
    as_torch = [sys.executable, "-m", "adjoint", "run", "-m", "torch.distributed.launch"]
    job = launch(program, "--use_env", arguments=["x"], command=as_torch)
    assert (job.code, job.text) == (0, "['x']\n"), job


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_ranks(tmp_path, number):
    program = tmp_path / "program.py"
    program.write_text("import os, time; print('pid', os.getpid(), flush=True); time.sleep(300)", encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([*LAUNCH, "--nproc-per-node=2", str(program)], stdout=subprocess.PIPE, text=True, env=env) as job:
        try:
            assert job.stdout is not None
            pids = [int(job.stdout.readline().split()[-1]) for _ in range(2)]
            job.send_signal(number)
            assert job.wait(60) == 128 + number
            assert not any(alive(pid) for pid in pids)
        finally:
            job.kill()


def alive(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    except OSError:
        return False


def test_elastic_ranks_go_on(launch):
    program = """
import os, time
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Set_errhandler(MPI.ERRORS_RETURN)
world.Barrier()
if world.rank == 1:
    os.kill(os.getpid(), 9)
try:
    while True:
        world.Barrier()
except MPI.Exception:
    world.Revoke()
rest = world.Shrink()
print("left", rest.allreduce(1))
"""
    job = launch(program, "--nproc-per-node", "3", "--elastic")
    assert job.code == 0 and of_rank(job, 0) == of_rank(job, 2) == ["left 2"], job


def test_ranks_that_cannot_end_are_ended(tmp_path, monkeypatch, capfd):
    """As MPI may be, waiting for a rank that was lost; their programs have done their work."""
    from adjoint.distributed import _launching, run

    program = tmp_path / "program.py"
    program.write_text("import ctypes; ctypes.pythonapi.Py_AtExit(ctypes.CDLL(None).pause); print('done')", encoding="utf-8")
    monkeypatch.setattr(_launching, "_FINALIZING", 0.1)
    run.main([str(program)])
    assert capfd.readouterr().out == "done\n"
