"""PyTorch's `torch.multiprocessing`: Python's own module. Tensors are copied from process to process, unless `share_memory_` was called."""

from __future__ import annotations

import contextlib
import multiprocessing as _python
import signal
import sys
import time
import traceback
import warnings
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

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """It has raised an error."""


class ProcessExitedException(ProcessException):
    """It has ended by itself."""

    def __init__(self, msg: str, error_index: int, error_pid: int | None, exit_code: int, signal_name: str | None = None) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn: Callable[..., Any], i: int, args: tuple[Any, ...], answer: Any) -> None:
    """What a process does; the text of an error goes to the one that has started it."""
    _end_with_parent()
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        answer.send(traceback.format_exc())
        sys.exit(1)


def _end_with_parent() -> None:
    """Let the system interrupt this process when the one that has started it is gone, however that came."""
    if sys.platform == "linux":
        import ctypes

        ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # as in what a shell runs in the background
        ctypes.CDLL(None).prctl(1, signal.SIGTERM if ignored else signal.SIGINT)  # PR_SET_PDEATHSIG


class ProcessContext:
    """The processes that run a function."""

    def __init__(self, processes: list[Any], answers: list[Any]) -> None:
        self.processes = processes
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}  # those that have not been seen to end
        self._answers: dict[Any, int] = dict(zip(answers, range(len(answers)), strict=True))  # that may still come
        self._errors: dict[int, str] = {}
        self._first: int | None = None  # the process that failed first

    def pids(self) -> list[int | None]:
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one process ends, or all. True if all have ended; where one fails, the others are stopped and so does this."""
        ready: list[Any] = connection.wait([*self._answers, *self.sentinels], timeout) if self.sentinels else []
        # The text of an error comes before its process ends, and before others end because of it.
        for one in sorted(ready, key=lambda one: one in self.sentinels):
            i = self._hear(one) if one in self._answers else self._see_end(one)
            if self._first is None and (i in self._errors or self.processes[i].exitcode):
                self._first = i
        if self._first is None:
            return not self.sentinels
        self._stop(30.0 if grace_period is None else grace_period)
        raise self._failure(self._first)

    def _hear(self, answer: Any) -> int:
        """Whose answer it is, which may be that there is none."""
        i = self._answers.pop(answer)
        with contextlib.suppress(EOFError, OSError):
            self._errors[i] = answer.recv()
        return i

    def _see_end(self, sentinel: int) -> int:
        i = self.sentinels.pop(sentinel)
        self.processes[i].join()  # a sentinel may come a moment before the exit code
        return i

    def _stop(self, seconds: float) -> None:
        """End all processes: politely, and after some time not so."""
        for process in self.processes:
            if process.is_alive() and process is not self.processes[self._first or 0]:
                process.terminate()
        deadline = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(deadline - time.monotonic(), 0))
            if process.is_alive():
                process.kill()
                process.join()

    def _failure(self, i: int) -> ProcessException:
        process = self.processes[i]
        if i in self._errors:
            text = f"\n\n-- Process {i} terminated with the following error:\n{self._errors[i]}"
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
    """Run `fn(i, *args)` in process i of `nprocs`, each a new Python."""
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different start_method use:\n\t\t "
            "torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, "spawn")
