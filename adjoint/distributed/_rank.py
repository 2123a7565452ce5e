"""One rank: the file that a launcher runs in every process. It finds out which rank it is, and runs the program as that one.

Its output goes to the launcher through sockets that take the places of stdout and stderr, so that no line is mixed with another's and
what a killed process has written arrives. A third connection tells how the program has ended; when it breaks, the launcher is gone.

Only Python's own modules are imported before the environment is complete: NumPy reads how many threads to use when it is loaded.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import sys
import threading
from typing import Any

STDOUT, STDERR, CONTROL = "1", "2", "control"  # what a connection is for

# What each launcher tells the processes that it starts: rank, number of processes, and rank and number on this machine.
_LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""),
)


def launched_as(per_node: int) -> tuple[int, int, int, int]:
    """Rank, number of ranks, rank on this machine and number there, where the launcher puts `per_node` on each."""
    for rank, size, local_rank, local_size in _LAUNCHERS:
        if rank in os.environ:
            # A process that was started to join others is counted after them.
            number = int(os.environ[rank]) + int(os.environ.get("ADJOINT_ELASTIC_JOINS", "0"))
            here = int(os.environ.get(local_rank, number % per_node))
            return number, int(os.environ[size]), here, int(os.environ.get(local_size, per_node))
    return 0, 1, 0, 1  # started without an MPI launcher, alone


def complete_environment(plan: dict[str, Any]) -> int:
    """Set what torchrun sets for each rank. Returns the rank."""
    rank, size, local_rank, local_size = launched_as(plan["per_node"])
    own = {
        "RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": local_rank, "LOCAL_WORLD_SIZE": local_size, "GROUP_RANK": rank // plan["per_node"],
        "GROUP_WORLD_SIZE": -(-size // plan["per_node"]), "ROLE_RANK": rank, "ROLE_WORLD_SIZE": size,
    }  # fmt: skip
    os.environ.update({name: str(value) for name, value in own.items()})
    os.environ.update(plan["environment"])
    threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, _cores() // local_size))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = os.environ.get(name) or threads
    return rank


def _cores() -> int:
    given = os.environ.get("SLURM_CPUS_PER_TASK", "")
    if given.isdigit():
        return int(given) * int(os.environ["LOCAL_WORLD_SIZE"])
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Reporter:
    """The connection to the launcher."""

    def __init__(self, plan: dict[str, Any], rank: int) -> None:
        self._address, self._hello = (plan["host"], plan["port"]), f"{plan['token']} {rank} {os.environ['LOCAL_RANK']}"
        for stream in (STDOUT, STDERR):
            with self._connected(stream) as connection:
                os.dup2(connection.fileno(), int(stream))
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        self._control = self._connected(CONTROL)
        self._tell(pid=os.getpid(), host=socket.gethostname())
        os.register_at_fork(after_in_child=self._control.close)  # a child must not keep it open
        self._well = 0  # the process whose program has ended as it should
        atexit.register(self._ended_well)  # the first to be registered is the last to run: then only MPI is left to end
        threading.Thread(target=self._watch, name="launcher", daemon=True).start()

    def _connected(self, stream: str) -> socket.socket:
        connection = socket.create_connection(self._address, 60)
        connection.settimeout(None)
        connection.sendall(f"{self._hello} {stream}\n".encode())
        return connection

    def _watch(self) -> None:
        """The launcher says nothing; when it is gone, so is the job."""
        try:
            self._control.recv(1)
        except OSError:
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    def _tell(self, **facts: Any) -> None:
        self._control.sendall((json.dumps(facts) + "\n").encode())

    def ended(self, code: int, error: BaseException | None = None) -> None:
        """Tell how the program has failed, before anybody else learns of it: what follows from it shall be told later."""
        if code == 0:
            self._well = os.getpid()
            return
        sys.stdout.flush()
        sys.stderr.flush()
        self._tell(code=code, error=_sentence(error), line=_line(error))

    def _ended_well(self) -> None:
        if self._well == os.getpid():
            self._tell(code=0)


def _sentence(error: BaseException | None) -> str:
    if error is None or isinstance(error, SystemExit):
        return ""
    text = f"{type(error).__name__}: {error}".strip().splitlines()[0]
    return text if len(text) <= 200 else text[:200] + "..."


def _line(error: BaseException | None) -> str:
    """Where the user's program was: the last line of the traceback that is not a library's."""
    from adjoint._site import is_user
    from adjoint.cli.run import own_frames

    where, python = "", str(os.__file__).removesuffix("os.py")
    traceback = own_frames(error) if error is not None else None
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if is_user(name) and not name.startswith(("<frozen", python)) and "site-packages" not in name:
            where = f"{name}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return where


def run_program(plan: dict[str, Any], program: list[str], reporter: Reporter) -> int:
    """Run it in this process, with adjoint in PyTorch's place; its exit code."""
    from adjoint.cli.run import NoProgramError, own_frames, run

    if plan["local_rank_argument"]:
        program.insert(2 if program[0] == "-m" else 1, f"--local-rank={os.environ['LOCAL_RANK']}")
    try:
        run(program)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        reporter.ended(code, error)
        sys.exit(error.code)
    except NoProgramError as error:
        reporter.ended(2, error)
        sys.exit(f"python -m adjoint launch: {error}")
    except BaseException as error:
        reporter.ended(130 if isinstance(error, KeyboardInterrupt) else 1, error)
        sys.excepthook(type(error), error, own_frames(error))
        return 1
    reporter.ended(0)
    return 0


def run_command(command: list[str], reporter: Reporter) -> int:
    """Run any program in a process of its own."""
    import subprocess

    try:
        code = subprocess.run(command, check=False).returncode
    except OSError as error:
        print(f"python -m adjoint launch: {command[0]}: {error.strerror}", file=sys.stderr)
        code = 127
    reporter.ended(code)
    return code if code >= 0 else 128 - code


def main(text: str, *program: str) -> int:
    plan = json.loads(text)
    reporter = Reporter(plan, complete_environment(plan))
    if plan["no_python"]:
        return run_command(list(program), reporter)
    sys.path[0] = plan["library"]  # not this file's folder; `run` puts the program's own there
    return run_program(plan, list(program), reporter)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
