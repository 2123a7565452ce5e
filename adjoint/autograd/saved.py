"""Reading back what a node saved, with the check that nobody wrote over it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .._state import FORWARD_AD, get_mode
from .node import INFERENCE_TENSOR, NOWHERE, Cut, Edge, Node, Output, VersionCounter
from .packed import Packed, SavedTensor, hooks_now

if TYPE_CHECKING:
    from .._tensor import Tensor
    from ..ops._registry import Op


class SavedOutput:
    """A node's own result. The array and its counter, not the tensor, which would make a cycle."""

    __slots__ = ("array", "counter", "nr")

    def __init__(self, array: Any, counter: VersionCounter, nr: int = 0) -> None:
        self.array = array
        self.counter = counter
        self.nr = nr


def check_input(node: Node, name: str, tensor: Tensor, edge: Edge = None) -> None:
    """Called by generated code when a saved input has a version counter at all. `edge`: its history, where no op can tell."""
    counter = tensor._vc
    assert counter is not None
    if counter.stamp > node.seq:
        if node.op is not None:
            edge = edge_when_saved(node, node.op.inputs.index(name))
        if not counter.written_after(node.seq):
            return check_detached(tensor, edge)
        from .overwriting import overwritten

        raise overwritten(node, name, tensor._data, counter, edge)


def check_detached(tensor: Tensor, edge: Edge) -> None:
    """Refuse a saved input that has lost its history since."""
    if isinstance(edge, Node | Output) and tensor._fn.__class__ is Cut and tensor._fn.before is not None:
        raise RuntimeError(
            "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not supported, please use "
            "out-of-place `.detach()` instead"
        )


def edge_when_saved(node: Node, slot: int) -> Edge:
    """The history that a saved input had then. The tensor itself may have another one by now."""
    return node.next[node.input_slots.index(slot)] if slot in node.input_slots else None


def output_array(node: Node, saved: SavedOutput) -> Any:
    if saved.counter.stamp > node.seq and saved.counter.written_after(node.seq):
        from .overwriting import overwritten

        raise overwritten(node, "out", saved.array, saved.counter, node if node.outputs is None else Output(node, saved.nr))
    return saved.array


def output_tensor(node: Node, saved: SavedOutput | Packed) -> Tensor:
    """The result again, as a tensor with its history."""
    if isinstance(saved, Packed):
        return saved.restored(node)
    from .._tensor import wrap

    array = output_array(node, saved)
    tensor = array.twin.shallow_copy() if getattr(array, "twin", None) is not None else wrap(array)  # see _class_dispatch.py
    tensor._vc = saved.counter
    tensor._fn = node if node.outputs is None else Output(node, saved.nr)
    if get_mode() & FORWARD_AD:
        from .forward_ad import keep_tangent, tangent_of_result

        return keep_tangent(tensor, tangent_of_result(node, saved.nr))
    return tensor


def input_tensor(node: Node, name: str, slot: int, tensor: Tensor | Packed) -> Tensor:
    """A saved input with the history that it had when it was saved, which may not be the one it has now."""
    if isinstance(tensor, Packed):
        return tensor.restored(node)
    original = tensor._converted_from
    if original is not None:  # promotion converted it: that step belongs to the history too
        from ..ops._rules import cast

        return cast(input_tensor(node, name, slot, original), tensor._data.dtype)  # type: ignore[no-any-return]
    if tensor._vc is not None:
        check_input(node, name, tensor)
    edge = edge_when_saved(node, slot)
    if edge is tensor or edge is tensor._fn or (edge is None and tensor._fn.__class__ is Cut):
        return tensor
    from .._tensor import wrap

    if edge is not None and edge is not NOWHERE and not isinstance(edge, Node | Output):
        return edge  # type: ignore[no-any-return]  # a leaf
    alias = tensor._data.alias(tensor) if hasattr(tensor._data, "twin") else wrap(tensor._data)
    alias._vc = tensor._vc
    alias._fn = edge
    if tensor._tangent is not None:
        from .forward_ad import keep_tangent

        return keep_tangent(alias, tensor._tangent)
    return alias


def refuse_inference(tensor: Tensor) -> None:
    if tensor._vc is INFERENCE_TENSOR:
        from .._errors import InplaceError

        raise InplaceError(
            "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor and use it in "
            "autograd.",
            fix="x = x.clone() outside inference_mode, or compute x under no_grad instead of inference_mode",
        )


# ---- with hooks on what is saved ----------------------------------------------------------------------------------------------------


def saved_by(node: Node, values: dict[str, Any]) -> tuple[Any, ...]:
    """What a node keeps of the values that there are, by name."""
    assert node.op is not None
    needing = [node.op.inputs[slot] for slot in node.input_slots]
    for name in node.layout:
        if name in node.op.inputs and name not in needing and getattr(values[name], "_vc", None) is not None:
            refuse_inference(values[name])
    return tuple([values[name] for name in node.layout])


def pack_saved(node: Node) -> None:
    """Hand what a new node has saved to the hooks in force."""
    hooks = hooks_now()
    if hooks is None:
        return
    saved = list(node.saved)
    for place, value in enumerate(saved):
        if is_tensor_entry(node, place, value):
            tensor, facts = saved_entry(node, place)
            saved[place] = Packed(tensor, hooks, **facts)
    node.saved = tuple(saved)


def is_tensor_entry(node: Node, place: int, value: Any) -> bool:
    """Whether something that a node has saved is a tensor: an output, an input, or (with its edge) what `save_for_backward` was given."""
    if isinstance(value, SavedOutput):
        return True
    if node.op is None:
        return value is not None
    return node.layout[place] in node.op.inputs and hasattr(value, "_fn")


