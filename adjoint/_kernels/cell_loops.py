"""One step of an LSTM after the products with its weights: all gates in one pass."""

from __future__ import annotations

from typing import Any

from .loops import Floats, Out, exp, loop, part, tanh


@part
def sigmoid(x: float) -> Any:
    return 1.0 / (1.0 + exp(-x))


@loop(reorder=True)
def lstm_rows(state: Out, after: Out, opened: Out, gates: Floats, cell: Floats, width: int, rows: range) -> None:
    """The new state and cell of each sample, and its gates as far as they are open."""
    for i in rows:
        gate = 4 * width * i
        for j in range(width):
            take = sigmoid(gates[gate + j])
            keep = sigmoid(gates[gate + width + j])
            new = tanh(gates[gate + 2 * width + j])
            show = sigmoid(gates[gate + 3 * width + j])
            value = keep * cell[i * width + j] + take * new
            opened[gate + j] = take
            opened[gate + width + j] = keep
            opened[gate + 2 * width + j] = new
            opened[gate + 3 * width + j] = show
            after[i * width + j] = value
            state[i * width + j] = show * tanh(value)


@loop(reorder=True)
def lstm_rows_back(
    slopes: Out, before: Out, opened: Floats, cell: Floats, g_state: Floats, g_cell: Floats, width: int, rows: range
) -> None:
    """The gradients of the gates, and of the cell before the step."""
    for i in rows:
        gate = 4 * width * i
        for j in range(width):
            take = opened[gate + j]
            keep = opened[gate + width + j]
            new = opened[gate + 2 * width + j]
            show = opened[gate + 3 * width + j]
            old = cell[i * width + j]
            grad = g_state[i * width + j]
            bent = tanh(keep * old + take * new)
            inner = g_cell[i * width + j] + grad * show * (1.0 - bent * bent)
            slopes[gate + j] = inner * new * take * (1.0 - take)
            slopes[gate + width + j] = inner * old * keep * (1.0 - keep)
            slopes[gate + 2 * width + j] = inner * take * (1.0 - new * new)
            slopes[gate + 3 * width + j] = grad * bent * show * (1.0 - show)
            before[i * width + j] = inner * keep
