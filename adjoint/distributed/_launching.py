"""Starting a program in several processes: by mpiexec, by Slurm's srun, or itself where there is one process only."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from . import _rank
from ._mpiexec import EXTRA, is_open_mpi, mpi_environment, mpiexec
from ._outputs import Outputs, Rank, Showing
from ._stores import TCPStore
from .elastic import ChildFailedError, ProcessFailure

_LIBRARY = Path(__file__).parents[2]
_GRACE = 2.0  # seconds in which a job with a failed rank should end by itself
_FINALIZING = 10.0  # and one whose ranks have all ended: MPI may wait in vain for some that were lost
# What goes to other machines of this one's environment.
_PASSED_ON = ("ADJOINT_", "OMPI_", "PRTE_", "PMIX_", "OMP_", "OPENBLAS_", "MKL_", "TORCH", "PYTHON")


# How mpiexec names the rank that made it end the others: Open MPI writes "rank 1 with PID" and "[prterun-host-7@1,1]", MPICH "RANK 1 PID".
_NAMED = re.compile(r"rank (\d+) (?:with )?PID|@\d+,(\d+)\]", re.IGNORECASE)


class LaunchError(Exception):
    """Nothing was started, and why."""


class Interrupted(BaseException):
    """A signal has ended the launcher, and all that it had started."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass
class Launch:
    """What to start, and how."""

    program: list[str]  # as after `python`, or after nothing with `no_python`
    per_node: int
    nodes: int = 1
    no_python: bool = False
    local_rank_argument: bool = False  # `--local-rank=N`, as torch.distributed.launch has it
    hosts: list[str] = field(default_factory=list)  # other machines, by name or `name:slots`
    hostfile: str | None = None
    remote_shell: str = ""  # what starts a command there (default: ssh)
    address: str = "127.0.0.1"  # where ranks reach the launcher
    master: tuple[str, int] | None = None  # where rank 0 keeps the store; None: the launcher does
    run_id: str = "none"
    role: str = "default"
    max_restarts: int = 0
    interval: float = 0.1  # seconds between looks at the processes
    shutdown_timeout: float = 30.0
    elastic: bool = False  # the ranks that are left go on without one that fails
    signals: Sequence[int] = (signal.SIGTERM, signal.SIGINT)
    showing: Callable[[int], Showing] = lambda attempt: Showing()

    @property
    def size(self) -> int:
        return self.nodes * self.per_node

    @property
    def elsewhere(self) -> bool:
        """Whether ranks run on other machines."""
        return self.nodes > 1 or bool(self.hosts or self.hostfile)


def start(launch: Launch, notice: Callable[[str], None]) -> ChildFailedError | None:
    """Start the program, and again where it fails as often as may be. None, or how the last one has failed."""
    with interrupted_by(launch.signals):
        for attempt in range(launch.max_restarts + 1):
            error = _attempt(launch, attempt)
            if error is None:
                return None
            if attempt < launch.max_restarts:
                notice(f"{error}\nrestart {attempt + 1} of {launch.max_restarts}")
        return error


def _attempt(launch: Launch, attempt: int) -> ChildFailedError | None:
    outputs = Outputs(launch.showing(attempt), launch.elsewhere)
    said = bytearray()
    try:
        store = TCPStore("127.0.0.1", 0, is_master=True) if launch.master is None else None
        command, environment = _command(launch, _plan(launch, outputs, store, attempt))
        started = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **environment},
            start_new_session=True,  # Ctrl-C is for the launcher, which ends the others in their order
        )  # fmt: skip
        well = False
        try:
            well = _watch(launch, started, outputs, said)
        finally:
            _end(started, outputs, launch.shutdown_timeout)
            outputs.complete(1.0)
            assert started.stdout is not None
            started.stdout.close()
    finally:
        outputs.close()
    return _judged(launch, 0 if well else started.returncode, outputs, said.decode(errors="replace"))


