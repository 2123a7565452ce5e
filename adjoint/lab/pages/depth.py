"""The numbers of `depth.html`: the size of each layer's gradient in networks of several depths, activations and first weights."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import adjoint as ad

WIDTH, BATCH = 32, 16
DEPTHS = (4, 8, 16, 32)
ACTIVATIONS: dict[str, Callable[[ad.Tensor], ad.Tensor]] = {"none": lambda x: x, "sigmoid": ad.sigmoid, "tanh": ad.tanh, "relu": ad.relu}
GAINS = {"half": 0.5, "one": 1.0, "he": 2.0**0.5, "two": 2.0}  # times 1/sqrt(width)


def norms(depth: int, activation: str, gain: str, skip: bool) -> list[float]:
    """The length of the gradient of each layer's weight, the first layer first."""
    ad.manual_seed(1)
    x = ad.randn(BATCH, WIDTH, dtype=ad.float64)
    weights = [(ad.randn(WIDTH, WIDTH, dtype=ad.float64) * (GAINS[gain] / WIDTH**0.5)).requires_grad_() for _ in range(depth)]
    for w in weights:
        y = ACTIVATIONS[activation](x @ w)
        x = x + y if skip else y
    x.sum(1).mean().backward()
    return [w.grad.norm().item() for w in weights]


def record() -> dict[str, Any]:
    runs = {
        f"{depth}-{activation}-{gain}-{int(skip)}": [float(f"{norm:.4g}") for norm in norms(depth, activation, gain, skip)]
        for depth, activation, gain, skip in itertools.product(DEPTHS, ACTIVATIONS, GAINS, (False, True))
    }
    return {"depths": DEPTHS, "activations": list(ACTIVATIONS), "gains": list(GAINS), "runs": runs}
