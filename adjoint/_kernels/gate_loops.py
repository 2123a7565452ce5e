"""Gates: the first half of a row times the sigmoid of the second."""

from __future__ import annotations

from .loops import Floats, Out, exp, loop


@loop
def gated(out: Out, x: Floats, half: int, rows: range) -> None:
    for row in rows:
        value = row * 2 * half
        gate = value + half
        for j in range(half):
            out[row * half + j] = x[value + j] / (1.0 + exp(-x[gate + j]))


@loop
def gated_back(out: Out, g: Floats, x: Floats, half: int, rows: range) -> None:
    for row in rows:
        value = row * 2 * half
        gate = value + half
        for j in range(half):
            opening = 1.0 / (1.0 + exp(-x[gate + j]))
            passed = g[row * half + j] * opening
            out[value + j] = passed
            out[gate + j] = passed * x[value + j] * (1.0 - opening)
