"""What ops mean for sparse tensors. An op with a sparse operand comes here from its general path (ops/_general.py), and nowhere else.

A form is a function of Tensors, with the op's parameters, written with ordinary ops on the values (_ops.py says why). Ops that work element
by element need none: where they make 0 of 0, they work on the values alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from .._layout import Sparse
from .._site import here
from .._state import recording
from .._tensor import Tensor, wrap
from ..autograd.grad_mode import no_grad
from ..autograd.views import check_writable, edge_of, set_history
from ..ops._general import called, inputs_of
from ..ops._registry import Op
from ._array import SparseArray, add_to, refuse

Form = Callable[..., Any]
F = TypeVar("F", bound=Form)
FORMS: dict[str, Form] = {}
HOMES = ("_elementwise", "_products", "_reductions", "_shapes")


def form(*names: str) -> Callable[[F], F]:
    """Declare the form of the ops with these names. Its parameters are theirs, in their order."""

    def declare(fn: F) -> F:
        for name in names:
            FORMS[name] = fn
        return fn

    return declare


@cache
def forms() -> dict[str, Form]:
    for home in HOMES:
        import_module(f".{home}", __package__)
    return FORMS


def is_sparse(x: Any) -> bool:
    return isinstance(x, Tensor) and isinstance(x._data, Sparse)


def call_form(op: Op, args: tuple[Any, ...], out: Any = None) -> Any:
    """Run an op on arguments of which one is sparse, given in the order of its signature."""
    found = forms().get(op.name)
    operands = inputs_of(op, dict(zip(op.args, args, strict=True)))
    if found is not None:
        result = found(*args)
    elif op.broadcasts:
        from ._elementwise import on_values

        result = on_values(op, args, operands)
    else:
        result = NotImplemented
    if result is NotImplemented:
        refuse(op.name, next(x.layout for x in (*operands, out) if is_sparse(x)))
    if out is None:
        return result
    with no_grad():
        return put_into(out, result)


def write_form(op: Op, values: dict[str, Any]) -> Tensor:
    """The same in place: the result goes into the first operand."""
    target: Tensor = values[op.inputs[0]]
    args = tuple(values[name] for name in op.args)
    operands = [x for x in inputs_of(op, values) if isinstance(x, Tensor)]
    recorded = recording() and op.differentiable and any(x.requires_grad for x in operands)
    check_writable(target, recorded)
    if op.name == "add" and not is_sparse(target) and not recorded and args[1].dtype is target.dtype and args[1].shape == target.shape:
        add_to(target._data, args[1]._data)
        return target._written()
    result = call_form(op, args)
    if result.shape != target.shape or is_sparse(result) != is_sparse(target):
        refuse(f"{op.name}_", next(x.layout for x in operands if is_sparse(x)))
    return put_into(target, result, recorded)


def put_into(target: Tensor, result: Tensor, recorded: bool = False) -> Tensor:
    """Give a tensor the values of a result; a sparse one gets its pattern too."""
    if not is_sparse(target):
        if is_sparse(result):
            refuse("copy_", result.layout)
        return target.resize_(result.shape).copy_(result) if target.shape != result.shape else target.copy_(result)
    data: SparseArray = target._data
    if not is_sparse(result):
        refuse("copy_", data.layout)
    if result.dtype is not target.dtype:
        result = result.to(target.dtype)
    data.pattern, data.values = result._data.pattern, result._data.values  # tensors that share the memory see it too
    if recorded:
        set_history(target, edge_of(result), here())
    return target._written()


def computed(op: Op, *args: Any) -> Any:
    """What an op makes of one element, unrecorded."""
    with no_grad(), np.errstate(all="ignore"):
        return called(op, [wrap(x) if isinstance(x, np.ndarray) else x for x in args])._data
