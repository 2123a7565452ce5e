"""Softmax and its logarithm, along rows or down columns.

For columns, a tensor is seen as matrices of `size` rows and `inner` columns, and a unit of work is a block of columns of one of them. NaN
anywhere makes the sum NaN, and so the whole result, whatever the largest element was.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import Along, dense, matrices
from .loops import (
    FLOATS,
    HALVES,
    Bools,
    Doubles,
    Floats,
    Out,
    Part,
    exactly,
    exp_negative,
    given,
    larger,
    log,
    loop,
    narrow,
    part,
    room,
    template,
    wide,
)  # fmt: skip
from .sums import BLOCK, INFINITY, dot, largest, summed

COLUMNS = 64  # in a block
ROWS = 64  # short ones, in a block
SHORT = 32  # elements of a row
LARGEST = 1 << 24  # rows of a matrix
COST = 4  # of an exponential function, in elements that are just read and written
ROOM = 4096  # elements of a row whose powers are kept; those of a longer one are computed twice


@part
def sum_powers(x: Floats, start: int, stop: int, top: Any) -> Any:
    total = wide(0.0)
    for block in range(start, stop, BLOCK):
        some = 0.0
        for j in range(block, min(block + BLOCK, stop)):
            some += exp_negative(x[j] - top)
        total += wide(some)
    return total


# ---- forward ------------------------------------------------------------------------------------------------------------------------


logarithmic = given  # whether the logarithm is wanted


@part
def yes() -> Any:
    return 1


@part
def no() -> Any:
    return 0


@template(reorder=True, kinds=(*FLOATS, *HALVES))
def along_rows(out: Out, x: Floats, sums: Doubles | None, p: float, n: int, inner: int, rows: int, tiles: int, units: range) -> None:
    """One row to a unit; of short rows a block, as long as there are any, whose powers are computed together: which makes vectors."""
    for unit in units:
        powers = room(ROOM)
        if n > SHORT:
            start, stop = unit * n, unit * n + n
            top = largest(x, start, stop)
            if logarithmic():
                shift = log(narrow(sum_powers(x, start, stop, top)))
                for j in range(start, stop):
                    out[j] = exactly((x[j] - top) - shift)
                continue
            kept = min(n, ROOM)
            total = wide(0.0)
            for block in range(0, kept, BLOCK):
                some = 0.0
                for j in range(block, min(block + BLOCK, kept)):
                    power = exp_negative(x[start + j] - top)
                    powers[j] = power
                    some += power
                total += wide(some)
            factor = narrow(1.0 / (total + sum_powers(x, start + kept, stop, top)))
            for j in range(kept):
                out[start + j] = powers[j] * factor
            for j in range(start + kept, stop):
                out[j] = exp_negative(x[j] - top) * factor
            continue
        first = min(unit * ROWS, rows)
        count = min(ROWS, rows - first)
        for i in range(count):
            start = (first + i) * n
            top = largest(x, start, start + n)
            for j in range(n):
                powers[i * n + j] = x[start + j] - top
        for j in range(count * n):
            powers[j] = exp_negative(powers[j])
        for i in range(count):
            start = (first + i) * n
            sum_of_row = 0.0
            for j in range(n):
                sum_of_row += powers[i * n + j]
            if logarithmic():
                top = largest(x, start, start + n)
                shift = log(sum_of_row)
                for j in range(start, start + n):
                    out[j] = exactly((x[j] - top) - shift)
            else:
                share = 1.0 / sum_of_row
                for j in range(n):
                    out[start + j] = powers[i * n + j] * share


@template(reorder=True, kinds=(*FLOATS, *HALVES))
def down_columns(out: Out, x: Floats, sums: Doubles, p: float, n: int, inner: int, rows: int, tiles: int, units: range) -> None:
    """A unit is a block of columns of one matrix. `sums` have a place for each column. If there is room, powers are kept; of many rows, in
    the result, if `p` says that it is precise enough."""
    in_result = int(p)
    for unit in units:
        first = unit % tiles * COLUMNS
        width = min(COLUMNS, inner - first)
        start = unit // tiles * n * inner + first
        place = unit // tiles * inner + first
        tops = room(COLUMNS)
        shifts = room(COLUMNS)
        powers = room(ROOM)
        in_room = n * width <= ROOM
        for k in range(width):
            tops[k] = -INFINITY
            sums[place + k] = 0.0
        for j in range(n):
            for k in range(width):
                tops[k] = larger(tops[k], x[start + j * inner + k])
        for j in range(n):
            if in_room:
                for k in range(width):
                    power = exp_negative(x[start + j * inner + k] - tops[k])
                    sums[place + k] += wide(power)
                    powers[j * width + k] = power
            elif in_result:
                for k in range(width):
                    power = exp_negative(x[start + j * inner + k] - tops[k])
                    sums[place + k] += wide(power)
                    out[start + j * inner + k] = power
            else:
                for k in range(width):
                    sums[place + k] += wide(exp_negative(x[start + j * inner + k] - tops[k]))
        for k in range(width):
            shifts[k] = log(narrow(sums[place + k])) if logarithmic() else narrow(1.0 / sums[place + k])
        for j in range(n):
            at = start + j * inner
            if logarithmic():
                for k in range(width):
                    out[at + k] = exactly((x[at + k] - tops[k]) - shifts[k])
            elif in_room:
                for k in range(width):
                    out[at + k] = powers[j * width + k] * shifts[k]
            elif in_result:
                for k in range(width):
                    out[at + k] = out[at + k] * shifts[k]
            else:
                for k in range(width):
                    out[at + k] = exp_negative(x[at + k] - tops[k]) * shifts[k]


class Softmax(Along):
    """A softmax, or its logarithm, with its kernels. It has no option."""

    kind, limits = "map", (LARGEST, LARGEST, COLUMNS)

    def __init__(self, name: str, logarithmic: Part) -> None:
        self.keeps = logarithmic is no  # powers in the result
        down = down_columns(f"{name}_down_columns", logarithmic=logarithmic)
        super().__init__(name, (down, along_rows(f"{name}_along_rows", logarithmic=logarithmic)))

    def by_python(self, x: np.ndarray, axis: Any, option: bool) -> np.ndarray | None:
        if x.__class__ is not np.ndarray or not x.size or (found := matrices(x.shape, axis)) is None:
            return None
        x, (outer, n, inner) = dense(x), found
        out, tiles = np.empty(x.shape, x.dtype), -(-inner // COLUMNS)
        if inner > 1:
            cut, sums = (outer * tiles, COST * n * min(inner, COLUMNS)), np.empty(outer * inner)
        else:
            cut, sums = (outer, COST * n) if n > SHORT else (-(-outer // ROWS), COST * n * ROWS), None
        if not self.kernels[inner == 1].run(out, x, sums, float(self.keeps and x.itemsize > 2), n, inner, outer, tiles, *cut):
            return None
        self.learn(x, out, inner == 1)
        return out


softmax = Softmax("softmax", no)
log_softmax = Softmax("log_softmax", yes)


def values(x: np.ndarray, dim: int) -> np.ndarray | None:
    return softmax.run(x, dim, False)


def log_values(x: np.ndarray, dim: int) -> np.ndarray | None:
    return log_softmax.run(x, dim, False)


# ---- backward -----------------------------------------------------------------------------------------------------------------------


@loop(reorder=True, kinds=(*FLOATS, *HALVES))
def softmax_rows_back(grad: Out, g: Floats, out: Floats, scale: float, size: int, rows: range) -> None:
    factor = narrow(scale)
    for i in rows:
        start, stop = i * size, i * size + size
        mean = narrow(dot(g, out, start, stop))
        for j in range(start, stop):
            grad[j] = (g[j] - mean) * (out[j] * factor)


@loop(reorder=True, kinds=(*FLOATS, *HALVES))
def log_softmax_rows_back(grad: Out, g: Floats, out: Floats, size: int, rows: range) -> None:
    for i in rows:
        start, stop = i * size, i * size + size
        total = narrow(summed(g, start, stop))
        for j in range(start, stop):
            grad[j] = g[j] - exp_negative(out[j]) * total


@loop(reorder=True, kinds=(*FLOATS, *HALVES))
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


def gradient(g: np.ndarray, out: np.ndarray, dim: int, scale: float = 1.0, logs: int = 0) -> np.ndarray | None:
    """That of `softmax(x * scale)`, or of its logarithm."""
    if not out.size or (found := matrices(out.shape, dim)) is None:
        return None
    (outer, n, inner), grad, g, out = found, np.empty(out.shape, out.dtype), dense(g), dense(out)
    if inner > 1:
        if scale != 1.0:
            return None
        tiles, work = outer * -(-inner // COLUMNS), n * min(inner, COLUMNS) * (COST if logs else 1)
        done = softmax_columns_back.run(grad, g, out, np.empty(outer * inner), logs, n, inner, tiles, work)
    elif logs:
        done = log_softmax_rows_back.run(grad, g, out, n, outer, n * COST)
    else:
        done = softmax_rows_back.run(grad, g, out, scale, n, outer, n)
    return grad if done else None


def log_gradient(g: np.ndarray, out: np.ndarray, dim: int) -> np.ndarray | None:
    return gradient(g, out, dim, 1.0, 1)


# ---- attention ----------------------------------------------------------------------------------------------------------------------


@part
def powers_of(x: Out, start: int, stop: int, top: Any, factor: Any) -> Any:
    """The powers of `(x - top) * factor` take the place of `x`; their sum."""
    total = wide(0.0)
    for block in range(start, stop, BLOCK):
        some = 0.0
        for j in range(block, min(block + BLOCK, stop)):
            power = exp_negative((x[j] - top) * factor)
            x[j] = power
            some += power
        total += wide(some)
    return total


@loop(reorder=True)
def attention_rows(
    out: Out, x: Floats, allowed: Bools | None, bias: Floats | None, scale: float, causal: int, size: int, queries: int, masks: int,
    rows: range,
) -> None:  # fmt: skip
    """The softmax of `x * scale + bias` along rows, of which each belongs to a query: only where it is allowed, and with `causal` only the
    first so many for the first query, and one more for each that follows. There are `masks` rows of masks. A row that may look at nothing
    becomes zero."""
    factor = narrow(scale)
    for i in rows:
        start = i * size
        stop = start + (min(i % queries + causal, size) if causal else size)
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
        total = powers_of(out, start, stop, top, 1.0)
        share = narrow(1.0 / total) if total != 0.0 else 0.0
        for j in range(start, stop):
            out[j] = out[j] * share
        for j in range(stop, start + size):
            out[j] = 0.0


def attention(scores: np.ndarray, mask: np.ndarray | None, scale: float, causal: int) -> np.ndarray | None:
    """The same of arrays, with a mask that broadcasts against the scores: what is allowed, or what is added."""
    shape = scores.shape
    if not scores.size or (mask is not None and not goes_with(mask.shape, shape)):
        return None
    allowed = bias = None
    masks, size = 1, shape[-1]
    if mask is not None:
        while mask.ndim > 2 and mask.shape[0] == 1:
            mask = mask[0]
        mask = np.ascontiguousarray(np.broadcast_to(mask, shape[len(shape) - mask.ndim :]))
        masks = mask.size // size
        allowed, bias = (mask, None) if mask.dtype == bool else (None, mask)
    out = np.empty(shape, scores.dtype)
    done = attention_rows.run(out, dense(scores), allowed, bias, scale, causal, size, shape[-2], masks, scores.size // size, size)
    return out if done else None


def goes_with(mask: tuple[int, ...], scores: tuple[int, ...]) -> bool:
    """Whether a mask of this shape broadcasts to that of the scores."""
    return len(mask) <= len(scores) and all(size in (1, wanted) for size, wanted in zip(mask[::-1], scores[::-1], strict=False))


@loop(reorder=True)
def attention_block(
    out: Out, tops: Out, shares: Out, allowed: Bools | None, bias: Floats | None, scale: float, causal: int, size: int, step: int,
    queries: int, masks: int, skipped: int, seen: int, rows: range,
) -> None:  # fmt: skip
    """The same of scores that are in `out`, in rows `step` apart, the first of which has the number `skipped`. The largest score goes to
    `tops`, and what the weights have to be multiplied by to `shares`. No query sees more than the first `seen` keys."""
    for i in rows:
        start = (i - skipped) * step
        stop = start + (min(i % queries + causal, size) if causal else size)
        factor = narrow(scale)
        if allowed is not None or bias is not None or scale <= 0.0:
            for j in range(start, stop):
                out[j] = out[j] * factor
            if allowed is not None:
                for j in range(size):
                    out[start + j] = out[start + j] if allowed[i % masks * size + j] else -INFINITY
            elif bias is not None:
                for j in range(size):
                    out[start + j] = out[start + j] + bias[i % masks * size + j]
            factor = narrow(1.0)
        top = largest(out, start, stop)
        if top == -INFINITY and (allowed is not None or bias is not None):
            top = 0.0
        total = powers_of(out, start, stop, top, factor)
        tops[i] = top
        shares[i] = narrow(1.0 / total) if total != 0.0 else 0.0
        for j in range(stop, start + seen):
            out[j] = 0.0


@loop(reorder=True)
def attention_slopes(
    weights: Out, slopes: Out, tops: Floats, shares: Floats, out: Floats, grad: Floats, allowed: Bools | None, bias: Floats | None,
    scale: float, causal: int, size: int, step: int, queries: int, masks: int, breadth: int, skipped: int, first: int, count: int,
    rows: range,
) -> None:  # fmt: skip
    """The way back for `count` keys from the `first` on: scores, in rows `step` apart, become weights, and the weights' gradients become
    those of the scores. `out` is what was computed, and `grad` its gradient."""
    for i in rows:
        start = (i - skipped) * step
        stop = start + (min(max(i % queries + causal - first, 0), count) if causal else count)
        top, share, mean = tops[i], shares[i], 0.0
        for c in range(i * breadth, (i + 1) * breadth):
            mean += out[c] * grad[c]
        factor = narrow(scale)
        if allowed is not None or bias is not None or scale <= 0.0:
            for j in range(start, stop):
                weights[j] = weights[j] * factor
            at = i % masks * size + first - start
            if allowed is not None:
                for j in range(start, stop):
                    weights[j] = weights[j] if allowed[at + j] else -INFINITY
            elif bias is not None:
                for j in range(start, stop):
                    weights[j] = weights[j] + bias[at + j]
            for j in range(start, stop):
                weights[j] = exp_negative(weights[j] - top) * share
        else:
            for j in range(start, stop):
                weights[j] = exp_negative((weights[j] - top) * factor) * share
        for j in range(start, stop):
            slopes[j] = (slopes[j] - mean) * weights[j] * factor
        for j in range(stop, start + count):
            weights[j] = 0.0
            slopes[j] = 0.0
