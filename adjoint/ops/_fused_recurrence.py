"""Recurrent layers by compiled code (`_kernels/recurrence.py`): all steps of a layer are one call, and so are the gradients of its weights.

Nothing here uses NumPy's matrix products. Their threads stay awake for a while after a product, and would take the processors from those
that run the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._serving import KINDS, serves
from ._cells import Cell
from ._recurrence import Result, Steps, Weights
from ._registry import Array

LEAST = 2e6  # multiplications that are worth a thread of their own


class Traced(NamedTuple):
    """What compiled code keeps, by row."""

    gates: Array
    states: Array  # before the step
    cells: Array | None


def compiles(steps: Steps, x: Array, w: Weights, *others: Array | None) -> bool:
    """Whether to use compiled code for arrays. For a single step it would not pay to arrange the weights."""
    arrays = [a for a in (x, *w, *others) if a is not None]
    return w.hr is None and len(steps.counts) > 1 and serves(*arrays)


@lru_cache(maxsize=64)
def tables(steps: Steps) -> tuple[Array, Array]:
    return np.array(steps.starts, np.int64), np.array(steps.counts, np.int64)


def plain(x: Array) -> Array:
    """An array as compiled code reads it."""
    x = np.ascontiguousarray(x)
    return x if x.flags.aligned else x.copy()


def panels(matrix: Array, kind: str) -> Array:
    """A matrix (depth, columns) as compiled code reads it: a few columns at a time, the last ones filled up with zeros."""
    wide = kernels().panel(kind)
    depth, columns = matrix.shape
    count = -(-columns // wide)
    if columns % wide:
        full = np.zeros((depth, count * wide), matrix.dtype)
        full[:, :columns] = matrix
        matrix = full
    return matrix.reshape(depth, count, wide).swapaxes(0, 1).copy() if count > 1 else plain(matrix)


def reordered(weight: Array, order: Sequence[int]) -> Array:
    """Equal parts of a weight's rows in another order; the weight itself if it is the same."""
    if list(order) == sorted(order):
        return weight
    return weight.reshape(len(order), -1, *weight.shape[1:])[list(order)].reshape(weight.shape)


def by_gate(cell: Cell, weight: Array) -> Array:
    """A weight for the input, in the order of gates."""
    return reordered(weight, [cell.input_gates.index(gate) for gate in sorted(cell.input_gates)])


def by_block(cell: Cell, weight: Array) -> Array:
    """The reverse of `by_gate`."""
    return reordered(weight, cell.input_gates)


def bias_of(cell: Cell, w: Weights, width: int) -> Array:
    """The sum of the biases for each gate."""
    if w.bias_ih is not None and w.bias_hh is not None and cell.input_gates == cell.state_gates == tuple(range(cell.gates)):
        return w.bias_ih + w.bias_hh
    total = np.zeros((cell.gates, width), w.hh.dtype)
    for gates, bias in ((cell.input_gates, w.bias_ih), (cell.state_gates, w.bias_hh)):
        if bias is not None:
            total[list(gates)] += bias.reshape(-1, width)
    return total


@cache
def kernels() -> Any:
    from .._kernels import recurrence

    return recurrence


@cache
def kernel_of(cell: Cell, backward: bool) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """All steps of a layer as a function, and what it takes."""
    from .._kernels.blocks import order

    name, formula, reads = ("backward", cell.backward, cell.backward_reads) if backward else ("forward", cell.forward, cell.forward_reads)
    work = kernels().Pass(f"{cell.name}_{name}", formula, reads, cell.gates, len(cell.input_gates), cell.offset, backward)
    return kernels().steps(work), order(kernels().STEPS)


