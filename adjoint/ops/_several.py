"""Several tensors at once: a sequence of them as an argument (`cat`), or as the result (`split`). Called by generated code."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from .._serving import OFTEN, SOON
from .._tensor import Parameter, Tensor, new, wrap_result
from ..autograd.node import Edge, Node, Output, VersionCounter
from ..autograd.views import ORDINARY, View, counter_of
from ._registry import OPS, Op

F32, F64, I64 = np.dtype("float32"), np.dtype("float64"), np.dtype("int64")


# ---- as an argument -----------------------------------------------------------------------------------------------------------------


def plain_arrays(tensors: Any) -> list[Any] | None:
    """The arrays of a list or tuple of ordinary tensors of one of the usual dtypes; None if it is anything else."""
    count_call()
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


def view(base: Tensor, op: Op, params: tuple[Any, ...], array: Any, node: Node | None, creation: str) -> Tensor:
    """The result of an op as a view of a tensor."""
    count_call()
    tensor = new(Tensor)
    tensor._data = array
    tensor._vc = counter_of(base)
    tensor._fn = View.of(base, op, params, node, creation)
    return tensor


def views(
    base: Tensor, counter: VersionCounter, ops: Sequence[Nth], params: tuple[Any, ...], arrays: Sequence[Any], creation: str,
    node: Node | None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The same for several results, with the counter of writes to the tensor."""
    count_call()
    first = View.of(base, None, params, None, creation)
    parent, root, made_for, version = first.parent, first.base, first.made_for, counter.version
    tensors = []
    for nr, array in enumerate(arrays):
        view = View()  # written out, since `split` and `unbind` make many
        view.parent = parent
        view.base = root
        view.op = ops[nr]
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
        self.name = op.name

    def view_of(self, base: Any, params: tuple[Any, ...]) -> Any:
        return self.op.view_of(base, params)[self.nr]


_known: dict[Op, list[Nth]] = {}


def first_of(op: Op, count: int) -> list[Nth]:
    """The ops that make so many views, or more; they are kept."""
    known = _known.setdefault(op, [])
    while len(known) < count:
        known.append(Nth(op, len(known)))
    return known


def nth(op: Op, nr: int) -> Nth:
    return first_of(op, nr + 1)[nr]


# ---- arrays -------------------------------------------------------------------------------------------------------------------------


def slices(array: Any, lengths: tuple[int, ...], dim: int) -> tuple[Any, ...]:
    """Consecutive parts of a dimension."""
    lead = (slice(None),) * dim
    ends = itertools.accumulate(lengths)
    return tuple([array[(*lead, slice(end - length, end))] for length, end in zip(lengths, ends, strict=True)])


def rows(array: Any, dim: int) -> tuple[Any, ...]:
    """The parts at each index of a dimension."""
    lead = (slice(None),) * dim
    return tuple([array[(*lead, place, ...)] for place in range(array.shape[dim])])


def strided(array: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """A view with other strides, in bytes, that begins where the array does. Nothing is checked."""
    if array.__class__ is np.ndarray and array.flags.c_contiguous and array.dtype.kind != "V":
        return np.ndarray(shape, array.dtype, array, 0, strides)
    if isinstance(array, np.ndarray):
        return np.lib.stride_tricks.as_strided(array, shape, strides)
    if isinstance(array, np.generic):
        return strided(np.asarray(array), shape, strides)
    return array.strided(shape, strides)


# ---- built-ins ----------------------------------------------------------------------------------------------------------------------

_calls = 0


def count_call() -> None:
    """Let built-ins take the place of the functions above after enough calls."""
    global _calls
    _calls += 1
    if _calls in (SOON, OFTEN):
        use_builtins(_calls == OFTEN)


def use_builtins(compiling: bool = True) -> None:
    """The built-ins, once; if they are not on disk, only where compiling them is asked for."""
    if not isinstance(view, FunctionType):
        return
    from .._kernels import copy_loops, several
    from . import _codegen

    fallbacks = {fn.__name__: fn for fn in (plain_arrays, edges_of, view, views, slices, rows, strided, copy_loops.join)}
    made = several.builtins(fallbacks, Tensor, Parameter, View, VersionCounter, ORDINARY, compiling)
    if not made:
        return
    copy_loops.join = made.pop("join")
    globals().update(made)
    of_ops = {name: made[name] for name in ("plain_arrays", "edges_of", "view", "views")}
    _codegen._NAMESPACE.update(of_ops)
    for op in OPS.values():
        if op.sequence or op.several or op.view:
            op.function.__globals__.update(of_ops)
