"""Forward mode: dual tensors carry a tangent through every operation.

>>> import adjoint as ad
>>> import adjoint.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(ad.tensor([1.0, 2.0]), ad.tensor([1.0, 0.0]))
...     fwAD.unpack_dual(x * x).tangent
tensor([2., 0.])
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np

from .._state import FORWARD_AD, INFERENCE, get_mode, swap_bits
from .node import Node, Output
from .views import View, overlaps_itself

if TYPE_CHECKING:
    from .._tensor import Tensor
    from ..ops._registry import Op


class UnpackedDualTensor(NamedTuple):
    primal: Any
    tangent: Any


class Level:
    """Tangents live as long as their level."""

    def __init__(self) -> None:
        self.duals: list[ref[Tensor]] = []  # the tensors to take tangents from when the level ends
        # A node that saves its own result saves the array only; a backward that runs inside the level finds the result's tangent here.
        self.of_results: WeakKeyDictionary[Node, dict[int, Any]] = WeakKeyDictionary()


# One level at a time, as in PyTorch, but each thread may have its own.
_level: ContextVar[Level | None] = ContextVar("adjoint_dual_level", default=None)
_enabled: ContextVar[bool] = ContextVar("adjoint_forward_enabled", default=True)


def __getattr__(name: str) -> int:
    if name == "_current_level":
        return -1 if _level.get() is None else 0
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def enter_dual_level() -> int:
    if _level.get() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _level.set(Level())
    swap_bits(FORWARD_AD, FORWARD_AD if _enabled.get() else 0)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    current = _level.get()
    if current is None and level in (None, -1):
        raise RuntimeError("Dual level must be a positive number. No level was entered; use `with dual_level():`.")
    if current is None or level not in (None, 0):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    swap_bits(FORWARD_AD, 0)
    _level.set(None)
    for known in current.duals:
        tensor = known()
        if tensor is not None:
            tensor._tangent = None


class dual_level:
    """A level of forward mode: tangents exist until it is left."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *_: object) -> None:
        exit_dual_level()


class _set_fwd_grad_enabled:
    """Inside the block, tangents pass through operations or do not."""

    def __init__(self, mode: bool) -> None:
        self._before = _enabled.get()
        self._switch(mode)

    def _switch(self, mode: bool) -> None:
        _enabled.set(mode)
        swap_bits(FORWARD_AD, FORWARD_AD if mode and _level.get() is not None else 0)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._switch(self._before)


def _is_fwd_grad_enabled() -> bool:
    return _enabled.get()


def set_tangent(tensor: Tensor, tangent: Any) -> None:
    if tangent._data.__class__ is np.ndarray and tangent._data.strides != tensor._data.strides and tangent._data.size > 1:
        tangent = laid_out_like(tangent, tensor)
    tensor._tangent = tangent
    level = _level.get()
    assert level is not None
    level.duals.append(ref(tensor))
    fn = tensor._fn
    if isinstance(fn, Node | Output):
        node, nr = (fn.node, fn.nr) if isinstance(fn, Output) else (fn, 0)
        level.of_results.setdefault(node, {})[nr] = tangent


def laid_out_like(tangent: Tensor, tensor: Tensor) -> Tensor:
    """The tangent with the strides of its tensor, so that a view of the one can be made of the other."""
    if overlaps_itself(tensor._data):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the "
            "tensor before performing the operation: an expanded tensor has no place for a tangent."
        )
    return tangent.new_empty_strided(tensor.shape, tensor.stride()).copy_(tangent)


def tangent_of(x: Any) -> Any:
    """The tangent of a tensor. A view that has none looks at its base, which may have got one after the view was made."""
    found = getattr(x, "_tangent", None)
    if found is None and isinstance(getattr(x, "_fn", None), View):
        view = x._fn
        if view.base._tangent is not None and not is_primal(view):
            found = view.replay(view.base._tangent)
            set_tangent(x, found)
    return found


def is_primal(view: View | None) -> bool:
    """Whether a view was taken without the tangent of its base."""
    while view is not None:
        if view.op.name == "primal":
            return True
        view = view.parent
    return False


def keep_tangent(tensor: Tensor, tangent: Any) -> Tensor:
    """Give a tensor that stands for another one its tangent, if it has one."""
    if tangent is not None:
        set_tangent(tensor, tangent)
    return tensor


def tangent_of_result(node: Node, nr: int) -> Any:
    level = _level.get()
    return None if level is None else level.of_results.get(node, {}).get(nr)


