"""Sums over the blocks of many arrays, which a table lists by address and length (updates.py)."""

from __future__ import annotations

from .loops import Doubles, Floats, Ints, at, loop, wide


@loop(reorder=True)
def squares(partial: Doubles, like: Floats, table: Ints, blocks: range) -> None:
    """The sum of the squares of each block."""
    for b in blocks:
        x = at(table[2 * b])
        total = 0.0
        for i in range(table[2 * b + 1]):
            total += x[i] * x[i]
        partial[b] = wide(total)
