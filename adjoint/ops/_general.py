"""The general path of an op call: everything that the generated fast path leaves out.

Python numbers and NumPy arrays among the operands, mixed dtypes, complex and integer tensors, inference mode, forward mode, several
outputs, `out=`, subclasses, and every error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._dtype import default_numpy, from_numpy_dtype, result_numpy_dtype
from .._quiet import mute, unmute
from .._site import here
from .._state import FORWARD_AD, GRAD, INFERENCE, get_mode
from .._tensor import Parameter, Tensor, wrap, wrap_result
from ..autograd.forward_ad import carries_tangent, propagate
from ..autograd.node import INFERENCE_TENSOR, Node, Output, VersionCounter, new_node
from ..autograd.saved import SavedOutput, refuse_inference
from ..autograd.views import NO_GRAD, ORDINARY, SEVERAL, View, counter_of, edge_of
from ._precision import FLOAT32, is_half
from ._registry import COMMON, FLOAT, KEEP, Op
from ._rules import cast

PLAIN = (Tensor, Parameter)
FAST = (np.dtype("float32"), np.dtype("float64"))
NUMBERS = (bool, int, float, complex)
OPERANDS = (Tensor, np.ndarray, np.generic, *NUMBERS)


def general(op: Op, args: tuple[Any, ...], out: Any = None) -> Any:
    """Run an op on any arguments, given in the order of its signature."""
    values = dict(zip(op.args, args, strict=True))
    operands = inputs_of(op, values)
    if (op.sequence or op.several) and out is None:  # no fast path is generated for these: the ordinary case is caught here
        arrays = plain_arrays(operands)
        if arrays is not None:
            return finished(op, operands, values, computed(op, arrays, values))
    overriding = next((x for x in operands if x.__class__ not in PLAIN and hasattr(x, "__torch_function__") and overrides(x)), None)
    if overriding is not None:
        return overriding.__torch_function__(op.function, tuple({type(x) for x in operands if isinstance(x, Tensor)}), args, {})
    operands = [operand(op, slot, value) for slot, value in enumerate(operands)]
    if out is not None:
        from ._inplace import write_out

        return write_out(op, operands, values, out)
    return finished(op, operands, values, forward(op, operands, values))


def finished(op: Op, operands: list[Any], values: dict[str, Any], results: Any) -> Any:
    """The results of a forward as tensors with their history."""
    tensors = tuple(map(wrap_result, results)) if op.several else (wrap_result(results),)
    finish(op, operands, values, tensors)
    return tensors if op.several else tensors[0]


def plain_arrays(operands: list[Any]) -> list[Any] | None:
    """The arrays of ordinary tensors of one floating dtype; None if an operand is anything else."""
    arrays = []
    dtype = None
    for x in operands:
        if x.__class__ not in PLAIN:
            return None
        array = x._data
        if dtype is None:
            dtype = array.dtype
        if array.__class__ is not np.ndarray or array.dtype is not dtype:
            return None
        arrays.append(array)
    return arrays if arrays and dtype in FAST else None


def operator_call(op: Op, args: tuple[Any, ...]) -> Any:
    """The same for a Python operator: an operand that is no tensor, array or number gets its own class's operator."""
    if all(isinstance(x, OPERANDS) or hasattr(x, "__torch_function__") for x in args[: len(op.inputs)]):
        return general(op, args)
    return NotImplemented


def overrides(value: Any) -> bool:
    """Whether a Tensor subclass (or a foreign class) handles ops itself."""
    return getattr(type(value), "__torch_function__", None) is not getattr(Tensor, "__torch_function__", None)


def inputs_of(op: Op, values: dict[str, Any]) -> list[Any]:
    if op.sequence:
        given = values[op.inputs[0]]
        if given.__class__ is list or given.__class__ is tuple:
            return list(given)
        if isinstance(given, Tensor) or not isinstance(given, Sequence):
            if not hasattr(given, "__iter__") or isinstance(given, Tensor):
                raise TypeError(
                    f"{op.name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(given).__name__}"
                )
        return list(given)
    return [values[name] for name in op.inputs]


def operand(op: Op, slot: int, value: Any) -> Any:
    """An argument as the op takes it: a Tensor, a Python number, or None where that is allowed."""
    if isinstance(value, Tensor):
        return value
    name = op.inputs[0 if op.sequence else slot]
    if value is None and name in op.optional:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, NUMBERS):
        if op.scalars:
            return value
    elif isinstance(value, np.ndarray):
        return wrap(value)
    if op.sequence:
        raise TypeError(f"expected Tensor as element {slot} in argument 0, but got {type(value).__name__}")
    raise TypeError(
        f"{op.name}(): argument '{name}' (position {op.args.index(name) + 1}) must be Tensor, not {type(value).__name__}"
        + (f"\n  fix: torch.{op.name}(torch.tensor(...))" if isinstance(value, list | tuple | float | int) else "")
    )


