"""Distributions drawn by rejection: gamma, Dirichlet, Poisson and binomial.

How many uniform numbers a sample takes is known only when it is there, so samples are made one after the other. The methods are those
of Marsaglia and Tsang (2000) for the gamma distribution and of Hörmann (1993) for the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from operator import length_hint
from typing import Any, NoReturn

import numpy as np

from ._filling import FLOATS, Array, fill_by_kernel, require
from ._generator import Generator, Held

BLOCK = 512  # uniform numbers drawn at a time
THIRD = float(np.float32(1 / 3))  # PyTorch rounds it
Uniform = Callable[[], float]


@contextmanager
def _uniforms(generator: Generator | None) -> Iterator[tuple[Generator, Uniform]]:
    """A function that returns one uniform number after the other. They are drawn in blocks; the generator ends up as if they were not."""
    with Held(generator) as source:
        start, drawn, block = source._words.copy(), 0, iter([0.0][:0])

        def blocks() -> Iterator[Iterator[float]]:
            nonlocal drawn, block
            while True:
                block = iter(source._uniform53(BLOCK).tolist())
                drawn += BLOCK
                yield block

        try:
            yield source, chain.from_iterable(blocks()).__next__
        finally:
            source._words[:] = start
            source._raw(2 * (drawn - length_hint(block)))


# ----- Gamma -----


def _normals(generator: Generator, uniform: Uniform) -> Uniform:
    """Standard normal numbers as `Generator._normal` makes them, of which every other one waits in the generator."""

    def normal() -> float:
        waiting = generator._waiting
        if waiting[1]:
            waiting[1] = 0
            return float(waiting[0])
        angle = 2 * math.pi * uniform()
        radius = math.sqrt(-2 * math.log1p(-uniform()))
        waiting[:] = radius * math.sin(angle), 1
        return radius * math.cos(angle)

    return normal


def _gamma(shape: float, uniform: Uniform, normal: Uniform) -> float:
    if not shape > 0:
        return shape
    scale = 1.0
    if shape < 1:
        scale = (1 - uniform()) ** (1 / shape)
        shape += 1
    centre = shape - THIRD
    width = 1 / math.sqrt(9 * centre)
    while True:
        x = normal()
        y = 1 + width * x
        if y <= 0:
            continue
        cube = y * y * y
        chance = 1 - uniform()
        square = x * x
        if chance < 1 - 0.0331 * square * square:
            return scale * centre * cube
        if centre < math.inf and math.log(chance) < 0.5 * square + centre * (1 - cube + math.log(cube)):
            return scale * centre * cube


def _gammas(shapes: Array, generator: Generator | None) -> Array:
    """Gamma distributed numbers, in float64."""
    samples = np.empty(shapes.shape)
    if fill_by_kernel(samples, "gammas", generator, shapes.astype(np.float64, order="C", copy=False), -math.inf, waiting=True):
        return samples
    with _uniforms(generator) as (source, uniform):
        normal = _normals(source, uniform)
        return np.array([_gamma(shape, uniform, normal) for shape in shapes.reshape(-1).tolist()]).reshape(shapes.shape)


def standard_gamma(shapes: Array, generator: Generator | None = None) -> Array:
    """Gamma distributed numbers of rate 1, one for each shape parameter. None is zero: the smallest normal number stands for it."""
    require(("float32", "float64"), shapes.dtype, "gamma_cpu")
    least, drawn = float(np.finfo(shapes.dtype).tiny), np.empty(shapes.shape, shapes.dtype)
    if fill_by_kernel(drawn, "gammas", generator, shapes, least, waiting=True):
        return drawn
    samples: Array = np.fmax(_gammas(shapes, generator), np.finfo(shapes.dtype).tiny).astype(shapes.dtype)
    return samples


def dirichlet(concentrations: Array, generator: Generator | None = None) -> Array:
    """Dirichlet distributed points, along the last axis."""
    require(("float32", "float64"), concentrations.dtype, "dirichlet")
    gammas = _gammas(concentrations, generator)
    with np.errstate(invalid="ignore"):
        points: Array = gammas / gammas.sum(axis=-1, keepdims=True)
    kind = concentrations.dtype
    points = np.fmax(points, np.finfo(kind).tiny).astype(kind)
    return np.minimum(points, np.nextafter(np.ones((), kind), np.zeros((), kind)))  # inside, where densities are finite


# ----- Poisson -----


def _few_events(rate: float, uniform: Uniform) -> float:
    limit, product, count = math.exp(-rate), uniform(), 0
    while product > limit:
        product *= uniform()
        count += 1
    return count


def _many_events(rate: float, uniform: Uniform) -> float:
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha, squeeze = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = uniform() - 0.5, uniform()
        distance = 0.5 - abs(u)
        count = math.floor((2 * a / distance + b) * u + rate + 0.43) if distance else -1
        if distance >= 0.07 and v <= squeeze:
            return count
        if count < 0 or (distance < 0.013 and v > distance):
            continue
        density = -rate + count * math.log(rate) - math.lgamma(count + 1)
        if not v or math.log(v) + math.log(inverse_alpha) - math.log(a / (distance * distance) + b) <= density:
            return count


def _poisson(rate: float, uniform: Uniform) -> float:
    if rate == 0:
        return 0.0
    return _many_events(rate, uniform) if rate >= 10 else _few_events(rate, uniform)


def poisson(rates: Array, generator: Generator | None = None) -> Array:
    """Numbers of events, one for each rate."""
    require(FLOATS, rates.dtype, "poisson_cpu")
    strange, drawn = np.zeros(1, np.int64), np.empty(rates.shape, rates.dtype)
    if fill_by_kernel(drawn, "poissons", generator, rates, strange):
        if strange[0]:
            _refuse_rate()
        return drawn
    if not np.all((rates >= 0) & (rates < np.inf)):
        _refuse_rate()
    with _uniforms(generator) as (_, uniform):
        counts: list[float] = [_poisson(rate, uniform) for rate in rates.reshape(-1).astype(np.float64).tolist()]
    return np.array(counts, np.float64).astype(rates.dtype).reshape(rates.shape)


def _refuse_rate() -> NoReturn:
    raise RuntimeError("invalid Poisson rate, expected rate to be non-negative; the rates must be finite, too")


# ----- Binomial -----


def _stirling_error(k: float) -> float:
    """What Stirling's formula for log(k!), in powers of k + 1, leaves over."""
    n = k + 1
    if k <= 9:
        return math.lgamma(n) - (k + 0.5) * math.log(n) + n - 0.5 * math.log(2 * math.pi)
    square = n * n
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / n


