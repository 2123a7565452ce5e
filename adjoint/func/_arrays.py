"""Reverse mode one level down. The graph of a level is differentiated for its values, not for a graph of the same level, so nothing of the
backward pass needs to be of the level: what the nodes saved is taken down to the Tensors below. Where these are ordinary tensors that
require no grad, as those of the outermost transform mostly are, it is taken down to the arrays, and the backward pass is that of ordinary
tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._dtype import dtype
from .._layer import level_of
from .._site import here
from .._size import Size
from .._state import GRAD, get_mode
from .._tensor import Parameter, Tensor, wrap_result
from ..autograd import engine
from ..autograd.anomaly import watch
from ..autograd.differentiate import implicit_seed, resolve
from ..autograd.node import Node
from ..autograd.packed import Packed
from ..autograd.saved import SavedOutput
from ._recorded import GradLevel

AS_THEY_ARE = frozenset({int, float, bool, str, slice, dtype, Size, np.ndarray, type(None), type(...)})
PRECISIONS = (np.dtype("float32"), np.dtype("float64"))


class NotBelowError(Exception):
    """Something cannot be taken down in this way."""


class Below(Packed):
    """A saved tensor, one level down, with the history that it has there."""

    __slots__ = ()

    def __init__(self, tensor: Tensor) -> None:
        self.value = tensor

    def restored(self, node: Node) -> Tensor:
        return self.value  # type: ignore[no-any-return]


def gradients_below(
    level: GradLevel, outputs: Sequence[Tensor], inputs: Sequence[Tensor], given: Sequence[Any], keep: bool, create: bool
) -> list[Any] | None:
    """The gradients of outputs of a level, one level down, None for an input that no output depends on. None instead of all of them if the
    graph has to be differentiated on the level itself. Without `keep` it cannot be used again."""
    if get_mode() & ~GRAD:
        return None
    roots = [resolve(output) for output in outputs]
    nodes = engine.reachable(roots)
    if any(node.op is None or node.op.sequence or node.hooks is not None or node.saved.__class__ is not tuple for node in nodes):
        return None
    before = [(node, node.saved, node.restore) for node in nodes]
    create = level.outside & GRAD != 0 if level.alive else create
    for lowered in (array_of, tensor_of):
        try:
            for x in (*inputs, *outputs):  # most levels that are over another one show it here
                lowered(level, x, None)
            seeds = [seed(level, lowered, output, g) for output, g in zip(outputs, given, strict=True)]
            down = partial(saved_below, level, lowered)
            below = [(node, tuple([down(node, x) for x in saved]), down(node, restore)) for node, saved, restore in before]
        except NotBelowError:
            continue
        arrays = lowered is array_of
        exchange(below)
        try:
            with level.left():
                captured = [resolve(x) for x in inputs]
                found = engine.run(
                    roots, seeds, keep_graph=keep, create_graph=create and not arrays, as_tensors=not arrays, site=here(),
                    captured=captured, anomaly=watch(roots),
                )  # fmt: skip
        finally:
            if keep:
                exchange(before)
        return [None if g is None else wrap_result(g) for g in found] if arrays else found
    return None


def seed(level: GradLevel, lowered: Lowering, output: Tensor, given: Any) -> Any:
    """The gradient of an output."""
    gradient = implicit_seed(output) if given is None else given
    if gradient._data.dtype != output._data.dtype:
        raise NotBelowError
    lower = lowered(level, gradient, None)
    return lower.value if lower.__class__ is Below else lower._data


def exchange(contents: Sequence[tuple[Node, Any, Any]]) -> None:
    for node, saved, restore in contents:
        node.saved = saved
        node.restore = restore


Lowering = Callable[[GradLevel, Tensor, "Node | None"], Any]


def array_of(level: GradLevel, x: Tensor, node: Node | None) -> Any:
    """A tensor that holds an array."""
    x = level.lower(x)
    data = x._data
    if data.__class__ is not np.ndarray or (data.dtype.kind in "fcV" and data.dtype not in PRECISIONS) or x.requires_grad:
        raise NotBelowError
    return x


def tensor_of(level: GradLevel, x: Tensor, node: Node | None) -> Any:
    """A tensor of any kind, if nobody wrote to it since the node saved it."""
    x = level.lower(x)
    if node is not None and x._vc is not None and x._vc.stamp > node.seq:
        raise NotBelowError
    return Below(x)


def saved_below(level: GradLevel, lowered: Lowering, node: Node, x: Any) -> Any:
    """What a node saved, one level down."""
    kind = x.__class__
    if kind in AS_THEY_ARE:
        return x
    if kind is tuple or kind is list:
        items = [saved_below(level, lowered, node, item) for item in x]
        return kind([item.value if item.__class__ is Below else item for item in items])  # rules have what is in a list as it is
    if kind is Tensor or kind is Parameter:
        return lowered(level, x, node)
    if isinstance(x, np.dtype):
        return np.dtype(x.type)
    if kind is SavedOutput and level_of(x.array) is level and x.counter.stamp <= node.seq:
        lower = lowered(level, x.array.value, node)
        return lower if lower.__class__ is Below else SavedOutput(lower._data, x.counter, x.nr)
    raise NotBelowError