def forward(op: Op, operands: list[Any], values: dict[str, Any]) -> Any:
    """The op on arrays, after promotion."""
    arrays = [x._data if isinstance(x, Tensor) else x for x in operands]
    check_devices(op, arrays)
    if op.broadcasts:
        check_shapes(arrays)
    if op.check is not None:
        op.check(*arrays)
    narrow = None
    if op.promote != KEEP:
        dtype = common_dtype(op, arrays)
        if op.wide and is_half(dtype):
            narrow, dtype = dtype, FLOAT32
        arrays = promoted(arrays, dtype)
    return computed(op, arrays, values, narrow)


def computed(op: Op, arrays: list[Any], values: dict[str, Any], narrow: Any = None) -> Any:
    """The forward itself, muted, its result brought back to a half-precision dtype where it was computed in another."""
    token = mute()
    try:
        if op.sequence:
            return op.call({**values, op.inputs[0]: arrays})
        result = op.call({**values, **dict(zip(op.inputs, arrays, strict=True))})
        return cast(result, narrow) if narrow is not None and result.dtype == FLOAT32 else result
    except TypeError:
        if isinstance(op.impl, np.ufunc):
            raise not_implemented_for(op.name, arrays) from None
        raise
    finally:
        unmute(token)


def not_implemented_for(name: str, arrays: Sequence[Any]) -> NotImplementedError:
    """The error for a dtype that an op does not know. (NotImplementedError is a RuntimeError.)"""
    dtype = next(from_numpy_dtype(a.dtype) for a in arrays if hasattr(a, "dtype"))
    return NotImplementedError(f"\"{name}\" not implemented for '{dtype.scalar_name}'; convert it first, for example with x.float()")


def check_shapes(arrays: Sequence[Any]) -> None:
    """Refuse shapes that do not broadcast, in PyTorch's words."""
    result: tuple[int, ...] = ()
    for array in arrays:
        if array is None or isinstance(array, NUMBERS):
            continue
        shape = tuple(array.shape)
        for place in range(-1, -min(len(result), len(shape)) - 1, -1):
            a, b = result[place], shape[place]
            if a not in (b, 1) and b != 1:
                raise RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
                    f"{max(len(result), len(shape)) + place} (the shapes are {list(result)} and {list(shape)})"
                )
        result = np.broadcast_shapes(result, shape)


def check_devices(op: Op, arrays: list[Any]) -> None:
    devices = {getattr(a, "device", "cpu") for a in arrays if hasattr(a, "shape") and len(a.shape) > 0}
    if len(devices) > 1:
        first, second = sorted(map(str, devices))[:2]
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}! "
            f"(in {op.name}; move one of them: x.to({second!r}))"
        )


def promoted(arrays: list[Any], dtype: np.dtype[Any]) -> list[Any]:
    """The operands with the dtype that PyTorch's promotion gives them."""
    result = []
    for a in arrays:
        if isinstance(a, NUMBERS):
            # NumPy keeps a Python number weak, but refuses an integer that does not fit; PyTorch lets it wrap around.
            result.append(np.asarray(a).astype(dtype) if dtype.kind in "iub" else a)
        else:
            result.append(a if a is None or a.dtype == dtype else cast(a, dtype))
    return result


def common_dtype(op: Op, arrays: list[Any]) -> np.dtype[Any]:
    dtype = result_numpy_dtype([a for a in arrays if a is not None])
    if op.promote == FLOAT and dtype.kind in "iub":
        return default_numpy()
    return dtype


def finish(op: Op, operands: list[Any], values: dict[str, Any], tensors: tuple[Tensor, ...]) -> None:
    """Everything about a result but its value: history, view relation, tangent."""
    mode = get_mode()
    node: Node | None = None
    if mode & (GRAD | INFERENCE) == GRAD and op.differentiable:
        node = record(op, operands, values, tensors)
    if op.view:
        set_views(op, operands[0], values, tensors, node, mode)
    else:
        for nr, tensor in enumerate(tensors):
            if node is not None and tensor._data.dtype.kind in "fcV":
                tensor._fn = Output(node, nr) if op.several else node
            if mode & INFERENCE:
                tensor._vc = INFERENCE_TENSOR
    if mode & FORWARD_AD and op.differentiable and carries_tangent(operands):
        propagate(op, operands, values, tensors)


def set_views(op: Op, base: Tensor, values: dict[str, Any], tensors: tuple[Tensor, ...], node: Node | None, mode: int) -> None:
    params = tuple(values[name] for name in op.params)
    creation = SEVERAL if op.several else ORDINARY
    if not mode & GRAD and base.requires_grad:
        creation = NO_GRAD
    for nr, tensor in enumerate(tensors):
        inference = mode & INFERENCE and base._vc is INFERENCE_TENSOR
        tensor._vc = INFERENCE_TENSOR if inference else counter_of(base)
        edge = Output(node, nr) if op.several and node is not None else node
        tensor._fn = View(base, Nth(op, nr) if op.several else op, params, edge, creation)  # type: ignore[arg-type]


