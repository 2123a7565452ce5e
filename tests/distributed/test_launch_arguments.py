"""The launcher's arguments: what they mean, what is refused, and the commands that they become."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from adjoint.distributed import DistNetworkError, TCPStore, _launching, _rank, launch, run
from adjoint.distributed._outputs import STDERR, STDOUT, streams

SCRIPT = ["program.py", "--lr", "1"]


@pytest.fixture
def commands(monkeypatch):
    """What would be started."""
    made: list[list[str]] = []

    def popen(command, **options):
        made.append(command)
        raise KeyboardInterrupt

    monkeypatch.setattr(_launching.subprocess, "Popen", popen)
    monkeypatch.setattr(_launching, "is_open_mpi", lambda: True)
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NUM_NODES"):
        monkeypatch.delenv(name, raising=False)

    def command(*arguments):
        with pytest.raises(KeyboardInterrupt):
            run.main([*arguments, *SCRIPT])
        words = made.pop()
        at = words.index(str(_rank.__file__))
        return words[: at - 1], json.loads(words[at + 1]), words[at + 2 :]

    return command


def test_on_this_machine(commands):
    before, plan, program = commands("--nproc-per-node", "4")
    assert Path(before[0]).name == "mpiexec" and before[1:] == ["-n", "4"] and program == SCRIPT
    assert plan["host"] == plan["environment"]["MASTER_ADDR"] == "127.0.0.1" and int(plan["environment"]["MASTER_PORT"])
    assert plan["environment"]["TORCHELASTIC_USE_AGENT_STORE"] == "True"
    assert commands("--nproc_per_node=1")[0] == commands("--standalone", "--nnodes=7")[0] == []  # no MPI
    assert commands("-m")[2] == ["-m", *SCRIPT]
    environment = commands("--master_addr", "::1", "--master-port=123", "--max-restarts=3")[1]["environment"]
    assert (environment["MASTER_ADDR"], environment["MASTER_PORT"], environment["TORCHELASTIC_MAX_RESTARTS"]) == ("::1", "123", "3")
    assert environment["TORCHELASTIC_USE_AGENT_STORE"] == "False"
    environment = commands("--rdzv-endpoint", "[::1]:456", "--rdzv-id=7")[1]["environment"]
    assert (environment["MASTER_ADDR"], environment["MASTER_PORT"], environment["TORCHELASTIC_RUN_ID"]) == ("::1", "456", "7")
    environment = commands("--nnodes=1", "--rdzv_backend=c10d", "--rdzv_endpoint=localhost:0")[1]["environment"]
    assert environment["TORCHELASTIC_USE_AGENT_STORE"] == "True" and environment["MASTER_PORT"] not in ("0", "29500")


def test_on_other_machines(commands, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    before, plan, _ = commands("--nproc-per-node=2", "--nnodes=2", "--host", "a,b", "--master-addr", "a", "--local-addr=c")
    assert before[1:3] == ["--host", "a:2,b:2"] and before[-2:] == ["-n", "4"] and plan["host"] == "c" and plan["per_node"] == 2
    assert (plan["environment"]["MASTER_ADDR"], plan["environment"]["MASTER_PORT"]) == ("a", "29500")
    assert "ppr:2:node:oversubscribe" in before and before[before.index("OMP_NUM_THREADS") - 1] == "-x"
    assert commands("--host=a,b,c", "--nnodes", "1:2")[0][-2:] == ["-n", "2"]
    (tmp_path / "hosts").write_text("a slots=4\n# none\nb\nb\n", encoding="utf-8")
    assert commands("--hostfile", str(tmp_path / "hosts"))[0][-2:] == ["-n", "2"]
    monkeypatch.setattr(_launching, "is_open_mpi", lambda: False)
    before, _, _ = commands("--nproc-per-node=2", "--host=a,b")
    assert before[1:5] == ["-hosts", "a:2,b:2", "-ppn", "2"]


def test_inside_a_slurm_allocation(commands, tmp_path, monkeypatch):
    srun = tmp_path / "srun"
    srun.write_text("#!/bin/sh\n", encoding="utf-8")
    srun.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "3")
    before, _, _ = commands("--nproc-per-node=2", "--nnodes=1:4")
    assert before == [str(srun), "--mpi=pmix", "--kill-on-bad-exit=1", "--nodes=3", "--ntasks=6", "--ntasks-per-node=2"]
    assert commands("--nproc-per-node=2", "--nnodes=2")[0][3:] == ["--nodes=2", "--ntasks=4", "--ntasks-per-node=2"]
    assert Path(commands("--nproc-per-node=2", "--host=a")[0][0]).name == "mpiexec"


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
         (3, 4, 1, 2)),
        ({"PMI_RANK": "2", "PMI_SIZE": "4", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "2"}, (2, 4, 0, 2)),
        ({"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": "1"}, (3, 4, 1, 2)),
        ({}, (0, 1, 0, 1)),
    ],
)  # fmt: skip
def test_what_launchers_say(environment, place, monkeypatch):
    for names in _rank._LAUNCHERS:
        for name in names:
            monkeypatch.delenv(name or "x", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert _rank.launched_as(2) == place


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nnodes=2"], r"--nnodes 2: which machines\? .*--host first,second"),
        (["--nnodes=2", "--host=a"], "1 machines are named, which is fewer"),
        (["--nnodes=x"], 'nnodes=x is not in "MIN:MAX" format'),
        (["--nnodes=3:2"], "nnodes=3:2"),
        (["--node-rank=1", "--nnodes=2"], "--node-rank 1: .*add --nnodes and --master-addr"),
        (["--nnodes=1:2", "--master-addr=localhost"], "--nnodes 1:2: every machine runs the launcher, so say how many there are"),
        (["--nproc-per-node=gpu"], "Cuda is not available"),
        (["--nproc-per-node=many"], "Unsupported nproc_per_node value: many"),
        (["--rdzv-backend=etcd"], "--rdzv-backend etcd: ranks need no service to meet"),
        (["--rdzv-conf=timeout=3,magic=1"], "magic=1: 'magic' is none of"),
        (["--rdzv-endpoint=a:b:c"], "write HOST:PORT"),
        (["--max-restarts=-1"], "write 0 or more"),
        (["--tee=5"], "'5' names no streams"),
    ],
)
def test_arguments_that_cannot_be(arguments, message, commands):
    with pytest.raises((_launching.LaunchError, ValueError, RuntimeError), match=message):
        run.main([*arguments, *SCRIPT])


def test_machines_that_do_not_come(monkeypatch):
    port = TCPStore("localhost", 0, is_master=True).port  # free again
    arguments = ["--nnodes=2", "--master-addr=localhost", f"--master-port={port}", "--rdzv-conf=join_timeout=0.05", *SCRIPT]
    with pytest.raises(_launching.LaunchError, match="there is no launcher of node 1"):
        run.main(arguments)
    with pytest.raises(DistNetworkError, match="The client socket has timed out"):
        run.main(["--node-rank=1", *arguments])


@pytest.mark.parametrize("argument", ["--numa-binding=node", "--virtual-local-rank", "--logs-specs=x", "--made-up"])
def test_arguments_that_are_refused(argument, capsys):
    with pytest.raises(SystemExit):
        run.parse_args([argument, *SCRIPT])
    assert argument.split("=")[0] in capsys.readouterr().err


def test_numbers_of_ranks():
    from adjoint._kernels.pool import usable_cpus

    assert run.determine_local_world_size("auto") == run.determine_local_world_size("cpu") == usable_cpus()
    assert run.parse_min_max_nnodes("2") == (2, 2) and run.parse_min_max_nnodes("2:4") == (2, 4)
    assert streams("3", 2) == {0: {STDOUT, STDERR}, 1: {STDOUT, STDERR}} and streams("0:1,2:2", 3) == {0: {STDOUT}, 2: {STDERR}}
    assert launch.parse_args(["--use_env", *SCRIPT]).use_env and not launch.parse_args(SCRIPT).use_env


def test_without_mpi_the_extra_is_named(tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text("print('started')", encoding="utf-8")
    hide = "import sys; sys.modules['mpi4py'] = None; from adjoint.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", hide, "launch", "--nproc-per-node=2", str(program)]
    job = subprocess.run(command, capture_output=True, text=True, check=False)
    assert job.returncode == 2 and job.stdout == "" and len(job.stderr.splitlines()) == 1 and "pip install 'adjoint[mpi]'" in job.stderr
    monkeypatch.setattr(_launching, "mpiexec", lambda: (_ for _ in ()).throw(RuntimeError("there is no mpiexec")))
    with pytest.raises(_launching.LaunchError, match="there is no mpiexec"):
        run.main(["--nproc-per-node=2", str(program)])
