"""Memory for huge arrays, used again after they are gone.

The system hands out huge blocks page by page, each cleared and mapped when it is first touched, and takes them back at once when they are
freed: half the time of an operation on ten million numbers goes into that. Blocks that come from here are kept when the last array that
uses them is gone, up to a limit, and given to the next array of about their size.

Smaller arrays come from NumPy, and so from the C library. GNU's gives memory back to the system whenever some megabytes at the end of its
heap are free, which a training step does to it many times; `keep_heap` has it keep what the last step used. On the network of the MNIST
example that is 3,000 page faults and a fifth of the time of a step. Whoever has set the thresholds in the environment keeps them.
"""

from __future__ import annotations

import ctypes
import math
import os
from threading import RLock
from typing import Any

import numpy as np

LIMIT = 512 * 2**20  # bytes that are kept while nobody uses them
HUGE = 1 << 24  # bytes of an array whose memory comes from here
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # from GNU's malloc.h
LINE = 64  # bytes of a line of the cache, where blocks begin
WASTE = 8  # a block may be larger than what is asked for by one part in so many

_kept: dict[int, Any] = {}  # by identity, the last used last
_lock = RLock()  # which the thread that has it may take again: the garbage collector can free a block at any moment


class Block(np.ndarray):
    """The base of arrays: bytes that go back to where they came from."""

    memory: Any = None

    def __del__(self) -> None:
        if self.memory is not None:
            keep(self.memory)


def keep(memory: Any) -> None:
    with _lock:
        _kept[id(memory)] = memory
        too_much = sum([block.nbytes for block in list(_kept.values())]) - LIMIT
        for key, block in list(_kept.items()):
            if too_much <= 0:
                break
            _kept.pop(key, None)
            too_much -= block.nbytes


def take(size: int) -> Any:
    """A block of at least so many bytes, the one used last: its memory is the nearest."""
    with _lock:
        for key, block in reversed(list(_kept.items())):
            if size <= block.nbytes <= size + size // WASTE and _kept.pop(key, None) is not None:
                return block
    room = np.empty(size + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + size]


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """A new array with whatever its memory held."""
    size = math.prod(shape) * dtype.itemsize
    memory = take(size)
    block = memory.view(Block)
    block.memory = memory
    return np.ndarray(shape, dtype, buffer=block[:size])


def is_whole(array: np.ndarray) -> bool:
    """Whether an array has all of its memory: it is no view, or one of a block that was made for it."""
    return array.base is None or array.base.__class__ is Block


def keep_heap() -> None:
    """Have the C library keep memory that is free; nothing happens where it is not GNU's."""
    if any(name in os.environ for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(M_TRIM_THRESHOLD, LIMIT // 2)
    mallopt(M_MMAP_THRESHOLD, 2 * HUGE)


def release() -> int:
    """Give everything that is kept back to the system; how many bytes that were."""
    with _lock:
        total: int = sum([block.nbytes for block in list(_kept.values())])
        _kept.clear()
    return total


def _forget() -> None:
    """In a forked child: the lock may have been held."""
    global _lock
    _lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
