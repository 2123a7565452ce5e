"""The numbers of `accumulate.html`: a straight line is fitted with and without `zero_grad()`, and in four micro-batches.

In float64, as JavaScript computes: for other settings than these the page runs the same two loops itself (`line` in accumulate.js), and a
test compares them with `train`.
"""

from __future__ import annotations

from typing import Any

import adjoint as ad

START, RATE, STEPS = (-1.6, 1.5), 0.1, 40
HERE = (-0.6, -2.0)  # where the micro-batches are taken


def points() -> tuple[ad.Tensor, ad.Tensor]:
    x = ad.linspace(-1.0, 2.0, 16, dtype=ad.float64)
    noise = ad.tensor([3, -2, 1, 4, -3, 0, 2, -4, 1, 3, -1, -2, 4, -3, 2, -1], dtype=ad.float64) / 10
    return x, 1.4 * x - 0.5 + noise


def parameters(start: tuple[float, float]) -> list[ad.Tensor]:
    return [ad.tensor(value, dtype=ad.float64, requires_grad=True) for value in start]


def train(clear: bool, start: tuple[float, float] = START, lr: float = RATE, steps: int = STEPS) -> list[list[float]]:
    """One row `[w, b, loss, w.grad, b.grad]` for each step, before it is taken."""
    x, y = points()
    w, b = parameters(start)
    optimizer = ad.optim.SGD([w, b], lr=lr)
    rows = []
    for _ in range(steps):
        if clear:
            optimizer.zero_grad()
        loss = ((w * x + b - y) ** 2).mean()
        loss.backward()
        rows.append([w.item(), b.item(), loss.item(), w.grad.item(), b.grad.item()])
        optimizer.step()
    return rows


def micro_batches(factor: float) -> list[list[float]]:
    """`[w.grad, b.grad]` after each of four backward passes over a quarter of the points."""
    x, y = points()
    w, b = parameters(HERE)
    rows = []
    for part in range(4):
        (((w * x[part::4] + b - y[part::4]) ** 2).mean() * factor).backward()
        rows.append([w.grad.item(), b.grad.item()])
    return rows


def one_batch() -> list[float]:
    x, y = points()
    w, b = parameters(HERE)
    ((w * x + b - y) ** 2).mean().backward()
    return [w.grad.item(), b.grad.item()]


def record() -> dict[str, Any]:
    x, y = points()
    return {
        "x": x.tolist(), "y": y.tolist(), "start": START, "lr": RATE, "steps": STEPS,
        "kept": train(clear=False), "cleared": train(clear=True),
        "micro": {"scaled": micro_batches(0.25), "plain": micro_batches(1.0), "batch": one_batch()},
    }  # fmt: skip