class Nth:
    """One of the views that an op with several outputs makes."""

    def __init__(self, op: Op, nr: int) -> None:
        self.op = op
        self.nr = nr

    def view_of(self, base: Any, params: tuple[Any, ...]) -> Any:
        return self.op.view_of(base, params)[self.nr]


# ---- recording ----------------------------------------------------------------------------------------------------------------------


def record(
    op: Op, operands: list[Any], values: dict[str, Any], tensors: tuple[Tensor, ...], originals: dict[int, Tensor] | None = None
) -> Node | None:
    """A node for this call, if any operand requires grad. `originals` replaces operands that are about to be overwritten."""
    edges = [edge_of(x) if isinstance(x, Tensor) else None for x in operands]
    needed = [
        slot for slot, edge in enumerate(edges) if edge is not None and op.differentiates(op.inputs[0 if op.sequence else slot])
    ]
    if not needed:
        return None
    if op.sequence:
        return record_sequence(op, operands, values, edges, needed)
    site = here()
    kinds = "".join("T" if isinstance(x, Tensor) else "S" for x in operands)
    arrays = [x._data for x in (*operands, *tensors) if isinstance(x, Tensor)]
    conj = op.holomorphic and any(a.dtype.kind == "c" for a in arrays)
    cls = op.variants[f"{kinds}{sum(1 << slot for slot in needed)}{'c' if conj else ''}"]
    saved = []
    for name in cls.layout:
        saved.append(saved_value(op, name, operands, values, tensors, needed, originals or {}))
    node = new_node(cls, tuple(edges[slot] for slot in needed), tuple(saved), site)
    if op.several:
        node = with_outputs(node, len(tensors))
    node.restore = restore_of(op, operands, tensors[0]._data, needed)
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
            saved.append(SavedOutput(tensor._data, tensor._vc, nr))
        return saved if op.several else saved[0]
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


def restore_of(op: Op, operands: list[Any], result: Any, needed: list[int]) -> tuple[Any, ...] | None:
    """Shapes and dtypes to which the engine brings the gradients back; None where all fit."""
    if op.promote == KEEP and not op.broadcasts:
        return None
    back: list[Any] = []
    for slot in needed:
        data = operands[slot]._data
        fits = data.dtype == result.dtype and (data.shape == result.shape or not op.broadcasts) and not is_half(data.dtype)
        back.append(None if fits else (data.shape, data.dtype))
    return tuple(back) if any(entry is not None for entry in back) else None


def with_outputs(node: Node, outputs: int) -> Node:
    """The same node, of a class that knows how many outputs it has."""
    cls = type(node)
    known = _with_outputs.get((cls, outputs))
    if known is None:
        known = _with_outputs[cls, outputs] = type(cls.__name__, (cls,), {"__slots__": (), "outputs": outputs})
    again = new_node(known, node.next, node.saved, node.site)
    return again


_with_outputs: dict[tuple[type[Node], int], type[Node]] = {}


class SequenceNode(Node):
    """A node of an op whose input is a sequence of tensors; its rule answers for all of them together."""

    __slots__ = ()

    def apply(self, g: Any) -> tuple[Any, ...]:
        return self._grads(g, {name: value for name, value in self.saved if name != "out"})

    apply_recorded = apply

    def _grads(self, g: Any, values: dict[str, Any]) -> tuple[Any, ...]:
        from ._registry import parameters

        assert self.op is not None and self.op.joint is not None
        grads = self.op.joint(*(g if name == "g" else values[name] for name in parameters(self.op.joint)))
        picked = tuple(grads[slot] for slot in self.input_slots)
        if self.restore is None:
            return picked
        from ._rules import restored

        return restored(self, picked)


def record_sequence(op: Op, operands: list[Any], values: dict[str, Any], edges: list[Any], needed: list[int]) -> Node:
    key = (op.name, len(operands), tuple(needed))
    cls = _sequence_classes.get(key)
    if cls is None:
        members = {"__slots__": (), "op": op, "input_slots": tuple(needed), "input_count": len(operands), "keeps_tensors": False}
        cls = _sequence_classes[key] = type(op.node_name(""), (SequenceNode,), members)
    shapes = tuple(x._data.shape for x in operands)
    needs = tuple(slot in needed for slot in range(len(operands)))
    name = op.inputs[0]
    facts = [(f"{name}_shape", shapes), ("needs", needs), *((param, values[param]) for param in op.params)]
    node = new_node(cls, tuple(edges[slot] for slot in needed), tuple(facts), here())
    dtype = common_dtype(op, [x._data for x in operands]) if op.promote == COMMON else operands[0]._data.dtype
    back = [None if operands[slot]._data.dtype == dtype else (shapes[slot], operands[slot]._data.dtype) for slot in needed]
    node.restore = tuple(back) if any(entry is not None for entry in back) else None
    return node


_sequence_classes: dict[tuple[str, int, tuple[int, ...]], type[Node]] = {}
