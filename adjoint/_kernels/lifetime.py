"""What compiled code needs of a process: objects that outlive Python's own end, and a lock that forks and finalizers do not disturb."""

from __future__ import annotations

import ctypes
from threading import RLock
from typing import TypeVar

from .._fork import hold

T = TypeVar("T")

# Held while anything is compiled. It may be taken again by the thread that has it: the garbage collector can run a finalizer in the middle
# of a compilation, and that may call an op. Nothing is half compiled in a forked child: a fork waits.
compiling = hold(RLock())


def forever(thing: T) -> T:
    """An object that lives as long as the process. At the end Python clears its modules one after the other, while threads are still
    within compiled code, and built-in functions point to what is in a module that has been cleared."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing
