"""The op behind recurrent layers: all steps of one layer in one direction are one node of the graph.

What it computes is in `_recurrence.py` and `_fused_recurrence.py`. An ordinary backward uses what the forward kept. On Tensors, for
derivatives of derivatives and forward mode, the layer is computed again step by step with ordinary ops, whose derivatives follow by
themselves.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from .._methods import OpMethods
from ._batching import Composed
from ._cells import CELLS, Cell
from ._fused_recurrence import Traced, by_block, compiles, plain, traced, traced_back, weight_gradient
from ._primitives import primitive
from ._recurrence import Slopes, Step, Steps, Weights, stepwise, stepwise_back
from ._registry import Array, op


class Kept:
    """What a forward keeps for the backward. It is filled by the forward and belongs to it alone, so nobody can write over it."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Traced | list[Step] | None = None


Grads = list[Array | None]  # of input, hx, the weights and biases, cx, and the projection


def layer_grads(
    g: Any, input: Array, hx: Array, weight_ih: Array, weight_hh: Array, bias_ih: Array | None, bias_hh: Array | None, cx: Array | None,
    weight_hr: Array | None, cell: str, steps: Steps, kept: Kept | None, needs: tuple[bool, ...],
) -> Grads:  # fmt: skip
    w = Weights(weight_ih, weight_hh, bias_ih, bias_hh, weight_hr)
    kind = CELLS[cell]
    g_out, g_state = g[0], np.zeros_like(hx) if g[1] is None else g[1]
    g_memory = None if cx is None else np.zeros_like(cx) if g[2] is None else g[2]
    done = kept.value if kept is not None and not isinstance(hx, OpMethods) else None
    if isinstance(done, Traced):
        slopes, g_hx, g_cx, g_input = traced_back(kind, g_out, g_state, g_memory, done, w, steps, needs[0])
        return [g_input, g_hx, *weight_grads(kind, input, done.states, slopes, needs), g_cx, None]
    if done is None:
        _, done = stepwise(kind, input, hx, cx, w, steps)
    found, g_hx, g_cx = stepwise_back(kind, g_out, g_state, g_memory, done, w, steps)
    return [np.matmul(found.of_input, w.ih) if needs[0] else None, g_hx, *products(input, found, needs), g_cx, found.of_projection]


def products(input: Array, found: Slopes, needs: tuple[bool, ...]) -> Grads:
    """The gradients of the weights and biases."""
    return [
        np.matmul(np.swapaxes(found.of_input, 0, 1), input) if needs[2] else None,
        np.matmul(np.swapaxes(found.of_state, 0, 1), found.states) if needs[3] else None,
        np.sum(found.of_input, axis=0) if needs[4] else None,
        np.sum(found.of_state, axis=0) if needs[5] else None,
    ]


def weight_grads(cell: Cell, input: Array, states: Array, slopes: Array, needs: tuple[bool, ...]) -> Grads:
    """The same by compiled code."""
    width = states.shape[1]
    ih = hh = bias_ih = bias_hh = None
    if needs[2] or needs[4]:
        ih, bias_ih = weight_gradient(slopes, 0, len(cell.input_gates) * width, plain(input))
        ih, bias_ih = by_block(cell, ih), by_block(cell, bias_ih)
    if needs[3] or needs[5]:
        hh, bias_hh = weight_gradient(slopes, cell.offset * width, slopes.shape[1] - cell.offset * width, states)
    return [ih, hh, bias_ih, bias_hh]


def layer_jvp(
    input: Any, hx: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, cx: Any, weight_hr: Any, input_t: Any, hx_t: Any,
    weight_ih_t: Any, weight_hh_t: Any, bias_ih_t: Any, bias_hh_t: Any, cx_t: Any, weight_hr_t: Any, cell: str, steps: Steps,
) -> list[Any]:  # fmt: skip
    given = (
        (input, input_t), (hx, hx_t), (weight_ih, weight_ih_t), (weight_hh, weight_hh_t), (bias_ih, bias_ih_t), (bias_hh, bias_hh_t),
        (cx, cx_t), (weight_hr, weight_hr_t),
    )  # fmt: skip
    from ..func import jvp  # late: a level above the ops, opened for the steps

    moving = [place for place, (_, tangent) in enumerate(given) if tangent is not None]

    def layer(*values: Any) -> tuple[Any, ...]:
        arguments: list[Any] = [*(primal for primal, _ in given), cell, steps]
        for place, value in zip(moving, values, strict=True):
            arguments[place] = value
        return tuple(layer_step_by_step(*arguments))

    _, tangents = jvp(layer, tuple(given[place][0] for place in moving), tuple(given[place][1] for place in moving))
    return list(tangents)