def _few_successes(count: float, probability: float, uniform: Uniform) -> float:
    """Jump from one success to the next."""
    failing, trials, successes = math.log1p(-probability), 0.0, 0
    while True:
        u = uniform()
        trials += math.ceil(math.log(u) / failing) if u else math.inf
        if trials > count:
            return successes
        successes += 1


def _many_successes(count: float, probability: float, uniform: Uniform) -> float:
    deviation = math.sqrt(count * probability * (1 - probability))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * probability
    alpha, squeeze = (2.83 + 5.1 / b) * deviation, 0.92 - 4.2 / b
    odds, mode = probability / (1 - probability), math.floor((count + 1) * probability)
    while True:
        u, v = uniform() - 0.5, uniform()
        distance = 0.5 - abs(u)
        k = math.floor((2 * a / distance + b) * u + count * probability + 0.5) if distance else -1
        if distance >= 0.07 and v <= squeeze:
            return k
        if not 0 <= k <= count:
            continue
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _stirling_error(mode) + _stirling_error(count - mode) - _stirling_error(k) - _stirling_error(count - k)
        )  # fmt: skip
        if not v or math.log(v * alpha / (a / (distance * distance) + b)) <= bound:
            return k


def _binomial(count: float, probability: float, uniform: Uniform) -> float:
    if count <= 0 or probability <= 0:
        return 0.0
    if probability >= 1:
        return count
    if probability > 0.5:
        return count - _binomial(count, 1 - probability, uniform)
    if probability != probability:
        return math.nan
    draw = _many_successes if count * probability >= 10 else _few_successes
    return draw(count, probability, uniform)


def binomial(counts: Array, probabilities: Array, generator: Generator | None = None) -> Array:
    """Numbers of successes, one for each number of trials and its probability of success; both have the same shape."""
    require(("float32", "float64"), counts.dtype, "binomial_cpu")
    drawn = np.empty(counts.shape, counts.dtype)
    if fill_by_kernel(drawn, "binomials", generator, np.ascontiguousarray(counts), np.ascontiguousarray(probabilities)):
        return drawn
    pairs: Any = zip(counts.reshape(-1).tolist(), probabilities.reshape(-1).tolist(), strict=True)
    with _uniforms(generator) as (_, uniform):
        successes = [_binomial(count, probability, uniform) for count, probability in pairs]
    return np.array(successes, counts.dtype).reshape(counts.shape)
