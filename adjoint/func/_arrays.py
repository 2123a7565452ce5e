"""Reverse mode on arrays. Where the values of a level are ordinary tensors that require no grad, as those of the outermost transform mostly
are, there is nothing to record while its graph is differentiated: what the nodes saved is taken down to the arrays, and the backward pass
is that of ordinary tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
from ..autograd.saved import SavedOutput
from ._recorded import GradLevel

AS_THEY_ARE = frozenset({int, float, bool, str, slice, dtype, Size, np.ndarray, type(None), type(...)})
PRECISIONS = (np.dtype("float32"), np.dtype("float64"))


class NotOnArraysError(Exception):
    """Something below a level is more than an array."""


def array_gradients(
    level: GradLevel, outputs: Sequence[Tensor], inputs: Sequence[Tensor], given: Sequence[Any], keep: bool
) -> list[Any] | None:
    """The gradients of outputs of a level, as ordinary tensors, None for an input that no output depends on. None if the level is not over
    arrays alone. Without `keep` the graph cannot be used again."""
    if get_mode() & ~GRAD:
        return None
    try:
        lowered(level, (*inputs, *outputs))  # most levels that are over another one show it here
        seeds = [seed(level, output, g) for output, g in zip(outputs, given, strict=True)]
        roots = [resolve(output) for output in outputs]
        with saved_as_arrays(level, engine.reachable(roots), keep):
            captured = [resolve(x) for x in inputs]
            found = engine.run(
                roots, seeds, keep_graph=keep, create_graph=False, site=here(), captured=captured, anomaly=watch(roots)
            )
    except NotOnArraysError:
        return None
    return [None if g is None else wrap_result(g) for g in found]


def seed(level: GradLevel, output: Tensor, given: Any) -> Any:
    """The gradient of an output, as an array."""
    array = lowered(level, implicit_seed(output) if given is None else given)._data
    if array.dtype != output._data.dtype:
        raise NotOnArraysError
    return array


@contextmanager
def saved_as_arrays(level: GradLevel, nodes: Sequence[Node], keep: bool) -> Iterator[None]:
    """Let nodes hold ordinary tensors instead of those of their level, for a while if the graph is kept."""
    if any(node.op is None or node.op.sequence or node.hooks is not None for node in nodes):
        raise NotOnArraysError
    before = [(node, node.saved, node.restore) for node in nodes]
    below = [(node, lowered(level, saved), lowered(level, restore)) for node, saved, restore in before]
    exchange(below)
    try:
        yield
    finally:
        if keep:
            exchange(before)


def exchange(contents: Sequence[tuple[Node, Any, Any]]) -> None:
    for node, saved, restore in contents:
        node.saved = saved
        node.restore = restore


def lowered(level: GradLevel, x: Any) -> Any:
    """What a node saved, one level down."""
    kind = x.__class__
    if kind in AS_THEY_ARE:
        return x
    if kind is tuple or kind is list:
        return kind([lowered(level, item) for item in x])
    if kind is Tensor or kind is Parameter:
        if level_of(x) is level:
            x = x._data.value
        data = x._data
        if data.__class__ is not np.ndarray or (data.dtype.kind in "fcV" and data.dtype not in PRECISIONS) or x.requires_grad:
            raise NotOnArraysError
        return x
    if isinstance(x, np.dtype):
        return np.dtype(x.type)
    if kind is SavedOutput and level_of(x.array) is level:
        return SavedOutput(lowered(level, x.array.value)._data, x.counter, x.nr)
    raise NotOnArraysError
