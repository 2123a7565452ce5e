"""Losses of single elements, reduced in the same pass, and their slopes.

A loss is made of parts:

    value(x, t, p)    the loss of an element, its target, and a parameter
    slope(x, t, p)    its derivative by the element
    wrong(x)          1 where the element is not one that the loss is defined for

As for classes (loss_loops.py), a block puts three numbers into `notes`: the sum of its losses, their number, and how many are wrong.
"""

from __future__ import annotations

from typing import Any

from .loops import (
    FLOATS,
    HALVES,
    Doubles,
    Floats,
    Loop,
    Out,
    Part,
    exactly,
    exp,
    exp_negative,
    given,
    log,
    log1p,
    loop,
    maximum,
    narrow,
    part,
    select,
    template,
    wide,
)

ELEMENTS = 4096  # in a block
BLOCK = 512  # elements that are summed in their own type

value = slope = wrong = given


@template(reorder=True, kinds=(*FLOATS, *HALVES))
def sums(notes: Doubles, x: Floats, target: Floats, weight: Floats | None, p: float, count: int, blocks: range) -> None:
    q = narrow(p)
    for b in blocks:
        first, last = b * ELEMENTS, min(b * ELEMENTS + ELEMENTS, count)
        total, bad = wide(0.0), wide(0.0)
        for begin in range(first, last, BLOCK):
            some, some_bad = 0.0, 0.0
            if weight is not None:
                for i in range(begin, min(begin + BLOCK, last)):
                    some += value(x[i], target[i], q) * weight[i]
                    some_bad += wrong(x[i])
            else:
                for i in range(begin, min(begin + BLOCK, last)):
                    some += value(x[i], target[i], q)
                    some_bad += wrong(x[i])
            total += wide(some)
            bad += wide(some_bad)
        notes[3 * b] = total
        notes[3 * b + 1] = wide(last - first)
        notes[3 * b + 2] = bad


@template(reorder=True, kinds=(*FLOATS, *HALVES))
def values(out: Out, bad: Doubles, x: Floats, target: Floats, weight: Floats | None, p: float, count: int, blocks: range) -> None:
    """The losses themselves. Of each block it is noted how many are wrong."""
    q = narrow(p)
    for b in blocks:
        first, last = b * ELEMENTS, min(b * ELEMENTS + ELEMENTS, count)
        some_bad = 0.0
        if weight is not None:
            for i in range(first, last):
                out[i] = value(x[i], target[i], q) * weight[i]
                some_bad += wrong(x[i])
        else:
            for i in range(first, last):
                out[i] = value(x[i], target[i], q)
                some_bad += wrong(x[i])
        bad[b] = wide(some_bad)


@template(reorder=True, kinds=(*FLOATS, *HALVES))
def slopes(
    grad: Out, g: Floats, x: Floats, target: Floats, weight: Floats | None, p: float, scale: float, each: int, places: range
) -> None:
    """`g` has an element for `each` place, or one for all. `scale` is what it is multiplied by."""
    q, factor = narrow(p), narrow(scale)
    common = g[0] * factor
    if each:
        if weight is not None:
            for i in places:
                grad[i] = g[i] * factor * (slope(x[i], target[i], q) * weight[i])
        else:
            for i in places:
                grad[i] = g[i] * factor * slope(x[i], target[i], q)
    elif weight is not None:
        for i in places:
            grad[i] = common * (slope(x[i], target[i], q) * weight[i])
    else:
        for i in places:
            grad[i] = common * slope(x[i], target[i], q)


# ---- the losses ---------------------------------------------------------------------------------------------------------------------


@part
def never(x: Any) -> Any:
    return 0.0


@part
def square(x: Any, t: Any, p: Any) -> Any:
    return (x - t) * (x - t)


@part
def square_slope(x: Any, t: Any, p: Any) -> Any:
    return (x - t) * 2.0


@part
def distance(x: Any, t: Any, p: Any) -> Any:
    return abs(x - t)


@part
def distance_slope(x: Any, t: Any, p: Any) -> Any:
    return select(x > t, 1.0, select(x < t, -1.0, 0.0))


@part
def smooth(x: Any, t: Any, p: Any) -> Any:
    size = abs(x - t)
    return select(size < p, 0.5 * size * size / p, size - 0.5 * p)


@part
def smooth_slope(x: Any, t: Any, p: Any) -> Any:
    return select(abs(x - t) < p, (x - t) / p, select(x > t, 1.0, select(x < t, -1.0, x - t)))


