"""Small tensors, where a library's own work per operation is all there is to see."""

from __future__ import annotations

from typing import Any

from ._timing import Step, timed


@timed("50-multiplication chain on 64 floats, forward+backward")
def multiplication_chain(lib: Any) -> Step:
    x = lib.linspace(0.5, 1.5, 64, requires_grad=True)
    w = lib.linspace(0.9, 1.1, 64, requires_grad=True)

    def step() -> None:
        y = x
        for _ in range(50):
            y = y * w
        y.sum().backward()

    return step


@timed("2-16-16-1 training step, batch 32")
def small_training_step(lib: Any) -> Step:
    nn = lib.nn
    lib.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    loss_of = nn.MSELoss()
    optimizer = lib.optim.SGD(model.parameters(), lr=0.01)
    inputs, targets = lib.randn(32, 2), lib.randn(32, 1)

    def step() -> None:
        optimizer.zero_grad()
        loss_of(model(inputs), targets).backward()
        optimizer.step()

    return step
