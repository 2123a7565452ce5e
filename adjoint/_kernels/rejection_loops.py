"""Random numbers of which each takes as many uniform ones as it happens to: the methods of `_random/_rejection.py`, and indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .loops import (
    FLOATS,
    HALVES,
    Doubles,
    Floats,
    Ints,
    Mark,
    Out,
    Words,
    c_exp,
    c_lgamma,
    c_log,
    c_log1p,
    c_pow,
    ceil,
    floor,
    given,
    log1p,
    loop,
    narrow,
    part,
    sqrt,
    template,
    wide,
)  # fmt: skip
from .random_loops import fraction, normal

THIRD = float(np.float32(1 / 3))  # PyTorch rounds it
MOST = 1.7976931348623157e308
TWELFTH, FURTHER, LAST = 1 / 12, 1 / 360, 1 / 1260
HALF_LOG_TURN = 0.5 * math.log(2 * math.pi)
time_of = given

# ---- gamma --------------------------------------------------------------------------------------------------------------------------


@part
def gamma(shape: Any, words: Words, waiting: Doubles) -> Any:
    sample = shape
    if shape > 0.0:
        scale, larger_shape, cube, searching = wide(1.0), shape, wide(0.0), 1
        if shape < 1.0:
            scale = c_pow(1.0 - fraction(words), 1.0 / shape)
            larger_shape = shape + 1.0
        centre = larger_shape - THIRD
        width = 1.0 / sqrt(9.0 * centre)
        while searching > 0:
            x = normal(words, waiting)
            y = 1.0 + width * x
            if y > 0.0:
                cube = y * y * y
                chance = 1.0 - fraction(words)
                square = x * x
                if chance < 1.0 - 0.0331 * square * square:
                    searching = 0
                elif centre <= MOST and c_log(chance) < 0.5 * square + centre * (1.0 - cube + c_log(cube)):
                    searching = 0
        sample = scale * centre * cube
    return sample


@loop
def gammas(out: Out, words: Words, waiting: Doubles, shapes: Floats, least: float, count: int, one: range) -> None:
    """Gamma distributed numbers of rate 1, but none below the least."""
    for _ in one:
        for i in range(count):
            sample = gamma(wide(shapes[i]), words, waiting)
            out[i] = narrow(sample if sample > least else least)


# ---- Poisson ------------------------------------------------------------------------------------------------------------------------


@part
def few_events(rate: Any, words: Words) -> Any:
    limit, product, count = c_exp(-rate), fraction(words), wide(0.0)
    while product > limit:
        product *= fraction(words)
        count += 1.0
    return count


@part
def many_events(rate: Any, words: Words) -> Any:
    b = 0.931 + 2.53 * sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha, squeeze = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2.0)
    count, searching = wide(0.0), 1
    while searching > 0:
        u = fraction(words) - 0.5
        v = fraction(words)
        distance = 0.5 - abs(u)
        count = floor((2.0 * a / distance + b) * u + rate + 0.43) if distance > 0.0 else -1.0
        if distance >= 0.07 and v <= squeeze:
            searching = 0
        elif count >= 0.0 and (distance >= 0.013 or v <= distance):
            density = -rate + count * c_log(rate) - c_lgamma(count + 1.0)
            if c_log(v) + c_log(inverse_alpha) - c_log(a / (distance * distance) + b) <= density:
                searching = 0
    return count


@loop(kinds=(*FLOATS, *HALVES))
def poissons(out: Out, words: Words, rates: Floats, strange: Ints, count: int, one: range) -> None:
    """Numbers of events, each with its own rate; unless one is none."""
    for _ in one:
        found = 0
        for j in range(count):
            found |= 0 if rates[j] >= 0.0 and rates[j] - rates[j] == 0.0 else 1
        strange[0] = found
        if found == 0:
            for i in range(count):
                rate, events = wide(rates[i]), wide(0.0)
                if rate >= 10.0:
                    events = many_events(rate, words)
                elif rate > 0.0:
                    events = few_events(rate, words)
                out[i] = narrow(events)


# ---- binomial -----------------------------------------------------------------------------------------------------------------------


@part
def stirling_error(k: Any) -> Any:
    """What Stirling's formula for log(k!), in powers of k + 1, leaves over."""
    n = k + 1.0
    square = n * n
    error = (TWELFTH - (FURTHER - LAST / square) / square) / n
    if k <= 9.0:
        error = c_lgamma(n) - (k + 0.5) * c_log(n) + n - HALF_LOG_TURN
    return error


