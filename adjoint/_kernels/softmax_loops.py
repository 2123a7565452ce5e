"""Softmax and its logarithm, along rows or down columns.

For columns, a tensor is seen as matrices of `size` rows and `inner` columns, and a unit of work is a block of columns of one of them. NaN
anywhere makes the sum NaN, and so the whole result, whatever the largest element was.
"""

from __future__ import annotations

from typing import Any

from .loops import Bools, Doubles, Floats, Out, exactly, exp_negative, larger, log, loop, narrow, part, wide
from .sums import BLOCK, INFINITY, dot, largest, summed

COLUMNS = 64  # in a block
ROWS = 64  # short ones, in a block
SHORT = 32  # elements of a row


@part
def keep_powers(out: Out, x: Floats, start: int, stop: int, top: Any) -> Any:
    """Write `exp(x - top)`, and return its sum."""
    total = wide(0.0)
    for block in range(start, stop, BLOCK):
        some = 0.0
        for j in range(block, min(block + BLOCK, stop)):
            power = exp_negative(x[j] - top)
            out[j] = power
            some += power
        total += wide(some)
    return total


@part
def sum_powers(x: Floats, start: int, stop: int, top: Any) -> Any:
    total = wide(0.0)
    for block in range(start, stop, BLOCK):
        some = 0.0
        for j in range(block, min(block + BLOCK, stop)):
            some += exp_negative(x[j] - top)
        total += wide(some)
    return total


# ---- rows ---------------------------------------------------------------------------------------------------------------------------


@loop(reorder=True)
def softmax_rows(out: Out, x: Floats, size: int, rows: range) -> None:
    for i in rows:
        start, stop = i * size, i * size + size
        top = largest(x, start, stop)
        factor = narrow(1.0 / keep_powers(out, x, start, stop, top))
        for j in range(start, stop):
            out[j] = out[j] * factor


@loop(reorder=True)
def softmax_rows_back(grad: Out, g: Floats, out: Floats, scale: float, size: int, rows: range) -> None:
    factor = narrow(scale)
    for i in rows:
        start, stop = i * size, i * size + size
        mean = narrow(dot(g, out, start, stop))
        for j in range(start, stop):
            grad[j] = (g[j] - mean) * (out[j] * factor)


@loop(reorder=True)
def log_softmax_rows(out: Out, x: Floats, size: int, rows: range) -> None:
    for i in rows:
        start, stop = i * size, i * size + size
        top = largest(x, start, stop)
        shift = log(narrow(sum_powers(x, start, stop, top)))
        for j in range(start, stop):
            out[j] = exactly((x[j] - top) - shift)


@loop(reorder=True)
def log_softmax_rows_back(grad: Out, g: Floats, out: Floats, size: int, rows: range) -> None:
    for i in rows:
        start, stop = i * size, i * size + size
        total = narrow(summed(g, start, stop))
        for j in range(start, stop):
            grad[j] = g[j] - exp_negative(out[j]) * total


# ---- short rows: their exponentials are computed together, which makes vectors of them --------------------------------------------------


@loop(reorder=True)
def softmax_short(out: Out, x: Floats, logs: int, size: int, count: int, blocks: range) -> None:
    """A unit is a block of rows."""
    for b in blocks:
        first, last = b * ROWS, min(b * ROWS + ROWS, count)
        for i in range(first, last):
            start = i * size
            top = largest(x, start, start + size)
            for j in range(start, start + size):
                out[j] = x[j] - top
        for j in range(first * size, last * size):
            out[j] = exp_negative(out[j])
        for i in range(first, last):
            start = i * size
            total = 0.0
            for j in range(start, start + size):
                total += out[j]
            if logs:
                top = largest(x, start, start + size)
                shift = log(total)
                for j in range(start, start + size):
                    out[j] = exactly((x[j] - top) - shift)
            else:
                factor = 1.0 / total
                for j in range(start, start + size):
                    out[j] = out[j] * factor


# ---- columns ------------------------------------------------------------------------------------------------------------------------