def _watch(launch: Launch, started: subprocess.Popen[bytes], outputs: Outputs, said: bytearray) -> bool:
    """Show what the ranks say until they have ended, or one has failed and the others have not ended with it.

    True if their programs have all ended as they should, but not their processes.
    """
    assert started.stdout is not None
    pipe = started.stdout.fileno()

    def hear() -> None:
        data = os.read(pipe, 1 << 16)
        said.extend(data)
        if not data:
            outputs.no_longer(pipe)

    outputs.also(pipe, hear)
    deadline = float("inf")
    while started.poll() is None and time.monotonic() < deadline:
        outputs.listen(launch.interval)
        if deadline == float("inf") and outputs.failed and not launch.elastic:
            deadline = time.monotonic() + _GRACE
        elif deadline == float("inf") and outputs.ended(launch.size):
            deadline = time.monotonic() + _FINALIZING
    while outputs.listen(0):
        pass
    return started.poll() is None and not outputs.failed


def _end(started: subprocess.Popen[bytes], outputs: Outputs, seconds: float) -> None:
    """End every process: mpiexec does it when it is told to, and otherwise it is done to all of them."""
    if started.poll() is None:
        started.terminate()
    deadline = time.monotonic() + seconds
    while started.poll() is None and time.monotonic() < deadline:
        outputs.listen(0.05)
    if started.poll() is None:
        here = socket.gethostname()
        for rank in outputs.ranks.values():
            if rank.host == here and rank.pid:
                with suppress(OSError):
                    os.kill(rank.pid, signal.SIGKILL)
        with suppress(OSError):
            os.killpg(started.pid, signal.SIGKILL)
    started.wait()


def _judged(launch: Launch, code: int, outputs: Outputs, said: str) -> ChildFailedError | None:
    if launch.elastic and any(rank.code == 0 for rank in outputs.ranks.values()):
        return None  # mpiexec's own code is that of some rank that was lost
    if code == 0 and not outputs.failed:
        return None
    name = next((part for part in launch.program if not part.startswith("-")), "the program")
    silent = [rank for rank in outputs.gone if outputs.ranks[rank].code is None]  # killed, or by os._exit
    named = [int(one or other) for one, other in _NAMED.findall(said)]
    silent.sort(key=lambda rank: rank not in named)
    if not outputs.failed and not silent:
        return ChildFailedError(name, {}, f"  exitcode  : {code}\n{said.strip()}")
    first = outputs.ranks[(outputs.failed or silent)[0]]
    if first.code is None:
        first.code = 128 - code if code > 128 else code  # mpiexec says 128 + the signal, and Popen the signal below 0
    failure = ProcessFailure(first.local_rank, first.pid, first.code, "<N/A>", first.error, first.line, first.host)
    return ChildFailedError(name, {first.rank: failure}, _others(outputs, first))


def _others(outputs: Outputs, first: Rank) -> str:
    """How the other ranks have ended."""
    rest = [outputs.ranks[number] for number in sorted(outputs.ranks) if number != first.rank]
    said = ", ".join(f"{rank.rank} ({'ended with it' if rank.code is None else f'exit code {rank.code}'})" for rank in rest)
    return f"  others    : rank {said}" if rest else ""


# ---- what is started ----------------------------------------------------------------------------------------------------------------


def _plan(launch: Launch, outputs: Outputs, store: TCPStore | None, attempt: int) -> dict[str, Any]:
    """What every rank is told; see `_rank`."""
    host, port = launch.master or (launch.address, store.port if store else 0)
    return {
        "host": launch.address,
        "port": outputs.port,
        "token": outputs.token,
        "per_node": launch.per_node,
        "no_python": launch.no_python,
        "local_rank_argument": launch.local_rank_argument,
        "library": str(_LIBRARY),
        "environment": {
            "MASTER_ADDR": host,
            "MASTER_PORT": str(port),
            "TORCHELASTIC_USE_AGENT_STORE": str(store is not None),
            "ROLE_NAME": launch.role,
            "TORCHELASTIC_RUN_ID": launch.run_id,
            "TORCHELASTIC_RESTART_COUNT": str(attempt),
            "TORCHELASTIC_MAX_RESTARTS": str(launch.max_restarts),
        },
    }


