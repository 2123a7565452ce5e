"""Memory for huge arrays, used again after they are gone.

The system hands out huge blocks page by page, each cleared and mapped when it is first touched, and takes them back at once when they are
freed: half the time of an operation on ten million numbers goes into that. Blocks that come from here are kept when the last array that
uses them is gone, up to a limit, and given to the next array of about their size.
"""

from __future__ import annotations

import math
import os
from threading import Lock
from typing import Any

import numpy as np

LIMIT = 512 * 2**20  # bytes that are kept while nobody uses them
WASTE = 8  # a block may be larger than what is asked for by one part in so many

_kept: list[Any] = []  # the last used last
_lock = Lock()


class Block(np.ndarray):  # type: ignore[type-arg]
    """The base of arrays: bytes that go back to where they came from."""

    memory: Any = None

    def __del__(self) -> None:
        if self.memory is not None:
            keep(self.memory)


def keep(memory: Any) -> None:
    with _lock:
        _kept.append(memory)
        while sum(block.nbytes for block in _kept) > LIMIT:
            del _kept[0]


def take(size: int) -> Any:
    """A block of at least so many bytes, the one used last: its memory is the nearest."""
    with _lock:
        for place in reversed(range(len(_kept))):
            if size <= _kept[place].nbytes <= size + size // WASTE:
                return _kept.pop(place)
    return np.empty(size, np.uint8)


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """A new array with whatever its memory held."""
    size = math.prod(shape) * dtype.itemsize
    memory = take(size)
    block = memory.view(Block)
    block.memory = memory
    return np.ndarray(shape, dtype, buffer=block[:size])


def release() -> int:
    """Give everything that is kept back to the system; how many bytes that were."""
    with _lock:
        total = sum(block.nbytes for block in _kept)
        _kept.clear()
    return total


def _forget() -> None:
    """In a forked child: the lock may have been held."""
    global _lock
    _lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
