"""Several tensors at once: a sequence of them as an argument (`cat`), or as the result (`split`). Called by generated code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from .._tensor import Parameter, Tensor, new, wrap_result
from ..autograd.node import Edge, Node, Output
from ..autograd.views import View, counter_of
from ._registry import Op

F32, F64, I64 = np.dtype("float32"), np.dtype("float64"), np.dtype("int64")


# ---- as an argument -----------------------------------------------------------------------------------------------------------------


def plain_arrays(tensors: Any) -> list[Any] | None:
    """The arrays of a list or tuple of ordinary tensors of one of the usual dtypes; None if it is anything else."""
    if tensors.__class__ is not list and tensors.__class__ is not tuple:
        return None
    arrays: list[Any] = []
    dtype = None
    for tensor in tensors:
        if tensor.__class__ is not Tensor and tensor.__class__ is not Parameter:
            return None
        array = tensor._data
        if array.dtype is not dtype:
            if dtype is not None:
                return None
            dtype = array.dtype
        if array.__class__ is not np.ndarray:
            return None
        arrays.append(array)
    return arrays if dtype is F32 or dtype is F64 or dtype is I64 else None


def edges_of(tensors: Sequence[Tensor]) -> tuple[Edge, ...] | None:
    """An edge for each tensor, None for one that requires no gradient; no edges if no tensor does, None if none of them ever had a
    history."""
    edges: list[Edge] = []
    found = None
    for tensor in tensors:
        edge = tensor._fn
        if edge is not None:
            if not edge.direct:
                edge = edge.resolve(tensor)
            found = found or edge is not None
        edges.append(edge)
    return tuple(edges) if found else None if found is None else ()


# ---- as the result ------------------------------------------------------------------------------------------------------------------


def outputs(arrays: Sequence[Any], node: Node | None) -> tuple[Tensor, ...]:
    """The results of an op as tensors that `node` has made. Only numbers with a fraction have a history."""
    tensors = tuple(map(wrap_result, arrays))
    if node is not None:
        for nr, tensor in enumerate(tensors):
            if tensor._data.dtype.kind in "fcV":
                tensor._fn = Output(node, nr)
    return tensors


def views(base: Tensor, op: Op, params: tuple[Any, ...], arrays: Sequence[Any], node: Node | None, creation: str) -> tuple[Tensor, ...]:
    """The same for views of one tensor."""
    counter = counter_of(base)
    first = View(base, op, params, None, creation)
    parent, root, made_for, creation, version = first.parent, first.base, first.made_for, first.creation, first.version
    tensors = []
    for nr, array in enumerate(arrays):
        view = new(View)  # written out, since `split` and `unbind` make many
        view.parent = parent
        view.base = root
        view.op = nth(op, nr)
        view.params = params
        view.node = None if node is None else Output(node, nr)
        view.made_for = made_for
        view.creation = creation
        view.version = version
        tensor = new(Tensor)
        tensor._data = array
        tensor._vc = counter
        tensor._fn = view
        tensors.append(tensor)
    return tuple(tensors)


class Nth:
    """The op that makes one of the views that an op with several outputs makes."""

    def __init__(self, op: Op, nr: int) -> None:
        self.op = op
        self.nr = nr

    def view_of(self, base: Any, params: tuple[Any, ...]) -> Any:
        return self.op.view_of(base, params)[self.nr]


nth = cache(Nth)