def check_level(level: int | None, name: str) -> None:
    if level not in (None, 0):
        raise RuntimeError(f"Invalid level given to {name}")


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor on the same memory that carries `tangent` through the operations applied to it."""
    if _level.get() is None or level == -1:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    check_level(level, "_make_dual")
    for what, given in (("primal", tensor), ("tangent", tangent)):
        if not (given.is_floating_point() or given.is_complex()):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {given.dtype}")
    if tangent.shape != tensor.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(tensor.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )
    if tangent_of(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported.\n"
            "  fix: make_dual(unpack_dual(x).primal, tangent)"
        )
    if tangent_of(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level 0 is not supported.\n"
            "  fix: make_dual(x, unpack_dual(tangent).primal)"
        )
    if tangent.is_conj() and not tensor.is_conj():
        tangent = tangent.resolve_conj()  # it lies in memory as its tensor does
    dual = alias(tensor)
    if not get_mode() & INFERENCE:
        set_tangent(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a dual tensor and its tangent (None if it has none)."""
    if _level.get() is None or level == -1:
        return UnpackedDualTensor(tensor, None)
    check_level(level, "_fw_primal")
    return UnpackedDualTensor(primal(tensor), tangent_of(tensor))


def alias(tensor: Tensor) -> Tensor:
    """A view of the whole tensor that can have a tangent of its own."""
    bits = swap_bits(FORWARD_AD, 0)
    try:
        view: Tensor = tensor.view(tensor.shape)
        return view
    finally:
        swap_bits(FORWARD_AD, bits)


def primal(tensor: Tensor) -> Tensor:
    """A view of the whole tensor that has no tangent, and never gets that of its base."""
    from ..ops.memory import primal as op

    bits = swap_bits(FORWARD_AD, 0)
    try:
        return op(tensor)  # type: ignore[no-any-return]
    finally:
        swap_bits(FORWARD_AD, bits)


def without_tangent(x: Any) -> Any:
    return x if getattr(x, "_tangent", None) is None else primal(x)


# ---- the rules ----------------------------------------------------------------------------------------------------------------------


def carries_tangent(operands: Sequence[Any]) -> bool:
    """Whether forward mode has anything to do for these operands."""
    return get_mode() & (FORWARD_AD | INFERENCE) == FORWARD_AD and any([tangent_of(x) is not None for x in operands])


def refuse_out(op: Op, operands: list[Any]) -> None:
    """`out=` gives a result no history, and no tangent."""
    if carries_tangent(operands):
        raise NotImplementedError(
            f"Trying to use forward AD with {op.name}_out that does not support it because it is an out= function.\n"
            f"  fix: result = torch.{op.name}(...) without out="
        )


def forget_tangent(tensor: Tensor) -> None:
    """Something that has no derivative was written over a tensor: whatever it depended on, it does not any more."""
    if carries_tangent([tensor]):
        tensor._tangent.zero_()


def without_slope(result: Tensor, operands: Sequence[Any]) -> Tensor:
    """A result that does not move with operands it was made from, such as a sample: its tangent is zero if any of theirs is there."""
    if carries_tangent(operands):
        set_tangent(result, result.new_zeros(result.shape))
    return result


def propagate(op: Op, operands: list[Any], values: dict[str, Any], results: tuple[Tensor, ...]) -> None:
    """Give the results of an op their tangents."""
    from ..ops._tangents import tangents_of

    tangents = [getattr(x, "_tangent", None) for x in operands]
    found = tangents_of(op, [without_tangent(x) for x in operands], values, tuple(map(without_tangent, results)), tangents)
    for result, tangent in zip(results, found, strict=True):
        if tangent is not None:
            set_tangent(result, tangent)


def propagate_inplace(op: Op, operands: list[Any], values: dict[str, Any], result: Tensor, tangents: list[Any]) -> None:
    """The same for a write: the tangent changes in place too, so that the base of a view and its other views see it."""
    from ..ops._tangents import tangents_of

    if not op.differentiable:
        forget_tangent(result)
        return
    (tangent,) = tangents_of(op, [without_tangent(x) for x in operands], values, (without_tangent(result),), tangents)
    if tangent is None or result._data.dtype.kind not in "fcV":
        return
    view = result._fn
    if result._tangent is None and isinstance(view, View):
        base = view.base
        if base._tangent is None:
            set_tangent(base, base.new_zeros(base.shape))
        set_tangent(result, view.replay(base._tangent))
    if result._tangent is None:
        set_tangent(result, tangent)
    else:
        result._tangent.copy_(tangent)
