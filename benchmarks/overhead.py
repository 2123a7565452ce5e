"""Small tensors, where a library's own work per operation is all there is to see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

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


# ---- calls that do next to nothing --------------------------------------------------------------------------------------------------

ARRAY = np.ones(64, np.float32)
Called = Callable[[Any], Any]  # with a tensor of 8x8 numbers

CALLS: dict[str, Callable[[Any], Called]] = {
    "reading shape, dtype and device": lambda lib: lambda x: (x.shape, x.dtype, x.device),
    "reading requires_grad, is_leaf and grad": lambda lib: lambda x: (x.requires_grad, x.is_leaf, x.grad),
    "size, stride and data_ptr": lambda lib: lambda x: (x.size(0), x.stride(), x.data_ptr()),
    "detach and data": lambda lib: lambda x: (x.detach(), x.data),
    "zeros, ones and full": lambda lib: lambda x: (lib.zeros(64), lib.ones(8, 8), lib.full((8, 8), 0.5)),
    "zeros_like and new_zeros": lambda lib: lambda x: (lib.zeros_like(x), x.new_zeros(64)),
    "arange and from_numpy": lambda lib: lambda x: (lib.arange(0, 10), lib.from_numpy(ARRAY)),
    "assigning a part": lambda lib: lambda x: x.__setitem__(0, 0.5),
    "copy_ of float64 numbers": lambda lib: lambda x: x.copy_(x.double()),
    "multiplication in inference mode": lambda lib: lib.inference_mode()(lambda x: x * 2.0),
}


def often(call: Callable[[Any], Called]) -> Callable[[Any], Step]:
    def build(lib: Any) -> Step:
        fn, x = call(lib), lib.ones(8, 8)

        def step() -> None:
            for _ in range(100):
                fn(x)

        return step

    return build


for _name, _call in CALLS.items():
    timed(f"{_name}, 100 times")(often(_call))
