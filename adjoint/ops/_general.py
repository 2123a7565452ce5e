"""The general path of an op call: everything that the generated fast path leaves out.

Python numbers and NumPy arrays among the operands, mixed and uncommon dtypes (half precision, complex, small integers), inference mode,
forward mode, `out=`, subclasses, and every error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._dtype import default_numpy, from_numpy_dtype, result_numpy_dtype
from .._quiet import mute, unmute
from .._site import here
from .._state import AUTOCAST, FORWARD_AD, GRAD, INFERENCE, get_mode
from .._tensor import Parameter, Tensor, wrap, wrap_result
from ..autograd.forward_ad import carries_tangent, propagate
from ..autograd.node import INFERENCE_TENSOR, Node, Output, SeveralNode, VersionCounter, new_node
from ..autograd.saved import SavedOutput, refuse_inference
from ..autograd.views import NO_GRAD, ORDINARY, SEVERAL, View, counter_of, edge_of
from ._precision import FLOAT32, is_half
from ._registry import FLOAT, KEEP, Op
from ._rules import cast
from ._several import nth

PLAIN = (Tensor, Parameter)
NUMBERS = (bool, int, float, complex)
OPERANDS = (Tensor, np.ndarray, np.generic, *NUMBERS)


def general(op: Op, args: tuple[Any, ...], out: Any = None) -> Any:
    """Run an op on any arguments, given in the order of its signature."""
    values = dict(zip(op.args, args, strict=True))
    operands = inputs_of(op, values)
    overriding = next((x for x in operands if x.__class__ not in PLAIN and hasattr(x, "__torch_function__") and overrides(x)), None)
    if overriding is not None:
        return overriding.__torch_function__(op.function, tuple({type(x) for x in operands if isinstance(x, Tensor)}), args, {})
    operands = [operand(op, slot, value) for slot, value in enumerate(operands)]
    if get_mode() & AUTOCAST:
        from ._autocast import autocast

        operands = autocast(op, operands)
    if out is not None:
        from ._inplace import write_out

        return write_out(op, operands, values, out)
    return finished(op, operands, values, forward(op, operands, values))


def finished(op: Op, operands: list[Any], values: dict[str, Any], results: Any) -> Any:
    """The results of a forward as tensors with their history."""
    tensors = tuple(map(wrap_result, results)) if op.several else (wrap_result(results),)
    finish(op, operands, values, tensors)
    return tensors if op.several else tensors[0]


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
    shapes = [tuple(array.shape) for array in arrays if array is not None and not isinstance(array, NUMBERS)]
    if all(shape == shapes[0] for shape in shapes):
        return
    result: tuple[int, ...] = ()
    for shape in shapes:
        for place in range(-1, -min(len(result), len(shape)) - 1, -1):
            a, b = result[place], shape[place]
            if a not in (b, 1) and b != 1:
                raise RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
                    f"{max(len(result), len(shape)) + place} (the shapes are {list(result)} and {list(shape)})"
                )
        result = np.broadcast_shapes(result, shape)


def check_devices(op: Op, arrays: list[Any]) -> None:
    if all(a.__class__ is np.ndarray or not hasattr(a, "shape") for a in arrays):
        return
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
        tensor._fn = View(base, nth(op, nr) if op.several else op, params, edge, creation)


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
        kinds, next_edges = "T", tuple(edges)
    else:
        kinds, next_edges = "".join("T" if isinstance(x, Tensor) else "S" for x in operands), tuple(edges[slot] for slot in needed)
    arrays = [x._data for x in (*operands, *tensors) if isinstance(x, Tensor)]
    conj = op.holomorphic and not op.sequence and any(a.dtype.kind == "c" for a in arrays)
    cls = op.variants[f"{kinds}{1 if op.sequence else sum(1 << slot for slot in needed)}{'c' if conj else ''}"]
    saved = [saved_value(op, name, operands, values, tensors, needed, originals or {}) for name in cls.layout]
    node = new_node(cls, next_edges, tuple(saved), here())
    if isinstance(node, SeveralNode):
        node.outputs = len(tensors)
    node.restore = restore_of(op, operands, tensors[0]._data, range(len(operands)) if op.sequence else needed)
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
    for slot in needed:
        data = operands[slot]._data
        fits = data.dtype == result.dtype and (data.shape == result.shape or not op.broadcasts) and not is_half(data.dtype)
        back.append(None if fits else (data.shape, data.dtype))
    return tuple(back) if any(entry is not None for entry in back) else None