def check_products(*pairs: tuple[Array, Array]) -> None:
    """Refuse data that cannot be multiplied with their weights."""
    for x, weight in pairs:
        if x.dtype != weight.dtype:
            names = from_numpy_dtype(x.dtype).scalar_name, from_numpy_dtype(weight.dtype).scalar_name
            raise RuntimeError(
                f"mat1 and mat2 must have the same dtype, but got {names[0]} and {names[1]}\n"
                "  fix: model.to(x.dtype), or x.to(weight.dtype)"
            )
        if x.shape[1] != weight.shape[1]:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({x.shape[0]}x{x.shape[1]} and {weight.shape[1]}x{weight.shape[0]})"
            )


@lru_cache(maxsize=256)
def needs_of(steps: Steps) -> tuple[int, int]:
    """How many rows and samples there have to be."""
    if min(steps.counts, default=0) < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    ends = (start + (count - 1) * steps.stride + 1 for start, count in zip(steps.starts, steps.counts, strict=True) if count)
    return max(ends, default=0), max(steps.counts, default=0)


def check_sizes(cell: Cell, input: Array, hx: Array, cx: Array | None, w: Weights, steps: Steps) -> None:
    """Refuse steps that the data do not have, and sizes that do not fit together: compiled code knows addresses only."""
    rows, samples = needs_of(steps)
    if rows > input.shape[0]:
        raise RuntimeError(f"start (0) + length ({rows}) exceeds dimension size ({input.shape[0]}).")
    width = hx.shape[1] if w.hr is None else w.hr.shape[1]
    wanted = {"ih": len(cell.input_gates) * width, "hh": len(cell.state_gates) * width}
    wanted |= {"bias_ih": wanted["ih"], "bias_hh": wanted["hh"]}
    pairs = [(found.shape[0], wanted[name]) for name, found in zip(w._fields, w, strict=True) if found is not None and name in wanted]
    pairs += [(hx.shape[0], samples), *([] if cx is None else [(cx.shape[0], samples), (cx.shape[1], width)])]
    for found, expected in pairs:
        if found != expected:
            raise RuntimeError(f"The size of tensor a ({found}) must match the size of tensor b ({expected}) at non-singleton dimension 0")


def layer_step_by_step(
    input: Any, hx: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, cx: Any, weight_hr: Any, cell: str, steps: Steps
) -> tuple[Any, ...]:
    """The layer on Tensors."""
    results, _ = stepwise(CELLS[cell], input, hx, cx, Weights(weight_ih, weight_hh, bias_ih, bias_hh, weight_hr), steps)
    return tuple(result for result in results if result is not None)


@op(method=False, function=False, several=True, joint=layer_grads, holomorphic=True, jvp=layer_jvp, batch=Composed(layer_step_by_step))
def recurrent_layer(
    input: Array, hx: Array, weight_ih: Array, weight_hh: Array, bias_ih: Array | None, bias_hh: Array | None, cx: Array | None,
    weight_hr: Array | None, cell: str, steps: Steps, kept: Kept | None = None,
) -> tuple[Array, ...]:  # fmt: skip
    """The states after each step, by row, and the last states of all samples, with their cells if there are any."""
    w = Weights(weight_ih, weight_hh, bias_ih, bias_hh, weight_hr)
    check_products((input, w.ih), (hx, w.hh))
    kind = CELLS[cell]
    if cell == "rnn_relu" and input.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types\n  fix: nonlinearity='tanh'")
    check_sizes(kind, input, hx, cx, w, steps)
    results, done = layer(input, hx, cx, kind, w, steps)
    if kept is not None:
        kept.value = done
    return tuple(result for result in results if result is not None)


def layer_by_kernel(input: Array, hx: Array, cx: Array | None, kind: Any, w: Weights, steps: Steps) -> tuple[Any, Any] | None:
    return traced(kind, input, hx, cx, w, steps) if compiles(steps, input, w, hx, cx) else None


def room_for_layer(input: Array, hx: Array, cx: Array | None, *how: Any) -> tuple[Any, Any]:
    shapes = [(input.shape[0], hx.shape[1]), hx.shape, *([] if cx is None else [cx.shape])]
    return [np.empty_like(input, shape=shape) for shape in shapes], None


@primitive("recurrence.layer", layer_by_kernel, meta=room_for_layer)
def layer(input: Array, hx: Array, cx: Array | None, kind: Any, w: Weights, steps: Steps) -> tuple[Any, Any]:
    """The results, and what the backward pass needs."""
    (out, state, memory), done = stepwise(kind, input, hx, cx, w, steps)
    return (out, np.copy(state), None if memory is None else np.copy(memory)), done  # copies: `done` has these arrays too
