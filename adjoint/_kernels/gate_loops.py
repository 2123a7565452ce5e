"""Gates: the first half of a row times the sigmoid of the second. Halves are cut into parts, which are the units: there may be one row."""

from __future__ import annotations

from .loops import Floats, Out, exp, loop

PART = 4096  # elements


@loop
def gated(out: Out, x: Floats, half: int, parts: int, units: range) -> None:
    for unit in units:
        row = unit // parts
        first = unit % parts * PART
        value = row * 2 * half
        gate = value + half
        for j in range(first, min(first + PART, half)):
            out[row * half + j] = x[value + j] / (1.0 + exp(-x[gate + j]))


@loop
def gated_back(out: Out, g: Floats, x: Floats, half: int, parts: int, units: range) -> None:
    for unit in units:
        row = unit // parts
        first = unit % parts * PART
        value = row * 2 * half
        gate = value + half
        for j in range(first, min(first + PART, half)):
            opening = 1.0 / (1.0 + exp(-x[gate + j]))
            passed = g[row * half + j] * opening
            out[value + j] = passed
            out[gate + j] = passed * x[value + j] * (1.0 - opening)
