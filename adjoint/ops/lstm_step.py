"""One step of an LSTM, from the sum of the products with its weights on, as one op: `LSTMCell` makes one node of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._batching import Composed
from ._cells import CELLS
from ._primitives import loops
from ._recurrence import blocks, side_by_side
from ._registry import Array, op

LSTM = CELLS["lstm"]


def by_parts(gates: Any, cell: Any) -> tuple[Any, Any]:
    """The same with other ops."""
    after = LSTM.forward(*blocks(gates, 4), cell, cell)
    return after["state"], after["cell"]


def step_grads(g: Any, gates: Array, cell: Array, kept: list[Array]) -> tuple[Array, Array]:
    g_state, g_cell = (np.zeros_like(cell) if part is None else part for part in g)
    if kept and g_state.__class__ is np.ndarray:
        rows, width = cell.shape
        slopes, before = np.empty(gates.shape, gates.dtype), np.empty(cell.shape, cell.dtype)
        arrays = (np.ascontiguousarray(x) for x in (cell, g_state, g_cell))
        if loops("cell").lstm_rows_back.run(slopes, before, kept[0], *arrays, width, rows, 4 * width):
            return slopes, before
    opened = LSTM.forward(*blocks(gates, 4), cell, cell)
    found = LSTM.backward(*(opened[f"gate{gate}"] for gate in range(4)), cell, g_state, g_cell, 0.0)
    return side_by_side(found, (0, 1, 2, 3)), found["cell"]


def step_jvp(gates: Any, cell: Any, gates_t: Any, cell_t: Any) -> list[Any]:
    from ..func import jvp  # late: a level above the ops

    given = {0: (gates, gates_t), 1: (cell, cell_t)}
    moving = [place for place, (_, tangent) in given.items() if tangent is not None]

    def step(*values: Any) -> tuple[Any, Any]:
        arguments = [gates, cell]
        for place, value in zip(moving, values, strict=True):
            arguments[place] = value
        return by_parts(*arguments)

    _, tangents = jvp(step, tuple(given[place][0] for place in moving), tuple(given[place][1] for place in moving))
    return list(tangents)


@op(method=False, function=False, several=True, joint=step_grads, jvp=step_jvp, batch=Composed(by_parts))
def lstm_step(gates: Array, cell: Array, kept: list[Any]) -> tuple[Array, ...]:
    """The new state and cell; what the backward pass needs is left in `kept`."""
    if gates.__class__ is np.ndarray and cell.__class__ is np.ndarray:
        rows, width = cell.shape
        state, after, opened = np.empty(cell.shape, cell.dtype), np.empty(cell.shape, cell.dtype), np.empty(gates.shape, gates.dtype)
        before = np.ascontiguousarray(cell)
        if loops("cell").lstm_rows.run(state, after, opened, np.ascontiguousarray(gates), before, width, rows, 4 * width):
            kept.append(opened)
            return state, after
    return by_parts(gates, cell)
