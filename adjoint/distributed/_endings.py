"""How a process ends that others may wait for: an error ends all of them, at once; the others' normal end is waited for."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
from types import TracebackType
from typing import Any, NoReturn

from . import _mpi, _ulfm, _watchdog

_PATIENCE = 1.0  # seconds; how much later than one that calls sys.exit(3) the others may do so too
_installed: list[int] = []  # the process that has done it: a fork ends by itself
_code = [0]  # what sys.exit was called with
needed: list[object] = []  # what the others cannot do without this process, where they go on without those that are lost
_exit = os._exit


def install() -> None:
    """From now on the end of this process is told to the others."""
    if _installed:
        return
    _installed.append(os.getpid())
    shown, left = sys.excepthook, sys.exit

    def excepthook(kind: type[BaseException], value: BaseException, traceback: TracebackType | None) -> None:
        shown(kind, value, traceback)
        if _installed == [os.getpid()]:
            end(130 if issubclass(kind, KeyboardInterrupt) else 1)

    def exit(status: Any = None, /) -> NoReturn:
        # Python tells nobody the code that it ends with, and atexit's functions need it.
        _code[0] = status if isinstance(status, int) else int(status is not None)
        left(status)

    sys.excepthook, sys.exit = excepthook, exit
    if _ulfm.enabled():
        os._exit = _vanish
    atexit.register(_leave)


def end(code: int) -> NoReturn:
    """End all processes; where the others go on without those that are lost, this one."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    if _ulfm.enabled():
        _vanish(code)
    with contextlib.suppress(Exception):
        _mpi.abort(code)
    os._exit(code)


def _vanish(status: int) -> NoReturn:
    """End this process so that MPI tells the others: it does not if a process just exits."""
    if status and _installed == [os.getpid()]:
        os.kill(os.getpid(), signal.SIGKILL)
    _exit(status)


def _leave() -> None:
    """The others that still need this process are told that it has ended; MPI's own end would let them wait."""
    if _installed != [os.getpid()]:
        return
    if _ulfm.enabled():
        if needed:
            _vanish(1)
        return  # without MPI's own end, which waits for lost processes too
    for dog in _watchdog.current:
        dog.leave(f"has ended with exit code {_code[0]}" if _code[0] else "has ended")
        if not dog.meet(_PATIENCE if _code[0] else float("inf")):
            end(_code[0])
