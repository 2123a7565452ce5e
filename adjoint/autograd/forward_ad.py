"""Forward mode: dual tensors carry a tangent through every operation.

>>> import adjoint as ad
>>> import adjoint.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(ad.tensor([1.0, 2.0]), ad.tensor([1.0, 0.0]))
...     fwAD.unpack_dual(x * x).tangent
tensor([2., 0.])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .._state import FORWARD_AD, get_mode, swap_bits

if TYPE_CHECKING:
    from .._tensor import Tensor
    from ..ops._registry import Op


def tangent_inputs(operands: list[Any]) -> bool:
    """Whether forward mode has anything to do for these operands."""
    return bool(get_mode() & FORWARD_AD) and any(getattr(x, "_tangent", None) is not None for x in operands)


def tangents_of(op: Op, operands: list[Any], values: dict[str, Any], results: tuple[Tensor, ...], tangents: list[Any]) -> list[Any]:
    """The tangents of an op's results. The rules run on Tensors, so that the tangent has a history of its own."""
    from ..ops._registry import ELEMENTWISE, LINEAR, MULTILINEAR, parameters
    from ..ops._rules import cast

    primals = [without_tangent(x) for x in operands]
    outs = [without_tangent(x) for x in results]

    def call(inputs: list[Any]) -> Any:
        given = {**values, op.inputs[0]: inputs} if op.sequence else {**values, **dict(zip(op.inputs, inputs, strict=True))}
        cut = len(op.args) - len(op.keywords)
        return op.function(*(given[n] for n in op.args[:cut]), **{n: given[n] for n in op.args[cut:]})

    if op.jvp == LINEAR:
        filled = [
            t if t is not None else (x.new_zeros(x.shape) if hasattr(x, "new_zeros") else x)
            for x, t in zip(primals, tangents, strict=True)
        ]
        total = call(filled)
        return list(total) if op.several else [total]
    if op.jvp == MULTILINEAR:
        terms = [call([*primals[:slot], t, *primals[slot + 1 :]]) for slot, t in enumerate(tangents) if t is not None]
        return [add_up(terms)]
    if op.jvp == ELEMENTWISE:
        result = outs[0]
        terms = []
        facts = {**values, **dict(zip(op.inputs, primals, strict=True)), "out": result}
        for name, x in zip(op.inputs, primals, strict=True):
            if hasattr(x, "_data"):
                facts |= {f"{name}_shape": x._data.shape, f"{name}_dtype": x._data.dtype}
        for name, t in zip(op.inputs, tangents, strict=True):
            if t is None or name not in op.rules:
                continue
            rule = op.rules[name]
            g = cast(t, result._data.dtype)
            term = rule(*(g if p == "g" else facts[p] for p in parameters(rule)))
            terms.append(term if term.shape == result.shape else term.expand(result.shape))
        return [add_up(terms)]
    assert callable(op.jvp)
    facts = {**values, "out": outs if op.several else outs[0]}
    facts |= dict(zip(op.inputs, primals, strict=True)) if not op.sequence else {op.inputs[0]: primals}
    facts |= {f"{name}_t": t for name, t in zip(op.inputs, tangents, strict=True)} if not op.sequence else {"tangents": tangents}
    found = op.jvp(*(facts[p] for p in parameters(op.jvp)))
    return list(found) if op.several else [found]


def add_up(terms: list[Any]) -> Any:
    total = None
    for term in terms:
        total = term if total is None else total + term
    return total


def without_tangent(x: Any) -> Any:
    """The primal part of an operand, with its history for reverse mode."""
    if getattr(x, "_tangent", None) is None:
        return x
    from .._tensor import wrap
    from .views import counter_of, edge_of

    primal = wrap(x._data)
    primal._vc = counter_of(x)
    edge = edge_of(x)
    if edge is x:
        from .node import LEAF

        primal._fn = LEAF
        primal.__dict__["_alias_of"] = x
        return x.view_as(x) if False else _tracked_alias(x)
    primal._fn = edge
    return primal


def _tracked_alias(x: Tensor) -> Tensor:
    """A leaf without its tangent that still sends its gradient to the leaf."""
    from .._tensor import wrap
    from .node import AliasNode

    alias = wrap(x._data)
    alias._fn = AliasNode.of(x)
    return alias


class UnpackedDualTensor(NamedTuple):
    primal: Any
    tangent: Any


class dual_level:
    """A level of forward mode: tangents exist until it is left."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *_: object) -> None:
        exit_dual_level()


_level: list[list[Tensor]] = []


def enter_dual_level() -> int:
    if _level:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _level.append([])
    swap_bits(FORWARD_AD, FORWARD_AD)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    if not _level:
        raise RuntimeError("Trying to exit a forward AD level that was not entered.")
    _level.pop()
    swap_bits(FORWARD_AD, 0)
