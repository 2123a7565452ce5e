"""Losses: a number for each row of classes or each element, reduced in the same pass; and their gradients.

A unit of work is a block. It puts the sum of its losses, that of their weights, and how many targets were wrong into `notes`, three numbers
to a block; `finish` adds them up, and leaves the sums in the first three places, for the backward pass.
"""

from __future__ import annotations

from typing import Any

from .loops import FLOATS, HALVES, Doubles, Floats, Ints, Out, exactly, exp_negative, larger, log, loop, narrow, part, room, select, wide
from .softmax_loops import sum_powers
from .sums import BLOCK, INFINITY, largest, summed

COLUMNS = 64  # in a block
SHORT = 32  # elements of a short row
ROWS = 64  # in a block at most
TOGETHER = SHORT * ROWS
ELEMENTS = 4096  # in a block


@part
def note(out: Out, notes: Doubles, b: int, loss_sum: Any, weight_sum: Any, bad: int, mean: int, alone: Any) -> None:
    """The end of block `b`, which finishes the loss if it is `alone`."""
    notes[3 * b] = loss_sum
    notes[3 * b + 1] = weight_sum
    notes[3 * b + 2] = wide(bad)
    if alone:
        out[0] = narrow(loss_sum / weight_sum if mean else loss_sum)


@loop(kinds=(*FLOATS, *HALVES))
def finish(out: Out, notes: Doubles, mean: int, blocks: int, one: range) -> None:
    """The sum of all losses, or their mean."""
    for _ in one:
        total, weights, wrong = wide(0.0), wide(0.0), wide(0.0)
        for b in range(blocks):
            total += notes[3 * b]
            weights += notes[3 * b + 1]
            wrong += notes[3 * b + 2]
        notes[0] = total
        notes[1] = weights
        notes[2] = wrong
        out[0] = narrow(total / weights if mean else total)


# ---- classes: cross entropy ---------------------------------------------------------------------------------------------------------


@part
def share(weight: Any, smoothing: Any) -> Any:
    """How much the target class counts: a class without weight does not, whatever its loss."""
    return weight * (1.0 - smoothing)


@loop(reorder=True, kinds=(*FLOATS, *HALVES))
def cross_entropy_rows(
    out: Out, losses: Out | None, notes: Doubles, x: Floats, target: Ints, weight: Floats | None, ignore: int, smoothing: float,
    mean: int, kept: int, size: int, count: int, take: int, blocks: range,
) -> None:  # fmt: skip
    """From place `kept` on, `notes` get, of each row, the largest element and the sum of the powers relative to it. If rows are short,
    their powers are computed together. If there is one block only, it is finished at once."""
    smooth = narrow(smoothing)
    for b in blocks:
        loss_sum, weight_sum, bad = wide(0.0), wide(0.0), 0
        first, last = b * take, min(b * take + take, count)
        powers = room(TOGETHER)
        if size <= SHORT:
            for i in range(first, last):
                start = i * size
                top = largest(x, start, start + size)
                notes[kept + 2 * i] = wide(top)
                for j in range(size):
                    powers[(i - first) * size + j] = x[start + j] - top
            for j in range((last - first) * size):
                powers[j] = exp_negative(powers[j])
        for i in range(first, last):
            start, t = i * size, target[i]
            if losses is not None:
                losses[i] = 0.0
            if t == ignore:
                continue
            if t < 0 or t >= size:
                bad += 1
                continue
            if size <= SHORT:
                top = narrow(notes[kept + 2 * i])
                total = summed(powers, (i - first) * size, (i - first) * size + size)
            else:
                top = largest(x, start, start + size)
                total = sum_powers(x, start, start + size, top)
                notes[kept + 2 * i] = wide(top)
            notes[kept + 2 * i + 1] = total
            logs = log(narrow(total))
            w = 1.0
            if weight is not None:
                w = weight[t]
            loss = 0.0
            if w != 0.0:
                loss = exactly(logs - (x[start + t] - top)) * share(w, smooth)
            if smoothing != 0.0:
                spread = wide(0.0)
                for block in range(0, size, BLOCK):
                    some = 0.0
                    if weight is not None:
                        for j in range(block, min(block + BLOCK, size)):
                            some += exactly(logs - (x[start + j] - top)) * weight[j]
                    else:
                        for j in range(block, min(block + BLOCK, size)):
                            some += exactly(logs - (x[start + j] - top))
                    spread += wide(some)
                loss += narrow(spread / size) * smooth
            if losses is not None:
                losses[i] = loss
            loss_sum += wide(loss)
            weight_sum += wide(w)
        note(out, notes, b, loss_sum, weight_sum, bad, mean, count <= take)


@loop(reorder=True, kinds=(*FLOATS, *HALVES))
def cross_entropy_rows_back(
    grad: Out, g: Floats, notes: Doubles, x: Floats, target: Ints, weight: Floats | None, ignore: int,
    smoothing: float, all_weights: float, kept: int, mean: int, each: int, size: int, rows: range,
) -> None:  # fmt: skip
    """`g` has an element for `each` row, or one for all. `all_weights` is the sum of the weights of all classes."""
    smooth = narrow(smoothing)
    for i in rows:
        start, t = i * size, target[i]
        w = 1.0
        if t == ignore:
            w = 0.0
        elif weight is not None:
            w = weight[t]
        if t == ignore or (w == 0.0 and smoothing == 0.0):
            for j in range(start, start + size):
                grad[j] = 0.0
            continue
        scale = g[i * each]
        if mean:
            scale = narrow(wide(scale) / notes[1])
        own = scale * share(w, smooth)
        even = scale * smooth / size
        factor = narrow((wide(own) + wide(even) * all_weights) / notes[kept + 2 * i + 1])
        top = narrow(notes[kept + 2 * i])
        if smoothing == 0.0:
            for j in range(start, start + size):
                grad[j] = exp_negative(x[j] - top) * factor
        elif weight is not None:
            for j in range(size):
                grad[start + j] = exp_negative(x[start + j] - top) * factor - even * weight[j]
        else:
            for j in range(start, start + size):
                grad[j] = exp_negative(x[j] - top) * factor - even
        rest = exp_negative(x[start + t] - top) * factor
        if weight is not None:
            rest -= even * weight[t]
        else:
            rest -= even
        grad[start + t] = rest - own


