"""Maxima over windows that begin at random distances: `nn/_fractional_pooling.py` by a kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .loops import Floats, Ints, Mark, loop, narrow, part, trunc

INT64 = np.dtype(np.int64)


@part
def start(sample: Any, step: Any, i: int, places: int, last: int) -> Any:
    """Where a window begins; the last one at the end."""
    found = int(trunc((narrow(i) + sample) * step)) - int(trunc(sample * step))
    return last if i == places - 1 else min(max(found, 0), last)


@loop
def search(
    index: Ints, x: Floats, samples: Floats, strange: Mark, dims: int, depth: int, height: int, width: int, kernel_a: int, kernel_b: int,
    kernel_c: int, places_a: int, places_b: int, places_c: int, which_a: int, which_b: int, which_c: int, step_a: float, step_b: float,
    step_c: float, planes: range,
) -> None:  # fmt: skip
    """Where the maximum over each window is in its plane. `which` are the places of the samples for each dimension; those that are not from
    [0, 1) are strange."""
    by_a, by_b, by_c = narrow(step_a), narrow(step_b), narrow(step_c)
    for plane in planes:
        at = plane * depth * height * width
        first, second, third = samples[plane * dims + which_a], samples[plane * dims + which_b], samples[plane * dims + which_c]
        usual = 1 if first >= 0.0 and second >= 0.0 and third >= 0.0 and first < 1.0 and second < 1.0 and third < 1.0 else 0
        if usual == 0:
            strange[0] = 1
        for a in range(places_a * usual):
            z = start(first, by_a, a, places_a, depth - kernel_a)
            for b in range(places_b):
                y = start(second, by_b, b, places_b, height - kernel_b)
                for c in range(places_c):
                    corner = (z * height + y) * width + start(third, by_c, c, places_c, width - kernel_c)
                    best, found = x[at + corner], corner
                    for i in range(kernel_a):
                        for j in range(kernel_b):
                            for k in range(kernel_c):
                                place = corner + (i * height + j) * width + k
                                value = x[at + place]
                                if value > best or value != value:
                                    best = value
                                    found = place
                    index[((plane * places_a + a) * places_b + b) * places_c + c] = found


def places_of_maxima(
    x: np.ndarray, samples: np.ndarray, places: tuple[int, ...], kernel: tuple[int, ...], order: tuple[int, ...]
) -> np.ndarray | None:
    """The positions of the maxima of an image (N, C, ...); `order` says which sample is for which dimension. None where NumPy has to find
    them."""
    if x.__class__ is not np.ndarray or samples.dtype is not x.dtype or not x.size or not math.prod(places):
        return None
    dims, sizes, missing = len(kernel), x.shape[2:], (1,) * (3 - len(kernel))
    steps = [(n - k) / max(o - 1, 1) for n, k, o in zip(sizes, kernel, places, strict=True)]
    index, planes = np.empty((*x.shape[:2], *places), INT64), x.shape[0] * x.shape[1]
    facts = (*missing, *sizes, *missing, *kernel, *missing, *places, *[0] * len(missing), *order, *[0.0] * len(missing), *steps)
    x, samples = np.ascontiguousarray(x), np.ascontiguousarray(samples)
    return index if search.run(index, x, samples, dims, *facts, planes, index.size // planes * math.prod(kernel)) else None
