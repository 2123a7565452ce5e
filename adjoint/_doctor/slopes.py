"""Derivatives of a custom function along a direction, by finite differences and by its `backward`, in double precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._events import FUNCTION
from .._tensor import Tensor, wrap
from ..autograd.differentiate import grad
from ..autograd.grad_mode import enable_grad
from .reading import undisturbed

STEP = 1e-5
DIRECTIONS = 3
Slopes = list[tuple[float, float]]  # by differences, and by backward


def slopes_of(cls: Any, args: Sequence[Any]) -> Slopes:
    """Of the function itself, for a few directions."""
    return compared(lambda *inputs: as_list(cls.apply(*inputs)), args)


def slopes_of_gradient(cls: Any, args: Sequence[Any]) -> Slopes:
    """Of what its `backward` gives, as a function of the inputs: the second derivative."""

    def gradients(*inputs: Any) -> list[Any]:
        outputs = as_list(cls.apply(*inputs))
        wanted = [x for x in inputs if is_float(x) and x.requires_grad]
        seeds = [wrap(np.cos(np.arange(y.numel(), dtype=y._data.dtype)).reshape(y.shape)) for y in outputs]
        return [g for g in grad(outputs, wanted, seeds, create_graph=True, allow_unused=True) if g is not None]

    return compared(gradients, args)


def compared(function: Callable[..., list[Any]], args: Sequence[Any]) -> Slopes:
    """The slopes of a function of arguments, among them tensors that require grad."""
    random = np.random.default_rng(0)
    places = [place for place, x in enumerate(args) if is_float(x) and x.requires_grad]
    arrays = [args[place]._data.astype(np.float64) for place in places]

    def called(moved: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        leaves = [wrap(array).requires_grad_() for array in moved]
        given = [wrap(x._data.astype(np.float64)) if is_float(x) else x for x in args]
        for place, leaf in zip(places, leaves, strict=True):
            given[place] = leaf
        return leaves, function(*given)

    found = []
    with undisturbed(), untold(), enable_grad():
        leaves, outputs = called(arrays)
        weights = [random.standard_normal(y.shape) for y in outputs]
        known = [(y, wrap(w.astype(y._data.dtype))) for y, w in zip(outputs, weights, strict=True) if y.requires_grad]
        results = grad([y for y, _ in known], leaves, [w for _, w in known], allow_unused=True) if known else [None] * len(leaves)
        for _ in range(DIRECTIONS):
            along = [random.standard_normal(array.shape) for array in arrays]
            ends = [called([a + sign * STEP * v for a, v in zip(arrays, along, strict=True)])[1] for sign in (1, -1)]
            high, low = (sum(float(np.sum(w * y._data)) for w, y in zip(weights, end, strict=True)) for end in ends)
            found.append(
                ((high - low) / (2 * STEP), sum(float(np.sum(g._data * v)) for g, v in zip(results, along, strict=True) if g is not None))
            )
    return found


@contextmanager
def untold() -> Iterator[None]:
    """A block whose custom functions nobody is told of."""
    listeners = FUNCTION[:]
    FUNCTION.clear()
    try:
        yield
    finally:
        FUNCTION[:] = listeners


def differs(slopes: Slopes, tolerance: float = 0.02) -> tuple[float, float] | None:
    """The first pair that is not equal; one with no slope by differences tells nothing."""
    return next(((a, b) for a, b in slopes if abs(a) > 1e-3 and abs(b - a) > tolerance * max(abs(a), abs(b))), None)


def is_float(x: Any) -> bool:
    return isinstance(x, Tensor) and x._data.dtype.kind == "f"


def as_list(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, tuple) else [outputs]
