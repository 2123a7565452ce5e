"""What one step of a recurrent layer computes, and its derivative, as formulas.

They are plain NumPy code, so they run on arrays, on Tensors, and on the symbols of the kernel maker (`_kernels/recurrence.py`). Gates are
what the products with the weights give, `state` and `cell` what a step takes from the one before. A forward formula returns gates as the
backward one wants them; that returns the gradients of the gates (`slope0`, ...), and of `state` as far as it does not go through gates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ._registry import Array
from ._rules import call
from .transcendental import sigmoid

Values = dict[str, Array]


class Cell(NamedTuple):
    """A kind of recurrent layer."""

    name: str
    forward: Callable[..., Values]
    forward_reads: tuple[str, ...]
    backward: Callable[..., Values]
    backward_reads: tuple[str, ...]
    gates: int
    # To which gate each block of rows of the weights belongs. All but one gate of a GRU are sums of a product with the input and one with
    # the state.
    input_gates: tuple[int, ...]
    state_gates: tuple[int, ...]

    @property
    def has_cell(self) -> bool:
        return "cell" in self.forward_reads

    @property
    def offset(self) -> int:
        """The first gate that has a product with the state."""
        return min(self.state_gates)


def lstm_forward(gate0: Array, gate1: Array, gate2: Array, gate3: Array, state: Array, cell: Array) -> Values:
    take, keep, new, show = call(sigmoid, gate0), call(sigmoid, gate1), np.tanh(gate2), call(sigmoid, gate3)
    after = keep * cell + take * new
    shown = show * np.tanh(after)
    gates = {"gate0": take, "gate1": keep, "gate2": new, "gate3": show}
    return {**gates, "states": state, "cells": cell, "state": shown, "cell": after, "out": shown}


def lstm_backward(
    gate0: Array, gate1: Array, gate2: Array, gate3: Array, cells: Array, state: Array, cell: Array, grad: Array
) -> Values:
    grad = state + grad
    bent = np.tanh(gate1 * cells + gate0 * gate2)
    inner = cell + grad * gate3 * (1 - bent * bent)
    return {
        "slope0": inner * gate2 * gate0 * (1 - gate0),
        "slope1": inner * cells * gate1 * (1 - gate1),
        "slope2": inner * gate0 * (1 - gate2 * gate2),
        "slope3": grad * bent * gate3 * (1 - gate3),
        "cell": inner * gate1,
        "state": 0.0,
    }


def gru_forward(gate0: Array, gate1: Array, gate2: Array, gate3: Array, state: Array) -> Values:
    reset, keep = call(sigmoid, gate1), call(sigmoid, gate2)
    new = np.tanh(gate0 + reset * gate3)
    after = new + keep * (state - new)
    return {"gate0": new, "gate1": reset, "gate2": keep, "gate3": gate3, "states": state, "state": after, "out": after}


def gru_backward(gate0: Array, gate1: Array, gate2: Array, gate3: Array, states: Array, state: Array, grad: Array) -> Values:
    grad = state + grad
    inner = grad * (1 - gate2) * (1 - gate0 * gate0)
    return {
        "slope0": inner,
        "slope1": inner * gate3 * gate1 * (1 - gate1),
        "slope2": grad * (states - gate0) * gate2 * (1 - gate2),
        "slope3": inner * gate1,
        "state": grad * gate2,
    }


def tanh_forward(gate0: Array, state: Array) -> Values:
    after = np.tanh(gate0)
    return {"gate0": after, "states": state, "state": after, "out": after}


def tanh_backward(gate0: Array, state: Array, grad: Array) -> Values:
    return {"slope0": (state + grad) * (1 - gate0 * gate0), "state": 0.0}


def relu_forward(gate0: Array, state: Array) -> Values:
    after = np.maximum(gate0, 0)
    return {"gate0": after, "states": state, "state": after, "out": after}


def relu_backward(gate0: Array, state: Array, grad: Array) -> Values:
    return {"slope0": np.where(gate0 > 0, state + grad, 0), "state": 0.0}


FOUR = ("gate0", "gate1", "gate2", "gate3")

CELLS = {
    cell.name: cell
    for cell in (
        Cell("lstm", lstm_forward, (*FOUR, "state", "cell"), lstm_backward, (*FOUR, "cells", "state", "cell", "grad"), 4, (0, 1, 2, 3),
             (0, 1, 2, 3)),
        Cell("gru", gru_forward, (*FOUR, "state"), gru_backward, (*FOUR, "states", "state", "grad"), 4, (1, 2, 0), (1, 2, 3)),
        Cell("rnn_tanh", tanh_forward, ("gate0", "state"), tanh_backward, ("gate0", "state", "grad"), 1, (0,), (0,)),
        Cell("rnn_relu", relu_forward, ("gate0", "state"), relu_backward, ("gate0", "state", "grad"), 1, (0,), (0,)),
    )
}  # fmt: skip
