"""Recurrent layers step by step: one layer in one direction, forwards and backwards, with NumPy functions.

It works on Tensors as well as on arrays, and so is what derivatives of derivatives and forward mode are made of. For arrays there is
compiled code too (`_fused_recurrence.py`).

Data have a row for each sample at each step. `Steps` says which rows, so batches with the samples or the steps in front, packed sequences
and both directions are all the same here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ._cells import Cell
from ._registry import Array


class Steps(NamedTuple):
    """Sample i takes part in step s if i < counts[s], with row starts[s] + i * stride. Steps are in the order of their computation."""

    starts: tuple[int, ...]
    counts: tuple[int, ...]
    stride: int


class Weights(NamedTuple):
    """The parameters of a layer in one direction, by PyTorch's names."""

    ih: Array
    hh: Array
    bias_ih: Array | None
    bias_hh: Array | None
    hr: Array | None  # projects the state, if there is a projection


Result = tuple[Array, Array, Array | None]  # of all rows; and the last states and cells of all samples


# ---- step by step -------------------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    gates: list[Array]
    state: Array  # before the step
    cell: Array | None
    shown: Array  # the state after the step, before its projection


def at_step(x: Array, steps: Steps, step: int) -> Array:
    """The rows of a step."""
    start, count = steps.starts[step], steps.counts[step]
    return x[start : start + (count - 1) * steps.stride + 1 : steps.stride] if count else x[:0]


def assembled(parts: Sequence[Array], steps: Steps) -> Array:
    """The rows of all steps in their places."""
    ordered = [part for _, part in sorted(zip(steps.starts, parts, strict=True), key=lambda pair: pair[0])]
    if steps.stride == 1:
        return np.concatenate(ordered)
    stacked = np.stack(ordered, axis=1)
    return np.reshape(stacked, (stacked.shape[0] * stacked.shape[1], stacked.shape[2]))


def linear(x: Array, weight: Array, bias: Array | None) -> Array:
    product = np.matmul(x, np.swapaxes(weight, 0, 1))
    return product if bias is None else product + bias


def blocks(x: Array, count: int) -> list[Array]:
    """The columns, in equal parts."""
    width = x.shape[1] // count
    return [x[:, i * width : (i + 1) * width] for i in range(count)]


def gates_of(cell: Cell, from_input: Array, from_state: Array, split: Callable[[Array, int], Sequence[Array]] = blocks) -> Sequence[Array]:
    """The gates, from the products with the input and with the state."""
    if cell.input_gates == cell.state_gates:
        return split(from_input + from_state, cell.gates)
    found = dict(zip(cell.input_gates, split(from_input, len(cell.input_gates)), strict=True))
    for gate, part in zip(cell.state_gates, split(from_state, len(cell.state_gates)), strict=True):
        found[gate] = found[gate] + part if gate in found else part
    return [found[gate] for gate in range(cell.gates)]


def with_rest(part: Array, whole: Array) -> Array:
    """The rows of the samples that take part in a step, followed by those of the others."""
    return part if part.shape[0] == whole.shape[0] else np.concatenate([part, whole[part.shape[0] :]])


def stepwise(cell: Cell, x: Array, state: Array, memory: Array | None, w: Weights, steps: Steps) -> tuple[Result, list[Step]]:
    """The layer step by step, and what its derivative needs."""
    from_input = linear(x, w.ih, w.bias_ih)
    done: list[Step] = []
    shown: list[Array] = []
    for step, count in enumerate(steps.counts):
        before = {"state": state[:count], "cell": None if memory is None else memory[:count]}
        gates = gates_of(cell, at_step(from_input, steps, step), linear(before["state"], w.hh, w.bias_hh))
        after = cell.forward(*gates, *(before[name] for name in cell.forward_reads[cell.gates :]))
        done.append(Step([after[f"gate{gate}"] for gate in range(cell.gates)], before["state"], before["cell"], after["state"]))
        shown.append(after["state"] if w.hr is None else linear(after["state"], w.hr, None))
        state = with_rest(shown[-1], state)
        memory = None if memory is None else with_rest(after["cell"], memory)
    return (assembled(shown, steps), state, memory), done


class Slopes(NamedTuple):
    """Gradients by row: of the products with the input and with the state; next to it the states that were multiplied."""

    of_input: Array
    of_state: Array
    states: Array
    of_projection: Array | None  # the gradient of the weights of the projection


def stepwise_back(
    cell: Cell, g: Array | None, g_state: Array, g_memory: Array | None, done: list[Step], w: Weights, steps: Steps
) -> tuple[Slopes, Array, Array | None]:
    """The gradients of all gates, and those of the first states and cells, from those of the results."""
    slopes: list[dict[str, Array]] = []
    projection: Array | None = None
    for step in range(len(steps.counts) - 1, -1, -1):
        count, kept = steps.counts[step], done[step]
        arriving = g_state[:count] if g is None else g_state[:count] + at_step(g, steps, step)
        if w.hr is not None:
            product = np.matmul(np.swapaxes(arriving, 0, 1), kept.shown)
            projection = product if projection is None else projection + product
            arriving = np.matmul(arriving, w.hr)
        values = {
            "states": kept.state, "cells": kept.cell, "state": arriving, "grad": 0.0, "cell": None if g_memory is None else g_memory[:count]
        }  # fmt: skip
        values |= {f"gate{gate}": value for gate, value in enumerate(kept.gates)}
        found = cell.backward(*(values[name] for name in cell.backward_reads))
        slopes.append(found)
        through_gates = np.matmul(side_by_side(found, cell.state_gates), w.hh)
        g_state = with_rest(through_gates + found["state"], g_state)
        g_memory = None if g_memory is None else with_rest(found["cell"], g_memory)
    slopes.reverse()
    of_input, of_state = (assembled([side_by_side(s, gates) for s in slopes], steps) for gates in (cell.input_gates, cell.state_gates))
    return Slopes(of_input, of_state, assembled([kept.state for kept in done], steps), projection), g_state, g_memory


def side_by_side(found: dict[str, Array], gates: tuple[int, ...]) -> Array:
    return found[f"slope{gates[0]}"] if len(gates) == 1 else np.concatenate([found[f"slope{gate}"] for gate in gates], axis=1)
