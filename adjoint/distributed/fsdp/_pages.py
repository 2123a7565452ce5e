"""Memory that stays where it is while its content comes and goes."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

ALIGNMENT = 64  # bytes: where arrays in such memory begin


class Pages:
    """A block of memory whose pages can be given back to the system. Arrays on it keep their addresses, so what a graph has saved of
    them is right again when they have been written again."""

    def __init__(self, size: int) -> None:
        private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
        self._memory = mmap.mmap(-1, max(size, 1), **private)
        self.bytes: Any = np.frombuffer(self._memory, np.uint8)

    def release(self) -> None:
        """Give the memory back; it reads as zeros until it is written again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._memory.madvise(mmap.MADV_DONTNEED)


def aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
