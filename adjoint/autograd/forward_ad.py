"""Forward mode: dual tensors carry a tangent through every operation.

>>> import adjoint as ad
>>> import adjoint.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(ad.tensor([1.0, 2.0]), ad.tensor([1.0, 0.0]))
...     fwAD.unpack_dual(x * x).tangent
tensor([2., 0.])
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from .._state import FORWARD_AD, get_mode, swap_bits
from .node import Node, Output
from .views import View

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


def enter_dual_level() -> int:
    if _level.get() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _level.set(Level())
    swap_bits(FORWARD_AD, FORWARD_AD)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    current = _level.get()
    if current is None:
        raise RuntimeError("Trying to exit a forward AD level that was not entered; use `with dual_level():`.")
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


def set_tangent(tensor: Tensor, tangent: Any) -> None:
    tensor._tangent = tangent
    level = _level.get()
    assert level is not None
    level.duals.append(ref(tensor))
    fn = tensor._fn
    if isinstance(fn, Node | Output):
        node, nr = (fn.node, fn.nr) if isinstance(fn, Output) else (fn, 0)
        level.of_results.setdefault(node, {})[nr] = tangent


def keep_tangent(tensor: Tensor, tangent: Any) -> Tensor:
    """Give a tensor that stands for another one its tangent, if it has one."""
    if tangent is not None:
        set_tangent(tensor, tangent)
    return tensor


def tangent_of_result(node: Node, nr: int) -> Any:
    level = _level.get()
    return None if level is None else level.of_results.get(node, {}).get(nr)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor on the same memory that carries `tangent` through the operations applied to it."""
    if _level.get() is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for what, given in (("primal", tensor), ("tangent", tangent)):
        if not (given.is_floating_point() or given.is_complex()):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {given.dtype}")
    if tangent.shape != tensor.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(tensor.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )
    if tangent.dtype != tensor.dtype:
        raise RuntimeError(f"Expected the tangent to have dtype {tensor.dtype}, but it is {tangent.dtype}; write t.to({tensor.dtype})")
    dual = alias(tensor)
    set_tangent(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a dual tensor and its tangent (None if it has none)."""
    if _level.get() is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(without_tangent(tensor), tensor._tangent)


def alias(tensor: Tensor) -> Tensor:
    """A view of the whole tensor, without its tangent."""
    from ..ops.alias import alias as op

    bits = swap_bits(FORWARD_AD, 0)
    try:
        return op(tensor)  # type: ignore[no-any-return]
    finally:
        swap_bits(FORWARD_AD, bits)


def without_tangent(x: Any) -> Any:
    return x if getattr(x, "_tangent", None) is None else alias(x)


# ---- the rules ----------------------------------------------------------------------------------------------------------------------


def carries_tangent(operands: list[Any]) -> bool:
    """Whether forward mode has anything to do for these operands."""
    return bool(get_mode() & FORWARD_AD) and any(getattr(x, "_tangent", None) is not None for x in operands)


def propagate(op: Op, operands: list[Any], values: dict[str, Any], results: tuple[Tensor, ...]) -> None:
    """Give the results of an op their tangents."""
    tangents = [getattr(x, "_tangent", None) for x in operands]
    found = tangents_of(op, [without_tangent(x) for x in operands], values, tuple(map(without_tangent, results)), tangents)
    for result, tangent in zip(results, found, strict=True):
        if tangent is not None:
            set_tangent(result, tangent)


def propagate_inplace(op: Op, operands: list[Any], values: dict[str, Any], result: Tensor, tangents: list[Any]) -> None:
    """The same for a write: the tangent changes in place too, so that the base of a view and its other views see it."""
    (tangent,) = tangents_of(op, [without_tangent(x) for x in operands], values, (without_tangent(result),), tangents)
    if tangent is None:
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


def tangents_of(op: Op, primals: list[Any], values: dict[str, Any], outs: tuple[Any, ...], tangents: list[Any]) -> list[Any]:
    """The tangents of an op's results. Rules run on Tensors, so a tangent has a history of its own."""
    from ..ops._registry import ELEMENTWISE, LINEAR, MULTILINEAR, REDUCTION

    if op.jvp == LINEAR:
        names = op.inputs * len(primals) if op.sequence else op.inputs
        linear = [_or_zero(x, t) if op.differentiates(name) else x for name, x, t in zip(names, primals, tangents, strict=True)]
        result = op.on(linear, values)
        return list(result) if op.several else [result]
    if op.jvp == MULTILINEAR:
        return [_sum([op.on([*primals[:i], t, *primals[i + 1 :]], values) for i, t in enumerate(tangents) if t is not None])]
    if op.jvp == ELEMENTWISE:
        return [_elementwise(op, primals, values, outs[0], tangents)]
    if op.jvp == REDUCTION:
        return [_reduction(op, primals, values, outs[0], tangents)]
    assert callable(op.jvp)
    facts = {**values, "out": outs if op.several else outs[0]}
    if op.sequence:
        facts |= {op.inputs[0]: primals, "tangents": tangents}
    else:
        facts |= dict(zip(op.inputs, primals, strict=True))
        facts |= {f"{name}_t": t for name, t in zip(op.inputs, tangents, strict=True)}
    found = op.jvp(*(facts[name] for name in _parameters(op.jvp)))
    return list(found) if op.several else [found]


def _or_zero(x: Any, tangent: Any) -> Any:
    """The tangent of an operand of a linear op: zero for a constant, a number included."""
    if tangent is not None or x is None:
        return tangent
    return x.new_zeros(x.shape) if hasattr(x, "_data") else 0


def _elementwise(op: Op, primals: list[Any], values: dict[str, Any], out: Any, tangents: list[Any]) -> Any:
    from ..ops._rules import cast

    facts = _facts(op, _promoted(op, primals), values, out)
    terms = []
    for name, tangent in zip(op.inputs, tangents, strict=True):
        if tangent is not None and name in op.rules:
            rule = op.rules[name]
            g = cast(tangent, out._data.dtype)
            term = rule(*(g if p == "g" else facts[p] for p in _parameters(rule)))
            terms.append(cast(term if term.shape == out.shape else term.expand(out.shape), out._data.dtype))
    return _sum(terms)


def _promoted(op: Op, primals: list[Any]) -> list[Any]:
    """The operands in the dtype in which the op was computed, which is what rules expect."""
    from ..ops._general import common_dtype
    from ..ops._registry import KEEP
    from ..ops._rules import cast

    if op.promote == KEEP:
        return primals
    dtype = common_dtype(op, [x._data if hasattr(x, "_data") else x for x in primals])
    return [cast(x, dtype) if hasattr(x, "_data") else x for x in primals]


def _reduction(op: Op, primals: list[Any], values: dict[str, Any], out: Any, tangents: list[Any]) -> Any:
    """Each result depends on a slice of the input: its tangent is the sum over that slice of weights times tangents."""
    facts = _facts(op, primals, values, out) | {"g": out.new_ones(out.shape)}
    terms = []
    for name, tangent in zip(op.inputs, tangents, strict=True):
        if tangent is not None and name in op.rules:
            weights = op.rules[name](*(facts[p] for p in _parameters(op.rules[name])))
            terms.append(weights * tangent if op.holomorphic or not tangent.is_complex() else (weights.conj() * tangent).real)
    product = _sum(terms)
    if "dim" in values:
        product = product.sum(values["dim"], values["keepdim"])
    elif product.shape != out.shape:
        product = product.sum()
    return product.to(out.dtype)


def _facts(op: Op, primals: list[Any], values: dict[str, Any], out: Any) -> dict[str, Any]:
    """All that a rule may name, apart from the gradient."""
    facts = {**values, **dict(zip(op.inputs, primals, strict=True)), "out": out}
    for name, x in zip(op.inputs, primals, strict=True):
        if hasattr(x, "_data"):
            facts |= {f"{name}_shape": x._data.shape, f"{name}_dtype": x._data.dtype}
    return facts


def _sum(terms: list[Any]) -> Any:
    total = terms[0] if terms else None
    for term in terms[1:]:
        total = total + term
    return total


def _parameters(rule: Any) -> tuple[str, ...]:
    from ..ops._registry import parameters

    return parameters(rule)
