"""Recurrent layers by compiled code (`_kernels/recurrence.py`): all steps of a layer are one call, and so are the gradients of its weights.

Nothing here uses NumPy's matrix products. Their threads stay awake for a while after a product, and would take the processors from those
that run the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ._cells import Cell
from ._recurrence import Result, Steps, Weights
from ._registry import Array
from ._warm import KINDS, Heat

if TYPE_CHECKING:
    from .._kernels.blocks import Table

LEAST = 2e6  # multiplications that are worth a thread of their own
_warm = Heat(1e7)


class Traced(NamedTuple):
    """What compiled code keeps, by row."""

    gates: Array
    states: Array  # before the step
    cells: Array | None


def compiles(steps: Steps, x: Array, w: Weights, *others: Array | None) -> bool:
    """Whether to use compiled code for arrays. For a single step it would not pay to arrange the weights."""
    arrays = [a for a in (x, *w, *others) if a is not None]
    return w.hr is None and len(steps.counts) > 1 and _warm(float(x.shape[0] * w.hh.size), *arrays)


@lru_cache(maxsize=64)
def tables(steps: Steps) -> tuple[Array, Array]:
    return np.array(steps.starts, np.int64), np.array(steps.counts, np.int64)


def panels(matrix: Array, kind: str) -> Array:
    """A matrix (depth, columns) as compiled code reads it: a few columns at a time, the last ones filled up with zeros."""
    from .._kernels.recurrence import panel

    wide = panel(kind)
    depth, columns = matrix.shape
    count = -(-columns // wide)
    if columns % wide:
        matrix = np.concatenate([matrix, np.zeros((depth, count * wide - columns), matrix.dtype)], axis=1)
    return np.ascontiguousarray(matrix.reshape(depth, count, wide).swapaxes(0, 1))


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
    total = np.zeros((cell.gates, width), w.hh.dtype)
    for gates, bias in ((cell.input_gates, w.bias_ih), (cell.state_gates, w.bias_hh)):
        if bias is not None:
            total[list(gates)] += bias.reshape(-1, width)
    return total


def run_steps(cell: Cell, backward: bool, steps: Steps, arrays: dict[str, Array | None], **numbers: int) -> None:
    """All steps, for the samples that the threads share."""
    from .._kernels import recurrence
    from .._kernels.blocks import table

    name, formula, reads = ("backward", cell.backward, cell.backward_reads) if backward else ("forward", cell.forward, cell.forward_reads)
    work = recurrence.Pass(f"{cell.name}_{name}", formula, reads, cell.gates, len(cell.input_gates), cell.offset, backward)
    starts, counts = tables(steps)
    given = {**dict.fromkeys(recurrence.STEPS.replace("*", "").split()), **arrays, "starts": starts, "counts": counts}
    facts: dict[str, int] = {key: 0 if array is None else array.ctypes.data for key, array in given.items()}
    state = arrays["state"]
    assert state is not None
    facts |= {"steps": len(steps.counts), "stride": steps.stride, "width": state.shape[1], **numbers}
    multiplications = sum(steps.counts) * state.shape[1] ** 2 * cell.gates
    shared(recurrence.steps(work, KINDS[state.dtype.char]), table(recurrence.STEPS, **facts), state.shape[0], multiplications)


def shared(kernel: int, facts: Table, units: int, multiplications: float) -> None:
    """Run a kernel, with an equal part of the units for each thread. What it computes does not depend on how they are cut."""
    from .._kernels.pool import get_num_threads
    from .._kernels.sharing import share

    share(kernel, facts, units, max(1, -(-units // get_num_threads())), alone=multiplications < LEAST)


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
    arrays |= {"input": np.ascontiguousarray(x), "input_panels": panels(by_gate(cell, w.ih).T, kind), "panels": panels(w.hh.T, kind)}
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
    arrays["grad"] = np.zeros(width, slopes.dtype) if g is None else np.ascontiguousarray(g)
    if g_memory is not None:
        arrays["cell"] = np.array(g_memory, order="C")
    given = None
    if needs_input:
        given = np.empty((rows, w.ih.shape[1]), slopes.dtype)
        arrays |= {"input": given, "input_panels": panels(by_gate(cell, w.ih), kind), "base": np.zeros(w.ih.shape[1], slopes.dtype)}
    run_steps(cell, True, steps, arrays, inputs=w.ih.shape[1], grad_stride=int(g is not None))
    return slopes, arrays["state"], arrays.get("cell"), given


def weight_gradient(left: Array, right: Array) -> tuple[Array, Array]:
    """`left.T @ right`, and the sum of the rows of `left`."""
    from .._kernels import recurrence
    from .._kernels.blocks import table
    from .._kernels.sharing import rooms

    kind = KINDS[left.dtype.char]
    wide = recurrence.panel(kind)
    rows, columns, right_columns = left.shape[0], left.shape[1], right.shape[1]
    out, sums = np.zeros((columns, right_columns), left.dtype), np.zeros(columns, left.dtype)
    memory, size, count = rooms.take(recurrence.TURN * wide * (1 + -(-right_columns // wide)) * left.itemsize)
    facts = table(
        recurrence.WEIGHTS, left=left.ctypes.data, right=right.ctypes.data, out=out.ctypes.data, sums=sums.ctypes.data, rows=rows,
        left_step=left.strides[0] // left.itemsize, columns=columns, right_step=right.strides[0] // right.itemsize,
        right_columns=right_columns, rooms=memory.ctypes.data, room_size=size, room_count=count,
    )  # fmt: skip
    shared(recurrence.weights(kind), facts, -(-columns // wide), rows * columns * right_columns)
    return out, sums