@part
def huber(x: Any, t: Any, p: Any) -> Any:
    size = abs(x - t)
    return select(size <= p, 0.5 * size * size, p * (size - 0.5 * p))


@part
def huber_slope(x: Any, t: Any, p: Any) -> Any:
    return select(x - t > p, p, select(x - t < -p, -p, x - t))


@part
def binary(x: Any, t: Any, p: Any) -> Any:
    return (t - 1.0) * maximum(log1p(-x), -100.0) - t * maximum(log(x), -100.0)


@part
def binary_slope(x: Any, t: Any, p: Any) -> Any:
    return (x - t) / maximum((1.0 - x) * x, 1e-12)


@part
def no_probability(x: Any) -> Any:
    return select(x >= 0.0, select(x <= 1.0, 0.0, 1.0), 1.0)


@part
def logits(x: Any, t: Any, p: Any) -> Any:
    return exactly((1.0 - t) * x + (log1p(exp_negative(-abs(x))) + maximum(-x, 0.0)))


@part
def logits_slope(x: Any, t: Any, p: Any) -> Any:
    return 1.0 / (1.0 + exp(-x)) - t


@part
def divergence(x: Any, t: Any, p: Any) -> Any:
    return select(t == 0.0, 0.0, t * log(t)) - t * x


@part
def divergence_slope(x: Any, t: Any, p: Any) -> Any:
    return -t


@part
def log_divergence(x: Any, t: Any, p: Any) -> Any:
    return exp(t) * (t - x)


@part
def log_divergence_slope(x: Any, t: Any, p: Any) -> Any:
    return -exp(t)


# ---- binary cross entropy of logits, where each element has a weight of its own for the positive class -------------------------------


@part
def positive_logits(x: Any, t: Any, p: Any) -> Any:
    return exactly((1.0 - t) * x + (1.0 + (p - 1.0) * t) * (log1p(exp_negative(-abs(x))) + maximum(-x, 0.0)))


@loop(reorder=True)
def positive_sums(notes: Doubles, x: Floats, target: Floats, positive: Floats, count: int, blocks: range) -> None:
    for b in blocks:
        first, last = b * ELEMENTS, min(b * ELEMENTS + ELEMENTS, count)
        total = wide(0.0)
        for begin in range(first, last, BLOCK):
            some = 0.0
            for i in range(begin, min(begin + BLOCK, last)):
                some += positive_logits(x[i], target[i], positive[i])
            total += wide(some)
        notes[3 * b] = total
        notes[3 * b + 1] = wide(last - first)
        notes[3 * b + 2] = 0.0


@loop(reorder=True)
def positive_values(out: Out, x: Floats, target: Floats, positive: Floats, places: range) -> None:
    for i in places:
        out[i] = positive_logits(x[i], target[i], positive[i])


@loop(reorder=True)
def positive_slopes(grad: Out, g: Floats, x: Floats, target: Floats, positive: Floats, scale: float, each: int, places: range) -> None:
    factor = narrow(scale)
    for i in places:
        one = positive[i] * target[i]
        grad[i] = g[i * each] * factor * ((one + 1.0 - target[i]) / (1.0 + exp(-x[i])) - one)


# ---- all of them --------------------------------------------------------------------------------------------------------------------

LOSSES: dict[str, tuple[Part, Part]] = {
    "mse_loss": (square, square_slope),
    "l1_loss": (distance, distance_slope),
    "smooth_l1_loss": (smooth, smooth_slope),
    "huber_loss": (huber, huber_slope),
    "binary_cross_entropy": (binary, binary_slope),
    "binary_cross_entropy_with_logits": (logits, logits_slope),
    "kl_div": (divergence, divergence_slope),
    "log_kl_div": (log_divergence, log_divergence_slope),
}

WRONG = {"binary_cross_entropy": no_probability}
SUMS: dict[str, Loop] = {name: sums(f"{name}_sums", value=loss, wrong=WRONG.get(name, never)) for name, (loss, _) in LOSSES.items()}
VALUES: dict[str, Loop] = {
    name: values(f"{name}_values", value=LOSSES[name][0], wrong=WRONG.get(name, never))
    for name in ("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits")
}
SLOPES: dict[str, Loop] = {name: slopes(f"{name}_slopes", slope=slope) for name, (_, slope) in LOSSES.items()}
