"""Losses that ask for a margin between the scores of classes. As in loss_loops.py, a block of rows puts three numbers into `notes`: the sum
of its losses, the number of its rows, and how many targets were wrong."""

from __future__ import annotations

from typing import Any

from .loops import Doubles, Floats, Ints, Out, loop, narrow, part, select, wide
from .loss_loops import note
from .sums import BLOCK

ROWS = 32  # in a block


@part
def hinges(x: Floats, first: int, last: int, shift: Any, square: int) -> Any:
    """The sum of what is above zero of `x + shift`, or of its squares."""
    total = wide(0.0)
    for begin in range(first, last, BLOCK):
        some = 0.0
        if square:
            for j in range(begin, min(begin + BLOCK, last)):
                above = select(x[j] + shift > 0.0, x[j] + shift, 0.0)
                some += above * above
        else:
            for j in range(begin, min(begin + BLOCK, last)):
                some += select(x[j] + shift > 0.0, x[j] + shift, 0.0)
        total += wide(some)
    return total


@part
def pull(grad: Out, x: Floats, first: int, last: int, shift: Any, square: int, scale: Any) -> Any:
    """The gradients of the same, times `scale`, and their sum."""
    total = wide(0.0)
    for begin in range(first, last, BLOCK):
        some = 0.0
        if square:
            for j in range(begin, min(begin + BLOCK, last)):
                slope = select(x[j] + shift > 0.0, (x[j] + shift) * 2.0 * scale, 0.0)
                grad[j] = slope
                some += slope
        else:
            for j in range(begin, min(begin + BLOCK, last)):
                slope = select(x[j] + shift > 0.0, scale, 0.0)
                grad[j] = slope
                some += slope
        total += wide(some)
    return total


@loop(reorder=True)
def multi_margin(
    out: Out, losses: Out | None, notes: Doubles, x: Floats, target: Ints, weight: Floats | None, margin: float, square: int, mean: int,
    size: int, count: int, blocks: range,
) -> None:  # fmt: skip
    for b in blocks:
        loss_sum, bad = wide(0.0), 0
        first, last = b * ROWS, min(b * ROWS + ROWS, count)
        for i in range(first, last):
            start, t = i * size, target[i]
            if t < 0 or t >= size:
                bad += 1
                continue
            shift = narrow(margin) - x[start + t]
            both = hinges(x, start, start + t, shift, square) + hinges(x, start + t + 1, start + size, shift, square)
            loss = narrow(both / size)
            if weight is not None:
                loss *= weight[t]
            if losses is not None:
                losses[i] = loss
            loss_sum += wide(loss)
        note(out, notes, b, loss_sum, wide(last - first), bad, mean, count <= ROWS)


@loop(reorder=True)
def multi_margin_back(
    grad: Out, g: Floats, x: Floats, target: Ints, weight: Floats | None, margin: float, square: int, scale: float, each: int, size: int,
    rows: range,
) -> None:  # fmt: skip
    """`g` has an element for `each` row, or one for all. `scale` is what it is multiplied by."""
    for i in rows:
        start, t = i * size, target[i]
        shift = narrow(margin) - x[start + t]
        factor = g[i * each] * narrow(scale)
        if weight is not None:
            factor *= weight[t]
        total = pull(grad, x, start, start + t, shift, square, factor) + pull(grad, x, start + t + 1, start + size, shift, square, factor)
        grad[start + t] = narrow(-total)


@loop(reorder=True)
def multilabel_margin(
    out: Out, losses: Out | None, notes: Doubles, others: Out, x: Floats, target: Ints, mean: int, size: int, count: int, blocks: range
) -> None:
    """`others` get 1 where a class is not among the targets, and 0 where it is."""
    for b in blocks:
        loss_sum, bad = wide(0.0), 0
        first, last = b * ROWS, min(b * ROWS + ROWS, count)
        for i in range(first, last):
            start = i * size
            for j in range(start, start + size):
                others[j] = 1.0
                bad += 1 if target[j] < -1 or target[j] >= size else 0
            total = wide(0.0)
            if bad == 0:
                listed = 0
                while listed < size and target[start + listed] >= 0:
                    others[start + target[start + listed]] = 0.0
                    listed += 1
                for k in range(start, start + listed):
                    shift = 1.0 - x[start + target[k]]
                    for begin in range(start, start + size, BLOCK):
                        some = 0.0
                        for j in range(begin, min(begin + BLOCK, start + size)):
                            some += select(others[j] * (x[j] + shift) > 0.0, x[j] + shift, 0.0)
                        total += wide(some)
            loss = narrow(total / size)
            if losses is not None:
                losses[i] = loss
            loss_sum += wide(loss)
        note(out, notes, b, loss_sum, wide(last - first), bad, mean, count <= ROWS)


@loop(reorder=True)
def multilabel_margin_back(
    grad: Out, g: Floats, others: Floats, x: Floats, target: Ints, scale: float, each: int, size: int, rows: range
) -> None:
    for i in rows:
        start, factor = i * size, g[i * each] * narrow(scale)
        for j in range(start, start + size):
            grad[j] = 0.0
        k = start
        while k < start + size and target[k] >= 0:
            place = start + target[k]
            shift, total = 1.0 - x[place], 0.0
            for j in range(start, start + size):
                slope = select(others[j] * (x[j] + shift) > 0.0, factor, 0.0)
                grad[j] += slope
                total += slope
            grad[place] = grad[place] - total
            k += 1