@loop(reorder=True)
def softmax_columns(out: Out, x: Floats, tops: Out, sums: Doubles, logs: int, size: int, inner: int, blocks: range) -> None:
    """`tops` and `sums` have a place for each column; with `logs`, the result is the logarithm."""
    per = (inner + COLUMNS - 1) // COLUMNS
    for b in blocks:
        first = b % per * COLUMNS
        width = min(COLUMNS, inner - first)
        start = b // per * size * inner + first
        place = b // per * inner + first
        for k in range(width):
            tops[place + k] = -INFINITY
            sums[place + k] = 0.0
        for j in range(size):
            for k in range(width):
                tops[place + k] = larger(tops[place + k], x[start + j * inner + k])
        for j in range(size):
            for k in range(width):
                power = exp_negative(x[start + j * inner + k] - tops[place + k])
                sums[place + k] += wide(power)
                if not logs:
                    out[start + j * inner + k] = power
        for k in range(width):
            sums[place + k] = wide(log(narrow(sums[place + k]))) if logs else 1.0 / sums[place + k]
        for j in range(size):
            if logs:
                for k in range(width):
                    out[start + j * inner + k] = exactly((x[start + j * inner + k] - tops[place + k]) - narrow(sums[place + k]))
            else:
                for k in range(width):
                    out[start + j * inner + k] = out[start + j * inner + k] * narrow(sums[place + k])


@loop(reorder=True)
def softmax_columns_back(
    grad: Out, g: Floats, out: Floats, sums: Doubles, logs: int, size: int, inner: int, blocks: range
) -> None:
    per = (inner + COLUMNS - 1) // COLUMNS
    for b in blocks:
        first = b % per * COLUMNS
        width = min(COLUMNS, inner - first)
        start = b // per * size * inner + first
        place = b // per * inner + first
        for k in range(width):
            sums[place + k] = 0.0
        for j in range(size):
            if logs:
                for k in range(width):
                    sums[place + k] += wide(g[start + j * inner + k])
            else:
                for k in range(width):
                    sums[place + k] += wide(g[start + j * inner + k] * out[start + j * inner + k])
        for j in range(size):
            if logs:
                for k in range(width):
                    at = start + j * inner + k
                    grad[at] = g[at] - exp_negative(out[at]) * narrow(sums[place + k])
            else:
                for k in range(width):
                    at = start + j * inner + k
                    grad[at] = (g[at] - narrow(sums[place + k])) * out[at]


# ---- attention ----------------------------------------------------------------------------------------------------------------------


@loop(reorder=True)
def attention_rows(
    out: Out, x: Floats, allowed: Bools | None, bias: Floats | None, scale: float, causal: int, size: int, queries: int, masks: int,
    rows: range,
) -> None:  # fmt: skip
    """The softmax of `x * scale + bias` along rows, of which each belongs to a query: only where it is allowed, and with `causal` up to the
    query's own place. There are as many rows of masks. A row that may look at nothing becomes zero."""
    factor = narrow(scale)
    for i in rows:
        start = i * size
        stop = start + (min(i % queries + 1, size) if causal else size)
        if allowed is not None:
            for j in range(size):
                out[start + j] = x[start + j] * factor if allowed[i % masks * size + j] else -INFINITY
        elif bias is not None:
            for j in range(size):
                out[start + j] = x[start + j] * factor + bias[i % masks * size + j]
        else:
            for j in range(start, stop):
                out[j] = x[j] * factor
        top = largest(out, start, stop)
        if top == -INFINITY and (allowed is not None or bias is not None):
            top = 0.0
        total = wide(0.0)
        for block in range(start, stop, BLOCK):
            some = 0.0
            for j in range(block, min(block + BLOCK, stop)):
                power = exp_negative(out[j] - top)
                out[j] = power
                some += power
            total += wide(some)
        share = narrow(1.0 / total) if total != 0.0 else 0.0
        for j in range(start, stop):
            out[j] = out[j] * share
        for j in range(stop, start + size):
            out[j] = 0.0
