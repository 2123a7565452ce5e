"""Processes that no MPI launcher has started borrow the places of some that it has.

Rank 0 has `mpiexec` start as many place holders (`_place_holder.py`) as there are processes. Each of them sends the environment in which it
was started to the process of its rank, which takes it over before it loads MPI, and so becomes that rank of the job. The connection
between the two stays. A process that ends without having told its holder takes it along, and by that the whole job; and when the job ends,
so do all its processes, as they would if `mpiexec` had started them.
"""

from __future__ import annotations

import atexit
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import IO, Any, NoReturn

from ._mpiexec import mpi_environment, mpiexec
from ._stores import PrefixStore, Store

_LAUNCH = "start the processes with `python -m adjoint launch`"


def borrow(store: Store, rank: int, size: int, timeout: timedelta) -> None:
    """Make this process rank `rank` of an MPI job of `size` processes that all call this."""
    kept = PrefixStore("places", store)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        token = secrets.token_hex(16)
        own = {"host": socket.gethostname(), "port": listener.getsockname()[1], "token": token, "pid": os.getpid()}
        first = own if rank == 0 else json.loads(kept.get("0"))
        kept.set(str(rank), json.dumps(own))  # The last that is asked of the store: rank 0, which may keep it, goes on, and starts MPI.
        if first["host"] != own["host"]:
            raise RuntimeError(_on_several_machines([first, own]))
        job = _Job(kept, size) if rank == 0 else None
        connection, environment = _given(listener, token, job, timeout)
    os.environ.update(environment)
    _Bond(connection)


def _on_several_machines(processes: list[dict[str, Any]]) -> str:
    hosts = ", ".join(sorted({one["host"] for one in processes}))
    return f"the processes are on several machines ({hosts}), where only an MPI launcher can connect them; {_LAUNCH}"


class _Job:
    """The place holders, as rank 0 has started them."""

    def __init__(self, store: Store, size: int) -> None:
        processes = [json.loads(store.get(str(rank))) for rank in range(size)]
        self._processes = processes
        if len({one["host"] for one in processes}) > 1:
            self.fail(_on_several_machines(processes))
        try:
            launcher = mpiexec()
        except RuntimeError as error:
            self.fail(str(error))
        version = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False).stdout
        if "HYDRA" in version:
            self.fail(f"processes that mpiexec has not started cannot become ranks of MPICH; {_LAUNCH}")
        self._output: IO[str] = tempfile.TemporaryFile("w+")  # as long as the job
        self._process = subprocess.Popen(
            [launcher, "-n", str(size), sys.executable, "-S", str(Path(__file__).with_name("_place_holder.py"))],
            env={**os.environ, **mpi_environment(size), "ADJOINT_PLACES": json.dumps(processes)},
            stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output, text=True, start_new_session=True,
        )  # fmt: skip

    def check(self) -> None:
        if self._process.poll() is not None:
            self._output.seek(0)
            self.fail(f"mpiexec has ended before all processes had their places: {self._output.read().strip()}")

    def fail(self, words: str) -> NoReturn:
        """Tell all processes, each where its holder would have come."""
        for process in self._processes[1:]:
            with suppress(OSError), socket.create_connection(("127.0.0.1", process["port"])) as connection:
                connection.sendall(json.dumps({"token": process["token"], "failed": words}).encode() + b"\n")
        raise RuntimeError(words)


def _given(listener: socket.socket, token: str, job: _Job | None, timeout: timedelta) -> tuple[socket.socket, dict[str, str]]:
    """The connection to the holder of this process's place, and the environment that it sends."""
    listener.settimeout(0.1)
    moment = time.monotonic() + timeout.total_seconds()
    while True:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            if job is not None:
                job.check()
            if time.monotonic() > moment:
                raise RuntimeError(f"the processes have not become an MPI job within {timeout}; are all of them there?") from None
            continue
        connection.settimeout(None)
        with connection.makefile("r") as lines:
            message: dict[str, Any] = json.loads(lines.readline() or "{}")
        if message.get("token") == token and "environment" in message:
            return connection, message["environment"]
        connection.close()
        if message.get("token") == token:  # else it is somebody else
            raise RuntimeError(message["failed"])


class _Bond:
    """This process and the holder of its place end together."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._pid = connection, os.getpid()
        threading.Thread(target=self._watch, name="adjoint-place", daemon=True).start()
        atexit.register(self._leave)  # what is registered first is run last: after MPI, which is loaded later, has been finalized
        if "multiprocessing.process" in sys.modules and "__mp_main__" not in sys.modules:
            from multiprocessing import parent_process
            from multiprocessing.util import Finalize

            if parent_process() is not None:  # a forked process, which runs nothing of atexit's
                Finalize(None, self._leave_forked, exitpriority=-1000)

    def _leave_forked(self) -> None:
        """What atexit's functions would do. After an error nobody is told: the holder sees the process end, and ends the others."""
        error = sys.exc_info()[1]
        if error is None or (isinstance(error, SystemExit) and not error.code):
            from . import _endings

            _endings._leave()
            self._leave()

    def _leave(self) -> None:
        """Finalize MPI if nobody has, and tell the holder that all is well."""
        if os.getpid() != self._pid:  # a process that this one has forked has no place
            return
        from mpi4py import MPI

        if MPI.Is_initialized() and not MPI.Is_finalized():
            MPI.Finalize()
        self._pid = -1
        self._connection.sendall(b".")

    def _watch(self) -> None:
        try:
            self._connection.recv(1)
        except OSError:
            pass
        if self._pid != os.getpid():  # it has left
            return
        print("the MPI job has ended: another process of it has failed, or mpiexec was ended", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(2)  # a handler in Python is not run while MPI waits
        os.kill(os.getpid(), signal.SIGKILL)
