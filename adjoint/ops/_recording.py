"""What the results of an op remember: their node and what it saves, the base of a view, a tangent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._layer import Pending, level_of
from .._site import here
from .._state import FORWARD_AD, GRAD, INFERENCE, SAVED_HOOKS, get_mode
from .._tensor import Tensor, wrap
from ..autograd.forward_ad import carries_tangent, propagate
from ..autograd.node import INFERENCE_TENSOR, UNRECORDED, Node, Output, SeveralNode, VersionCounter, new_node
from ..autograd.saved import SavedOutput, pack_saved, refuse_inference
from ..autograd.views import INFERENCE_VIEW, NO_GRAD, ORDINARY, SEVERAL, View, counter_of, cut_of, edge_of, no_derivative
from ._forward import common_dtype
from ._precision import is_half
from ._registry import KEEP, Op
from ._rules import cast, conjugates
from ._several import nth


def finish(op: Op, operands: list[Any], values: dict[str, Any], tensors: tuple[Tensor, ...]) -> None:
    """Everything about a result but its value: history, view relation, tangent."""
    mode = get_mode()
    level = level_of(tensors[0]) if tensors else None
    node: Node | None = None
    if mode & (GRAD | INFERENCE) == GRAD and op.differentiable and (level is None or level.records):
        node = record(op, operands, values, tensors)
    if op.view:
        set_views(op, operands[0], values, tensors, node, mode)
    else:
        for nr, tensor in enumerate(tensors):
            if node is not None and tensor._data.dtype.kind in "fcV":
                tensor._fn = Output(node, nr) if op.several else node
            elif level is None:
                tensor._fn = cut_of(*(x for x in operands if isinstance(x, Tensor)))
                if tensor._fn is UNRECORDED.cut and not op.differentiable:
                    tensor._fn = no_derivative(op.name)
            if mode & INFERENCE:
                tensor._vc = INFERENCE_TENSOR
    if mode & FORWARD_AD and op.differentiable and carries_tangent(operands):
        propagate(op, operands, values, tensors)


def set_views(op: Op, base: Tensor, values: dict[str, Any], tensors: tuple[Tensor, ...], node: Node | None, mode: int) -> None:
    params = tuple(values[name] for name in op.params)
    if mode & INFERENCE:
        creation = INFERENCE_VIEW
    elif not mode & GRAD:
        creation = NO_GRAD
    else:
        creation = SEVERAL if op.several else ORDINARY
    for nr, tensor in enumerate(tensors):
        inference = mode & INFERENCE and base._vc is INFERENCE_TENSOR
        tensor._vc = INFERENCE_TENSOR if inference else counter_of(base)
        edge = Output(node, nr) if op.several and node is not None else node
        tensor._fn = View.of(base, nth(op, nr) if op.several else op, params, edge, creation)


def edges_of(operands: Sequence[Any]) -> list[Any]:
    """Where the gradients of operands go."""
    return [edge_of(x) if isinstance(x, Tensor) else None for x in operands]


def record(
    op: Op, operands: list[Any], values: dict[str, Any], tensors: tuple[Tensor, ...], originals: dict[int, Tensor] | None = None,
    edges: list[Any] | None = None,
) -> Node | None:  # fmt: skip
    """A node for this call, if any operand requires grad. `originals` replaces operands that were overwritten, and `edges` are as they
    were before: a part of what is written, made by `split`, has no history afterwards."""
    edges = edges_of(operands) if edges is None else edges
    needed = [
        slot for slot, edge in enumerate(edges) if edge is not None and op.differentiates(op.inputs[0 if op.sequence else slot])
    ]
    if not needed:
        return None
    if op.sequence:
        kinds, next_edges = "T", tuple(edges)
    else:
        kinds, next_edges = "".join("T" if isinstance(x, Tensor) else "S" for x in operands), tuple(edges[slot] for slot in needed)
    conj = conjugates(op, (*operands, *tensors)) and not op.sequence
    suffix = "c" if conj else "h" if op.wide and is_half(tensors[0]._data.dtype) else ""
    cls = op.variants[f"{kinds}{1 if op.sequence else sum(1 << slot for slot in needed)}{suffix}"]
    saved = [saved_value(op, name, operands, values, tensors, needed, originals or {}) for name in cls.layout]
    node = new_node(cls, next_edges, tuple(saved), here())
    if isinstance(node, SeveralNode):
        node.outputs = len(tensors)
    node.restore = restore_of(op, operands, tensors[0]._data, range(len(operands)) if op.sequence else needed)
    if get_mode() & SAVED_HOOKS:
        pack_saved(node)
    return node


def saved_value(
    op: Op,
    name: str,
    operands: list[Any],
    values: dict[str, Any],
    tensors: tuple[Tensor, ...],
    needed: list[int],
    originals: dict[int, Tensor],
) -> Any:
    if name == "out":
        saved = []
        for nr, tensor in enumerate(tensors):
            if tensor._vc is None:
                tensor._vc = VersionCounter()
            data = tensor._data
            saved.append(SavedOutput(data.resolved() if data.__class__ is Pending else data, tensor._vc, nr))
        return saved if op.several else saved[0]
    if op.sequence and name == f"{op.inputs[0]}_shape":
        return tuple(x._data.shape for x in operands)
    for slot, of in enumerate(op.inputs):
        if name == of:
            value = originals.get(slot, operands[slot])
            if isinstance(value, Tensor) and slot not in needed:
                refuse_inference(value)
            return promoted_saved(op, value, operands, slot)
        if name in (f"{of}_shape", f"{of}_dtype"):
            return getattr(operands[slot]._data, name.removeprefix(f"{of}_"))
    return values[name]


def promoted_saved(op: Op, value: Any, operands: list[Any], slot: int) -> Any:
    """A saved operand, in the dtype in which the op was computed, which is what rules expect."""
    if op.promote == KEEP or not isinstance(value, Tensor):
        return value
    dtype = common_dtype(op, [x._data if isinstance(x, Tensor) else x for x in operands])
    if value._data.dtype == dtype:
        return value
    converted = wrap(cast(value._data, dtype))
    converted._vc = counter_of(value)
    if edge_of(value) is not None:
        converted.__dict__["_converted_from"] = value
    return converted


def restore_of(op: Op, operands: list[Any], result: Any, needed: Sequence[int]) -> tuple[Any, ...] | None:
    """Shapes and dtypes to which the engine brings the gradients back; None where all fit."""
    if op.promote == KEEP and not op.broadcasts:
        return None
    back: list[Any] = []
    # An in-place write keeps the dtype of its target, whatever it was computed in.
    alike = all(x._data.dtype == result.dtype for x in operands if isinstance(x, Tensor) and x._data.dtype.kind in "fc")
    for slot in needed:
        data = operands[slot]._data
        fits = alike and data.dtype == result.dtype and (data.shape == result.shape or not op.broadcasts) and not is_half(data.dtype)
        back.append(None if fits else (data.shape, data.dtype))
    return tuple(back) if any(entry is not None for entry in back) else None
