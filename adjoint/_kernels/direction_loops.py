"""Directions of vectors, which are rows: each divided by its length, and the cosines of the angles between two.

A length below `eps` counts as `eps`. The forward kernels keep the lengths.
"""

from __future__ import annotations

from .loops import Floats, Out, loop, maximum, narrow, sqrt, wide
from .sums import dot


@loop(reorder=True)
def unit_rows(out: Out, lengths: Out, x: Floats, eps: float, size: int, rows: range) -> None:
    for i in rows:
        start = i * size
        length = narrow(sqrt(dot(x, x, start, start + size)))
        lengths[i] = length
        by = maximum(length, narrow(eps))
        for j in range(start, start + size):
            out[j] = x[j] / by


@loop(reorder=True)
def unit_rows_back(grad: Out, g: Floats, x: Floats, lengths: Floats, eps: float, size: int, rows: range) -> None:
    """Below `eps`, the length does not depend on the vector."""
    for i in rows:
        start = i * size
        by, less = maximum(lengths[i], narrow(eps)), 0.0
        if lengths[i] >= narrow(eps):
            less = narrow(dot(g, x, start, start + size)) / (by * by)
        for j in range(start, start + size):
            grad[j] = (g[j] - x[j] * less) / by


@loop(reorder=True)
def cosines(out: Out, lengths: Out, x: Floats, y: Floats, eps: float, size: int, rows: range) -> None:
    """Two lengths for each row, that in `x` and that in `y`."""
    for i in rows:
        start, stop = i * size, i * size + size
        first, second = sqrt(dot(x, x, start, stop)), sqrt(dot(y, y, start, stop))
        lengths[2 * i] = narrow(first)
        lengths[2 * i + 1] = narrow(second)
        out[i] = narrow(dot(x, y, start, stop) / (maximum(first, eps) * maximum(second, eps)))


@loop(reorder=True)
def cosines_back(
    x_grad: Out | None, y_grad: Out | None, g: Floats, out: Floats, x: Floats, y: Floats, lengths: Floats, eps: float, size: int,
    rows: range,
) -> None:  # fmt: skip
    """As in PyTorch, the length depends on the vector below `eps` too."""
    for i in rows:
        start, stop, least = i * size, i * size + size, narrow(eps)
        first, second = lengths[2 * i], lengths[2 * i + 1]
        share = narrow(wide(g[i]) / (wide(maximum(first, least)) * wide(maximum(second, least))))
        less = g[i] * out[i]
        if x_grad is not None:
            along = less / (maximum(first, least) * first) if first > 0.0 else 0.0
            for j in range(start, stop):
                x_grad[j] = y[j] * share - x[j] * along
        if y_grad is not None:
            along = less / (maximum(second, least) * second) if second > 0.0 else 0.0
            for j in range(start, stop):
                y_grad[j] = x[j] * share - y[j] * along