@loop(reorder=True)
def cross_entropy_columns(
    losses: Out | None, notes: Doubles, tops: Out, totals: Doubles, x: Floats, target: Ints, weight: Floats | None,
    ignore: int, size: int, inner: int, blocks: range,
) -> None:  # fmt: skip
    """The same, without smoothing, for matrices of `size` rows and `inner` columns, where the classes run down the columns."""
    per = (inner + COLUMNS - 1) // COLUMNS
    for b in blocks:
        first = b % per * COLUMNS
        width = min(COLUMNS, inner - first)
        start = b // per * size * inner + first
        place = b // per * inner + first
        for k in range(width):
            tops[place + k] = -INFINITY
            totals[place + k] = 0.0
        for j in range(size):
            for k in range(width):
                tops[place + k] = larger(tops[place + k], x[start + j * inner + k])
        for j in range(size):
            for k in range(width):
                totals[place + k] += wide(exp_negative(x[start + j * inner + k] - tops[place + k]))
        loss_sum, weight_sum, bad = wide(0.0), wide(0.0), 0
        for k in range(width):
            t = target[place + k]
            if losses is not None:
                losses[place + k] = 0.0
            if t == ignore:
                continue
            if t < 0 or t >= size:
                bad += 1
                continue
            w = 1.0
            if weight is not None:
                w = weight[t]
            if w != 0.0:
                loss = exactly(log(narrow(totals[place + k])) - (x[start + t * inner + k] - tops[place + k])) * w
                if losses is not None:
                    losses[place + k] = loss
                loss_sum += wide(loss)
                weight_sum += wide(w)
        notes[3 * b] = loss_sum
        notes[3 * b + 1] = weight_sum
        notes[3 * b + 2] = wide(bad)


@loop(reorder=True)
def cross_entropy_columns_back(
    grad: Out, g: Floats, notes: Doubles, tops: Floats, totals: Doubles, factors: Out, x: Floats, target: Ints, weight: Floats | None,
    ignore: int, mean: int, each: int, size: int, inner: int, blocks: range,
) -> None:  # fmt: skip
    per = (inner + COLUMNS - 1) // COLUMNS
    for b in blocks:
        first = b % per * COLUMNS
        width = min(COLUMNS, inner - first)
        start = b // per * size * inner + first
        place = b // per * inner + first
        for k in range(width):
            t = target[place + k]
            factors[place + k] = 0.0
            if t != ignore:
                scale = g[(place + k) * each]
                if mean:
                    scale = narrow(wide(scale) / notes[1])
                if weight is not None:
                    scale = scale * weight[t] if weight[t] != 0.0 else 0.0
                factors[place + k] = scale
        for j in range(size):
            for k in range(width):
                at = start + j * inner + k
                power = exp_negative(x[at] - tops[place + k]) * (factors[place + k] / narrow(totals[place + k]))
                grad[at] = select(factors[place + k] == 0.0, 0.0, power)
        for k in range(width):
            t = target[place + k]
            if t != ignore:
                grad[start + t * inner + k] = grad[start + t * inner + k] - factors[place + k]


# ---- classes: negative log-likelihood -----------------------------------------------------------------------------------------------


@loop
def nll(
    out: Out, losses: Out | None, notes: Doubles, x: Floats, target: Ints, weight: Floats | None, ignore: int, mean: int, size: int,
    inner: int, count: int, blocks: range,
) -> None:  # fmt: skip
    """If there is one block only, it is finished at once."""
    for b in blocks:
        loss_sum, weight_sum, bad = wide(0.0), wide(0.0), 0
        sample, place = b * ELEMENTS // inner, b * ELEMENTS % inner - 1
        for i in range(b * ELEMENTS, min(b * ELEMENTS + ELEMENTS, count)):
            place += 1
            if place == inner:
                sample, place = sample + 1, 0
            t = target[i]
            if losses is not None:
                losses[i] = 0.0
            if t == ignore:
                continue
            if t < 0 or t >= size:
                bad += 1
                continue
            w = 1.0
            if weight is not None:
                w = weight[t]
            if w != 0.0:
                loss = -x[(sample * size + t) * inner + place] * w
                if losses is not None:
                    losses[i] = loss
                loss_sum += wide(loss)
                weight_sum += wide(w)
        note(out, notes, b, loss_sum, weight_sum, bad, mean, count <= ELEMENTS)


@loop
def nll_back(
    grad: Out, g: Floats, notes: Doubles, target: Ints, weight: Floats | None, ignore: int, mean: int, each: int, size: int, inner: int,
    places: range,
) -> None:  # fmt: skip
    """Into zeros."""
    for i in places:
        t = target[i]
        if t != ignore:
            scale = -g[i * each]
            if mean:
                scale = narrow(wide(scale) / notes[1])
            if weight is not None:
                scale = scale * weight[t] if weight[t] != 0.0 else 0.0
            grad[(i // inner * size + t) * inner + i % inner] = scale
