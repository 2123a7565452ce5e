"""The derivative of a custom function along a direction, by finite differences and by its `backward`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._events import FUNCTION
from .._tensor import Tensor, wrap
from ..autograd.differentiate import grad
from ..autograd.grad_mode import enable_grad, no_grad
from .reading import undisturbed

STEP = 1e-5
DIRECTIONS = 3


def slopes_of(cls: Any, args: tuple[Any, ...]) -> list[tuple[float, float]]:
    """For a few directions: the slope by differences, and that by backward. In double precision, and leaving all as it was."""
    with undisturbed(), untold():
        slopes = []
        random = np.random.default_rng(0)
        base = [wrap(x._data.astype(np.float64)) if is_float(x) else x for x in args]
        places = [place for place, x in enumerate(args) if is_float(x) and x.requires_grad]
        with enable_grad():
            leaves = [x.requires_grad_() if place in places else x for place, x in enumerate(base)]
            outputs = as_list(cls.apply(*leaves))
            weights = [random.standard_normal(y.shape) for y in outputs]
            seeds = [wrap(w.astype(y._data.dtype)) for w, y in zip(weights, outputs, strict=True)]
            results = grad(outputs, [leaves[place] for place in places], seeds, allow_unused=True)
        for _ in range(DIRECTIONS):
            along = [random.standard_normal(base[place].shape) for place in places]
            values = []
            for sign in (1, -1):
                moved = list(base)
                for place, v in zip(places, along, strict=True):
                    moved[place] = wrap(base[place]._data + sign * STEP * v)
                with no_grad():
                    values.append(sum(float(np.sum(w * y._data)) for w, y in zip(weights, as_list(cls.apply(*moved)), strict=True)))
            found = sum(float(np.sum(g._data * v)) for g, v in zip(results, along, strict=True) if g is not None)
            slopes.append(((values[0] - values[1]) / (2 * STEP), found))
    return slopes


@contextmanager
def untold() -> Iterator[None]:
    """A block whose custom functions nobody is told of."""
    listeners = FUNCTION[:]
    FUNCTION.clear()
    try:
        yield
    finally:
        FUNCTION[:] = listeners


def is_float(x: Any) -> bool:
    return isinstance(x, Tensor) and x._data.dtype.kind == "f"


def as_list(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, tuple) else [outputs]