def saved_entry(node: Node, place: int) -> tuple[Tensor, dict[str, Any]]:
    """A saved tensor, and what a `Packed` has to know of it."""
    value = node.saved[place]
    if isinstance(value, SavedOutput):
        return output_tensor(node, value), {"nr": value.nr}
    if isinstance(value, tuple):
        return value[0], {"edge": value[1]}
    assert node.op is not None
    edge = edge_when_saved(node, node.op.inputs.index(node.layout[place]))
    original = value._converted_from
    return (value, {"edge": edge}) if original is None else (original, {"edge": edge, "dtype": value._data.dtype})


# ---- as attributes of the node ------------------------------------------------------------------------------------------------------


def saved_properties(op: Op, layout: Sequence[str]) -> dict[str, property]:
    """`grad_fn._saved_self`, `grad_fn._saved_dim` and the like: what a node keeps, by PyTorch's names for it; None for what another
    node of the same op keeps. `_raw_saved_self` is the place where it is kept.

    They are properties of the node's class, not a `__getattr__`: that would slow every other attribute of every node.
    """
    properties = {f"_saved_{public}": property(read) for public, read in read_from_others(op).items()}
    for name in sometimes_saved(op) | dict.fromkeys(layout):
        for public in public_names(op, name):
            properties.setdefault(f"_saved_{public}", property(partial(saved_by_name, name)))
            if name == "out" or name in op.inputs:
                properties[f"_raw_saved_{public}"] = property(partial(raw_saved_by_name, name))
    return properties


def sometimes_saved(op: Op) -> dict[str, None]:
    """What any of the op's rules asks for."""
    from ..ops._registry import parameters

    names = [name for _, rule in op.named_rules() for name in parameters(rule)]
    return dict.fromkeys(name for name in names if name not in ("g", "needs"))


def public_names(op: Op, name: str) -> tuple[str, ...]:
    """PyTorch's names for what an op saves. The first input is `self` there, or has the name that it has here."""
    if name == "out":
        return ("result",)
    if name == "lengths":
        return ("split_sizes",)
    for slot, of in enumerate(op.inputs):
        public = ("self", of) if slot == 0 else (of,)
        if name == of:
            return ("indices",) if of == "index" and op.name.endswith("_values") else public
        for ending, theirs in (("_shape", "_sym_sizes"), ("_dtype", "_scalar_type")):
            if name == of + ending:
                return tuple(one + theirs for one in public)
    return (name,)


def read_from_others(op: Op) -> dict[str, Callable[[Node], Any]]:
    """What PyTorch saves and adjoint can tell from what it saves itself."""
    if op.name in ("add", "sub"):
        return {"alpha": lambda node: 1}
    if op.name == "split":
        return {"split_size": lambda node: saved_by_name("lengths", node)[0]}
    if op.name in ("mean_all", "mean_dim"):
        return {"self_sym_numel": lambda node: prod(saved_by_name("input_shape", node))}
    if op.name == "convolution":
        return {"transposed": lambda node: False, "output_padding": lambda node: (0,) * len(saved_by_name("stride", node))}
    if op.name == "convolution_transposed":
        return {"transposed": lambda node: True}
    if op.name == "select_part":
        return {"dim": lambda node: selection(node)[0], "index": lambda node: wrapped(selection(node)[1])}
    if op.name == "slice_part":
        return {
            "dim": lambda node: selection(node)[0], "start": lambda node: selection(node)[1].start or 0,
            "end": lambda node: sys.maxsize if selection(node)[1].stop is None else selection(node)[1].stop,
            "step": lambda node: selection(node)[1].step or 1,
        }  # fmt: skip
    return {}


def selection(node: Node) -> tuple[int, Any]:
    """The last dimension of which an index takes a part, and what it takes of it."""
    index, dims = saved_by_name("index", node), len(saved_by_name("input_shape", node))
    items = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in items:
        place = items.index(Ellipsis)
        items[place : place + 1] = [slice(None)] * (dims - len(items) + 1)
    return next((dim, item) for dim, item in reversed(list(enumerate(items))) if item != slice(None))


def saved_by_name(name: str, node: Node) -> Any:
    op = node.op
    assert op is not None
    saved = tuple(node.saved)
    if name not in node.layout:
        return None
    value = saved[node.layout.index(name)]
    if isinstance(value, SavedOutput | Packed):
        return output_tensor(node, value)
    if name in op.inputs and hasattr(value, "_fn"):
        return input_tensor(node, name, op.inputs.index(name), value)
    return public_value(op, name, value)


REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def public_value(op: Op, name: str, value: Any) -> Any:
    """A saved value as PyTorch shows it: arrays, and numbers that stand for tensors, as tensors, dimensions as a tuple."""
    from .._tensor import wrap

    if isinstance(value, np.ndarray):
        return wrap(value)
    if isinstance(value, tuple | list):
        return tuple(public_value(op, "", one) for one in value)
    if name in op.inputs and isinstance(value, bool | int | float | complex) and isinstance(op.nodes, str):
        return wrap(np.asarray(value))
    if name == "reduction":
        return REDUCTIONS.get(value, value)
    if name == "dim" and isinstance(value, int) and getattr(op.impl, "__annotations__", {}).get("dim") == "Dims":
        return (wrapped(value),)
    return wrapped(value)


def wrapped(value: Any) -> Any:
    """A negative integer as PyTorch shows it: taken for one without a sign."""
    return value + (1 << 64) if type(value) is int and value < 0 else value


def raw_saved_by_name(name: str, node: Node) -> SavedTensor:
    return SavedTensor(node, node.layout.index(name) if name in node.layout else None)