@part
def few_successes(count: Any, probability: Any, words: Words) -> Any:
    """Jump from one success to the next."""
    failing, trials, successes = c_log1p(-probability), wide(0.0), wide(-1.0)
    while trials <= count:
        trials += ceil(c_log(fraction(words)) / failing)
        successes += 1.0
    return successes


@part
def many_successes(count: Any, probability: Any, words: Words) -> Any:
    deviation = sqrt(count * probability * (1.0 - probability))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * probability
    alpha, squeeze = (2.83 + 5.1 / b) * deviation, 0.92 - 4.2 / b
    odds, mode = probability / (1.0 - probability), floor((count + 1.0) * probability)
    k, searching = wide(0.0), 1
    while searching > 0:
        u = fraction(words) - 0.5
        v = fraction(words)
        distance = 0.5 - abs(u)
        k = floor((2.0 * a / distance + b) * u + count * probability + 0.5) if distance > 0.0 else -1.0
        if distance >= 0.07 and v <= squeeze:
            searching = 0
        elif k >= 0.0 and k <= count:
            bound = (mode + 0.5) * c_log((mode + 1.0) / (odds * (count - mode + 1.0)))
            bound += (count + 1.0) * c_log((count - mode + 1.0) / (count - k + 1.0))
            bound += (k + 0.5) * c_log(odds * (count - k + 1.0) / (k + 1.0))
            bound += stirling_error(mode) + stirling_error(count - mode) - stirling_error(k) - stirling_error(count - k)
            if c_log(v * alpha / (a / (distance * distance) + b)) <= bound:
                searching = 0
    return k


@loop
def binomials(out: Out, words: Words, counts: Floats, probabilities: Floats, count: int, one: range) -> None:
    """Numbers of successes, each with its own number of trials and probability."""
    for _ in one:
        for i in range(count):
            trials, probability, found = wide(counts[i]), wide(probabilities[i]), wide(0.0)
            rarer = 1.0 - probability if probability > 0.5 else probability
            if probability >= 1.0 and trials > 0.0:
                found = trials
            elif trials > 0.0 and rarer > 0.0:
                if trials * rarer >= 10.0:
                    found = many_successes(trials, rarer, words)
                else:
                    found = few_successes(trials, rarer, words)
                found = trials - found if probability > 0.5 else found
            elif probability != probability and trials > 0.0:
                found = probability
            out[i] = narrow(found)


# ---- indices ------------------------------------------------------------------------------------------------------------------------


@part
def is_strange(weights: Floats, start: int, width: int) -> Any:
    """One if weights are negative, infinite or none, or all of them zero."""
    found, positive = 0, 0
    for j in range(start, start + width):
        found |= 0 if weights[j] >= 0.0 and weights[j] - weights[j] == 0.0 else 1
        positive |= 1 if weights[j] > 0.0 else 0
    return found | (1 - positive)


@loop
def indices(
    out: Ints, words: Words, weights: Floats, sums: Out, strange: Mark, width: int, samples: int, rows: int, one: range
) -> None:
    """Indices of weights, with probabilities in proportion to them, row by row; unless weights are strange."""
    for _ in one:
        found = 0
        for r in range(rows):
            total = narrow(0.0)
            for j in range(r * width, r * width + width):
                found |= 0 if weights[j] >= 0.0 and weights[j] - weights[j] == 0.0 else 1
                total += weights[j]
                sums[j] = total
            found |= 0 if total > 0.0 else 1
        strange[0] = found
        for r in range(rows * (1 - found)):
            total = sums[r * width + width - 1]
            for s in range(samples):
                drawn = fraction(words)
                low, high = 0, width - 1
                while low < high:
                    middle = (low + high) // 2
                    if wide(sums[r * width + middle] / total) < drawn:
                        low = middle + 1
                    else:
                        high = middle
                out[r * samples + s] = low


@template()
def firsts(out: Ints, words: Words, weights: Floats, strange: Mark, width: int, rows: int, one: range) -> None:
    """The index in each row whose time, of the rate of its weight, comes first; unless weights are strange."""
    for _ in one:
        found = 0
        for r in range(rows):
            found |= is_strange(weights, r * width, width)
        strange[0] = found
        for r in range(rows * (1 - found)):
            best, place = narrow(-1.0), 0
            for j in range(width):
                speed = weights[r * width + j] / narrow(time_of(fraction(words)))
                if best == best and not speed <= best:
                    best = speed
                    place = j
            out[r] = place


@part
def waiting_time(number: Any) -> Any:
    return -log1p(-number)


@part
def exact_waiting_time(number: Any) -> Any:
    return -c_log1p(-number)


winners = firsts("winners", time_of=waiting_time)  # of float32
wide_winners = firsts("wide_winners", time_of=exact_waiting_time)  # of float64
