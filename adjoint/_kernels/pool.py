"""A small thread pool for large arrays. No OpenMP: kernels release the GIL, and plain threads run pieces of one array side by side.

How an array is cut depends on its size only, never on the number of threads, so results are the same for any number. Small arrays never
come here. A forked child starts with no threads and makes its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Condition, Thread
from typing import Any

import numpy as np

PIECE = 1 << 16  # elements
MOST = 256  # threads


def usable_cpus() -> int:
    """CPUs that this process may use: its affinity, its cgroup's quota, and OMP_NUM_THREADS."""
    try:
        cpus = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        cpus = os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            cpus = min(cpus, max(1, round(int(quota) / int(period))))
    except (OSError, ValueError):
        pass
    wish = os.environ.get("OMP_NUM_THREADS", "")
    return min(cpus, int(wish)) if wish.isdigit() and int(wish) > 0 else cpus


class Job:
    """One function for the numbers below `pieces`, shared by all threads that are free."""

    __slots__ = ("error", "function", "next", "pending", "pieces")

    def __init__(self, function: Callable[[int], None], pieces: int) -> None:
        self.function = function
        self.pieces = pieces
        self.next = count().__next__
        self.pending = pieces
        self.error: BaseException | None = None

    def work(self) -> None:
        """Take pieces until there are none left."""
        while (piece := self.next()) < self.pieces:
            try:
                self.function(piece)
            except BaseException as error:
                self.error = error
            with _done:
                self.pending -= 1
                if not self.pending:
                    _done.notify_all()


_jobs: list[Job] = []
_arrived = Condition()
_done = Condition()
_workers: list[Thread] = []
_threads = 0
_listeners: list[Callable[[], None]] = []


def get_num_threads() -> int:
    """How many threads work on one large array."""
    global _threads
    if not _threads:
        _threads = usable_cpus()
    return _threads


def counted(threads: Any, asking: str) -> int:
    """A number of threads, as PyTorch takes it: an integer of 32 bits."""
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)):
        raise RuntimeError(f"{asking} expects an int, but got {type(threads).__name__}")
    if not -(1 << 31) <= threads < 1 << 31:
        raise ValueError(f"Overflow when unpacking long: {asking} expects at most {(1 << 31) - 1}, but got {threads}")
    if threads <= 0:
        raise RuntimeError(f"{asking} expects a positive integer")
    return int(threads)


def set_num_threads(threads: Any) -> None:
    """No more than `MOST` are ever started, whatever is asked for."""
    global _threads
    _threads = counted(threads, "set_num_threads")
    for notify in _listeners:
        notify()


def helpers_at_most(threads: int) -> int:
    """How many threads besides the calling one are to work."""
    return min(threads, MOST) - 1


def on_change(notify: Callable[[], None]) -> None:
    """Have a function called when the number of threads is set."""
    _listeners.append(notify)


def _serve() -> None:
    while True:
        with _arrived:
            while not _jobs:
                _arrived.wait()
            job = _jobs.pop()
        job.work()


def run(function: Callable[[int], None], pieces: int) -> None:
    """Call `function` with every number below `pieces`, on several threads at once; the calling thread works too."""
    helpers = helpers_at_most(min(get_num_threads(), pieces))
    if helpers <= 0:
        for piece in range(pieces):
            function(piece)
        return
    with suppress(RuntimeError):  # the system gives no more threads: those that there are do the work
        while len(_workers) < helpers:
            worker = Thread(target=_serve, name="adjoint-kernels", daemon=True)
            worker.start()
            _workers.append(worker)
    helpers = min(helpers, len(_workers))
    job = Job(function, pieces)
    with _arrived:
        _jobs.extend([job] * helpers)
        _arrived.notify(helpers)
    job.work()
    with _done:
        while job.pending:
            _done.wait()
    if job.error is not None:
        raise job.error


def _forget() -> None:
    """In a forked child: the threads were not copied, and a lock may have been held by one of them."""
    global _arrived, _done
    _jobs.clear()
    _workers.clear()
    _arrived, _done = Condition(), Condition()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
