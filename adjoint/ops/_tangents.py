"""Forward mode: the tangents of an op's results, derived from its declaration."""

from __future__ import annotations

from typing import Any

from ._forward import common_dtype
from ._registry import ELEMENTWISE, KEEP, LINEAR, MULTILINEAR, REDUCTION, Op, parameters
from ._rules import cast, conjugates


def tangents_of(op: Op, primals: list[Any], values: dict[str, Any], outs: tuple[Any, ...], tangents: list[Any]) -> list[Any]:
    """The tangents of an op's results. Rules run on Tensors, so a tangent has a history of its own; and memory of its own, unless the
    result is a view: a write to the result changes its tangent in place."""
    found = derived(op, primals, values, outs, tangents)
    if op.view:
        return found
    return [t.clone() if t is not None and any(t is given for given in tangents) else t for t in found]


def derived(op: Op, primals: list[Any], values: dict[str, Any], outs: tuple[Any, ...], tangents: list[Any]) -> list[Any]:
    """The tangents by the rule that the declaration names."""
    conjugates(op, (*primals, *outs))  # or it is refused
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
    found = op.jvp(*(facts[name] for name in parameters(op.jvp)))
    return list(found) if op.several else [found]


def _or_zero(x: Any, tangent: Any) -> Any:
    """The tangent of an operand of a linear op: zero for a constant, a number included."""
    if tangent is not None or x is None:
        return tangent
    return x.new_zeros(x.shape) if hasattr(x, "_data") else 0


def _elementwise(op: Op, primals: list[Any], values: dict[str, Any], out: Any, tangents: list[Any]) -> Any:
    facts = _facts(op, _promoted(op, primals), values, out)
    terms = []
    for name, tangent in zip(op.inputs, tangents, strict=True):
        if tangent is not None and name in op.rules:
            rule = op.rules[name]
            g = cast(tangent, out._data.dtype)
            term = rule(*(g if p == "g" else facts[p] for p in parameters(rule)))
            terms.append(cast(term if term._data.shape == out._data.shape else term.expand(out.shape), out._data.dtype))
    return _sum(terms)


def _promoted(op: Op, primals: list[Any]) -> list[Any]:
    """The operands in the dtype in which the op was computed, which is what rules expect."""
    dtypes = {x._data.dtype for x in primals if hasattr(x, "_data")}
    if op.promote == KEEP or (len(dtypes) == 1 and next(iter(dtypes)).kind in "fc"):
        return primals
    dtype = common_dtype(op, [x._data if hasattr(x, "_data") else x for x in primals])
    return [cast(x, dtype) if hasattr(x, "_data") else x for x in primals]


def _reduction(op: Op, primals: list[Any], values: dict[str, Any], out: Any, tangents: list[Any]) -> Any:
    """Each result depends on a slice of the input: its tangent is the sum over that slice of weights times tangents."""
    facts = _facts(op, primals, values, out) | {"g": out.new_ones(out.shape)}
    terms = []
    for name, tangent in zip(op.inputs, tangents, strict=True):
        if tangent is not None and name in op.rules:
            weights = op.rules[name](*(facts[p] for p in parameters(op.rules[name])))
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