def _command(launch: Launch, plan: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """The command, and what it needs in the environment."""
    rank = [sys.executable, str(_rank.__file__), json.dumps(plan), *launch.program]
    if launch.size == 1 and not launch.elsewhere and not launch.elastic:
        return rank, {}
    _require_mpi()
    if "SLURM_JOB_ID" in os.environ and not (launch.hosts or launch.hostfile or launch.elastic) and (srun := shutil.which("srun")):
        placed = [f"--nodes={launch.nodes}", f"--ntasks={launch.size}", f"--ntasks-per-node={launch.per_node}"]
        return [srun, "--mpi=pmix", "--kill-on-bad-exit=1", *placed, *rank], mpi_environment(launch.per_node)
    environment = {**mpi_environment(launch.per_node), **_remote_shell(launch.remote_shell)}
    command = [mpiexec()]
    if launch.elastic:
        if not is_open_mpi():
            raise LaunchError(f"--elastic: only Open MPI lets ranks go on without those that fail; `{EXTRA}` installs it")
        command += ["--with-ft", "ulfm"]
    if launch.elsewhere:
        command += _on_hosts(launch, {**os.environ, **environment})
    return [*command, "-n", str(launch.size), *rank], environment


def _remote_shell(command: str) -> dict[str, str]:
    """How Open MPI, 5 and 4, is told to use something else than ssh, and to start everything from here."""
    if not command:
        return {}
    if not is_open_mpi():
        raise LaunchError("MPICH reaches other machines by ssh only; run the launcher on the first one alone, with --host first,second")
    own = {"PRTE_MCA_plm": "ssh", "PRTE_MCA_plm_ssh_agent": command, "PRTE_MCA_plm_ssh_no_tree_spawn": "1"}
    return {**own, "OMPI_MCA_plm": "rsh", "OMPI_MCA_plm_rsh_agent": command, "OMPI_MCA_plm_rsh_no_tree_spawn": "1"}


def _require_mpi() -> None:
    from importlib.util import find_spec

    if find_spec("mpi4py") is None:
        raise LaunchError(f"several processes talk to each other by MPI, and mpi4py is not installed; install both with `{EXTRA}`")
    try:
        mpiexec()
    except RuntimeError as error:
        raise LaunchError(str(error)) from None


def _on_hosts(launch: Launch, environment: dict[str, str]) -> list[str]:
    """Where the ranks go, and what of the environment goes with them."""
    if not launch.hosts and not launch.hostfile:
        raise LaunchError(
            f"--nnodes {launch.nodes}: which machines? One command starts the ranks on all of them, by ssh: name them with "
            "`--host first,second` or `--hostfile FILE`, or start it inside a Slurm allocation"
        )
    passed = [name for name in environment if name.startswith(_PASSED_ON)]
    names = [host if ":" in host else f"{host}:{launch.per_node}" for host in launch.hosts]
    if is_open_mpi():
        prefix = Path(mpiexec()).parent.parent
        where = ["--host", ",".join(names)] if names else ["--hostfile", str(launch.hostfile)]
        each = ["--map-by", f"ppr:{launch.per_node}:node:oversubscribe", "--prefix", str(prefix)]
        return [*where, *each, *(part for name in passed for part in ("-x", name))]
    where = ["-hosts", ",".join(names)] if names else ["-f", str(launch.hostfile)]
    return [*where, "-ppn", str(launch.per_node), "-genvlist", ",".join(passed)]


def own_address(hosts: Sequence[str]) -> str:
    """Where other machines reach this one: the address it has in the network in which they are."""
    for host in hosts:
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host.partition(":")[0], 9))  # which sends nothing
            address: str = probe.getsockname()[0]
            if not address.startswith("127."):
                return address
    return socket.gethostname()


@contextmanager
def interrupted_by(numbers: Sequence[int]) -> Iterator[None]:
    """Let signals end the launcher in its order: first the ranks, then itself."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Interrupted(number)

    try:
        before = {number: signal.signal(number, interrupt) for number in numbers}
    except ValueError:  # not in the main thread, which has to see to them
        before = {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