def parts(units: int, multiplications: int) -> tuple[int, int, int]:
    """How many units make a part, how many parts there are, and how much there is to do for one: an equal part of the units for each
    thread. What is computed does not depend on how they are cut."""
    from .._kernels.pool import get_num_threads

    each = units if multiplications < LEAST else max(1, -(-units // get_num_threads()))
    count = -(-units // max(1, each))
    return each, count, max(1, multiplications // count if count > 1 else min(multiplications, 1 << 16))


def run_steps(cell: Cell, backward: bool, steps: Steps, arrays: dict[str, Array | None], **numbers: int) -> None:
    """All steps, for the samples that the threads share."""
    kernel, names = kernel_of(cell, backward)
    gates, state = arrays["gates"], arrays["state"]
    assert gates is not None and state is not None
    samples, width = state.shape
    each, count, work = parts(samples, gates.shape[0] * width * width * cell.gates)
    starts, counts = tables(steps)
    given: dict[str, Any] = {"grad_stride": 0, "starts": starts, "counts": counts, "steps": len(counts), "stride": steps.stride}
    given |= {**arrays, **numbers, "width": width, "part": each, "samples": samples}
    if not kernel(*map(given.get, names), count, work):
        raise AssertionError("a compiled layer was given something that it does not take")


def traced(cell: Cell, x: Array, state: Array, memory: Array | None, w: Weights, steps: Steps) -> tuple[Result, Traced]:
    """The layer by compiled code."""
    rows, width, kind = x.shape[0], w.hh.shape[1], KINDS[x.dtype.char]
    gates = np.empty((rows, cell.gates * width), x.dtype)
    inputs = len(cell.input_gates) * width
    base = bias_of(cell, w, width)
    gates[:, inputs:] = base.reshape(-1)[inputs:]
    states, out = np.empty((rows, width), x.dtype), np.empty((rows, width), x.dtype)
    arrays = {"gates": gates, "states": states, "out": out, "state": np.array(state, order="C"), "base": base}
    if cell.has_cell:
        arrays |= {"cells": np.empty((rows, width), x.dtype), "cell": np.array(memory, order="C")}
    arrays |= {"input": plain(x), "input_panels": panels(by_gate(cell, w.ih).T, kind), "panels": panels(w.hh.T, kind)}
    run_steps(cell, False, steps, arrays, inputs=x.shape[1])
    return (out, arrays["state"], arrays.get("cell")), Traced(gates, states, arrays.get("cells"))


def traced_back(
    cell: Cell, g: Array | None, g_state: Array, g_memory: Array | None, done: Traced, w: Weights, steps: Steps, needs_input: bool
) -> tuple[Array, Array, Array | None, Array | None]:
    """The gradients of the gates by row, of the first states and cells, and of the input."""
    kind = KINDS[done.gates.dtype.char]
    rows, width = done.states.shape
    slopes = np.empty_like(done.gates)
    arrays = {**done._asdict(), "slopes": slopes, "state": np.array(g_state, order="C"), "panels": panels(w.hh, kind)}
    arrays["grad"] = np.zeros(width, slopes.dtype) if g is None else plain(g)
    if g_memory is not None:
        arrays["cell"] = np.array(g_memory, order="C")
    given = None
    if needs_input:
        given = np.empty((rows, w.ih.shape[1]), slopes.dtype)
        arrays |= {"input": given, "input_panels": panels(by_gate(cell, w.ih), kind), "base": np.zeros(w.ih.shape[1], slopes.dtype)}
    run_steps(cell, True, steps, arrays, inputs=w.ih.shape[1], grad_stride=int(g is not None))
    return slopes, arrays["state"], arrays.get("cell"), given


def weight_gradient(slopes: Array, begin: int, columns: int, right: Array) -> tuple[Array, Array]:
    """`left.T @ right`, where `left` are some columns of `slopes`, and the sum of the rows of `left`."""
    from .._kernels.sharing import rooms

    recurrence = kernels()
    wide = recurrence.panel(KINDS[slopes.dtype.char])
    (rows, step), right_columns = slopes.shape, right.shape[1]
    out, sums = np.zeros((columns, right_columns), slopes.dtype), np.zeros(columns, slopes.dtype)
    room = rooms.take(recurrence.TURN * wide * (1 + -(-right_columns // wide)) * slopes.itemsize)
    panels = -(-columns // wide)
    each, count, work = parts(panels, rows * columns * right_columns)
    if not recurrence.weights()(slopes, right, out, sums, rows, step, begin, columns, right_columns, each, panels, *room, count, work):
        raise AssertionError("compiled gradients of weights were given something that they do not take")
    return out, sums
