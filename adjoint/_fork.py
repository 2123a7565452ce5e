"""Forks: nothing that a child needs is in the hands of a thread that it does not have.

A child has only the thread that forked. A lock that another one held stays locked there for ever, and so does the import of a module that
another one had begun; ops import what they need when they are first called. So a fork waits until our locks are free and nobody imports
anything that ops may need, and keeps it that way while it lasts. It does not wait for the user's own modules, which may run as long as
they like while they are imported.
"""

from __future__ import annotations

import _imp
import os
import sys
import time
from _thread import get_ident
from typing import Any, TypeVar

try:
    from _frozen_importlib import _module_locks  # type: ignore[attr-defined]
except ImportError:  # this name is Python's own affair
    _module_locks = {}

PATIENCE = 60.0  # seconds. Nothing takes as long; whatever it is, it is not mended by waiting

NEEDED = {"adjoint", "llvmlite", "ml_dtypes", "numpy"} | sys.stdlib_module_names

Lock = TypeVar("Lock")

_locks: list[Any] = []
_held: list[Any] = []


def hold(lock: Lock) -> Lock:
    """A lock that a fork waits for."""
    _locks.append(lock)
    return lock


def importing() -> bool:
    """Whether another thread imports a module that is needed. Such a module has a lock, which is gone when it has been imported."""
    for name, reference in list(_module_locks.items()):
        if name.partition(".")[0] in NEEDED and (lock := reference()) is not None and getattr(lock, "owner", None) != get_ident():
            return True
    return False


def _before() -> None:
    """Take everything, or nothing: who holds one lock may be waiting for another one."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        busy = None
        for lock in _locks:
            if not lock.acquire(blocking=False):
                busy = lock
                break
            _held.append(lock)
        else:
            _imp.acquire_lock()  # without which no import begins
            if not importing():
                return
            _imp.release_lock()
        _release()
        if busy is None:
            time.sleep(0.001)
        elif busy.acquire(timeout=1.0):
            busy.release()
    _imp.acquire_lock()


def _release() -> None:
    while _held:
        _held.pop().release()


def _after() -> None:
    _imp.release_lock()
    _release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
