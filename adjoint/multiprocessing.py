"""PyTorch's `torch.multiprocessing`: Python's own module. Tensors are copied from process to process, unless `share_memory_` was called."""

from __future__ import annotations

import contextlib
import multiprocessing as _python
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing import connection
from typing import Any

from . import _sharing  # noqa: F401  # how tensors are pickled that go to another process

_strategy = ["file_system"]


def get_all_sharing_strategies() -> set[str]:
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    return _strategy[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Kept; there is one way of sharing."""
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"Unknown sharing strategy {new_strategy!r}: choose one of {sorted(get_all_sharing_strategies())}")
    _strategy[0] = new_strategy


# ---- starting a function in several processes ---------------------------------------------------------------------------------------


class ProcessException(Exception):  # noqa: N818
    """A process that was started has failed."""

    def __init__(self, msg: str, error_index: int, pid: int | None) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid


class ProcessRaisedException(ProcessException):
    """It has raised an error."""


class ProcessExitedException(ProcessException):
    """It has ended by itself."""

    def __init__(self, msg: str, error_index: int, error_pid: int | None, exit_code: int, signal_name: str | None = None) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


def _run(fn: Callable[..., Any], i: int, args: tuple[Any, ...], answer: Any) -> None:
    """What a process does; the text of an error goes to the one that has started it."""
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        answer.send(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """The processes that run a function."""

    def __init__(self, processes: list[Any], answers: list[Any]) -> None:
        self.processes, self._answers = processes, answers

    def pids(self) -> list[int | None]:
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one process ends, or all. True if all have ended; where one fails, the others are stopped and so does this."""
        running = {process.sentinel: i for i, process in enumerate(self.processes) if process.exitcode is None}
        if running:
            connection.wait(list(running), timeout)
        failed = next((i for i, process in enumerate(self.processes) if process.exitcode), None)
        if failed is None:
            return all(process.exitcode == 0 for process in self.processes)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join(grace_period)
        raise self._failure(failed)

    def _failure(self, i: int) -> ProcessException:
        process, answer = self.processes[i], self._answers[i]
        with contextlib.suppress(EOFError):  # it has said nothing
            text = f"\n\n-- Process {i} terminated with the following error:\n{answer.recv()}"
            return ProcessRaisedException(text, i, process.pid)
        if process.exitcode < 0:
            name = signal.Signals(-process.exitcode).name
            return ProcessExitedException(f"process {i} terminated with signal {name}", i, process.pid, process.exitcode, name)
        return ProcessExitedException(f"process {i} terminated with exit code {process.exitcode}", i, process.pid, process.exitcode)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn", numa_options: Any = None,
) -> ProcessContext | None:  # fmt: skip
    """Run `fn(i, *args)` in process i of `nprocs`, and wait for them; without `join`, give back what can be waited for."""
    if numa_options is not None:
        raise NotImplementedError("start_processes: adjoint does not choose the memory of processes; leave numa_options out")
    context: Any = _python.get_context(start_method)
    processes, answers = [], []
    for i in range(nprocs):
        answer, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, i, args, theirs), daemon=daemon)
        process.start()
        theirs.close()
        processes.append(process)
        answers.append(answer)
    started = ProcessContext(processes, answers)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """`start_processes`."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)

