"""Sums over contiguous memory, as parts of kernels: blocks in the numbers' own type, several at a time, and their sums in double."""

from __future__ import annotations

from typing import Any

from .loops import Floats, larger, part, wide

INFINITY = float("inf")
BLOCK = 1024


@part
def largest(x: Floats, start: int, stop: int) -> Any:
    """The largest number; anything if one is NaN."""
    top = -INFINITY
    for j in range(start, stop):
        top = larger(top, x[j])
    return top


@part
def summed(x: Floats, start: int, stop: int) -> Any:
    total = wide(0.0)
    for block in range(start, stop, BLOCK):
        some = 0.0
        for j in range(block, min(block + BLOCK, stop)):
            some += x[j]
        total += wide(some)
    return total


@part
def dot(x: Floats, y: Floats, start: int, stop: int) -> Any:
    total = wide(0.0)
    for block in range(start, stop, BLOCK):
        some = 0.0
        for j in range(block, min(block + BLOCK, stop)):
            some += x[j] * y[j]
        total += wide(some)
    return total


@part
def spread(x: Floats, start: int, stop: int, mean: Any) -> Any:
    """The sum of the squares of the distances from `mean`."""
    total = wide(0.0)
    for block in range(start, stop, BLOCK):
        some = 0.0
        for j in range(block, min(block + BLOCK, stop)):
            distance = x[j] - mean
            some += distance * distance
        total += wide(some)
    return total


@part
def moment(g: Floats, x: Floats, start: int, stop: int, mean: Any) -> Any:
    """The sum of `g` times the distances from `mean`."""
    total = wide(0.0)
    for block in range(start, stop, BLOCK):
        some = 0.0
        for j in range(block, min(block + BLOCK, stop)):
            some += g[j] * (x[j] - mean)
        total += wide(some)
    return total
