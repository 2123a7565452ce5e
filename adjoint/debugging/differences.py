"""A node compared with finite differences: is what its rule gives the derivative of what its op computes?

The op is computed again in float64 with one element of an input moved up and down. Where an input was not kept, its value does not matter
to the rule, so any will do; where it does matter (the rule knows it by the result), rule and differences are compared at other values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._errors import AdjointError
from ..autograd.node import Node
from ..autograd.saved import public_names
from ..autograd.stepping import slots_of
from ..ops._rules import sum_to
from ..viz.symbols import rule_on
from .values import UNKNOWN, Values, computed

Array = np.ndarray[Any, Any]
MOST = 64  # elements of an input that are moved
STEP = 1e-6


class CannotCompareError(AdjointError, RuntimeError):
    """What is known of a node is not enough to compute its op again."""


@dataclass(frozen=True)
class Difference:
    """The gradient of one input, by the rule and as it was measured."""

    name: str
    compared: int  # elements
    of: int
    index: tuple[int, ...]  # where they differ most
    rule: float
    measured: float
    agrees: bool
    sides: tuple[float, float] | None = None  # at a kink: the slopes below and above


@dataclass(frozen=True)
class Comparison:
    inputs: list[Difference]
    elsewhere: bool  # whether they were compared at other values than those of the pass
    hooks: bool  # whether the node has hooks, which may have changed what its rule gave
    agrees: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "agrees", all(one.agrees for one in self.inputs))


def compare(node: Node, given: tuple[Any, ...], gave: tuple[Any, ...], values: Values) -> Comparison:
    """`given` and `gave`: the arrays that the rule got, one for each output, and those that it gave, one for each edge."""
    op = node.op
    if op is None:
        function = node.name().removesuffix("Backward")
        raise CannotCompareError(
            f"{node.name()} cannot be computed again: what {function}.forward was called with is not kept",
            fix=f"torch.autograd.gradcheck({function}.apply, inputs) with inputs in float64",
        )
    if any(one is not None and one.dtype.kind == "c" for one in (*given, *gave)):
        raise CannotCompareError("complex gradients are not compared here", fix="torch.autograd.gradcheck(function, inputs)")
    arguments = values.arguments(node)
    elsewhere = fill(node, arguments, given, gave)
    wide = {name: in_double(value) for name, value in arguments.items()}
    weights = [None if g is None else in_double(g) for g in given]

    def total(moved: dict[str, Any]) -> float:
        made = computed(node, moved)
        outputs = made if isinstance(made, tuple | list) else (made,)
        with np.errstate(all="ignore"):
            return float(sum(np.sum(w * out) for w, out in zip(weights, outputs, strict=False) if w is not None))

    try:
        first = total(wide)
        repeats = total(wide) == first or np.isnan(first)
    except Exception as error:
        raise CannotCompareError(f"{node.name()} cannot be computed again: {error}") from error
    if not repeats:
        raise CannotCompareError(f"{node.name()} draws random numbers: computed again, its result is another")
    found = []
    for slot, g in zip(slots_of(node), gave, strict=True):
        if g is None:
            continue
        name = op.inputs[0] if op.sequence else op.inputs[slot]
        if elsewhere:
            known = {**wide, "out": computed(node, wide)}
            g = sum_to(rule_on(op, name, known, in_double(given[0]), slot if op.sequence else 0), np.shape(wide[name]))
        label = f"{name}[{slot}]" if op.sequence else public_names(op, name)[0]
        found.append(measured(label, wide, name, slot if op.sequence else None, np.asarray(g), total))
    return Comparison(found, elsewhere, node.hooks is not None and bool(node.hooks.pre or node.hooks.post))


def in_double(value: Any) -> Any:
    if isinstance(value, list | tuple) and value and all(isinstance(one, np.ndarray) for one in value):
        return [in_double(one) for one in value]
    return np.asarray(value, np.float64) if isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "f" else value


def fill(node: Node, arguments: dict[str, Any], given: tuple[Any, ...], gave: tuple[Any, ...]) -> bool:
    """Put values in the place of those that are not known. The answer is whether the rule would have given something else for them."""
    op = node.op
    assert op is not None
    rng = np.random.default_rng(0)
    shapes = {op.inputs[slot]: np.shape(g) for slot, g in zip(slots_of(node), gave, strict=True) if g is not None and not op.sequence}
    missing = [name for name, value in arguments.items() if value is UNKNOWN]
    for name in missing:
        if name in shapes:
            arguments[name] = rng.uniform(0.2, 0.8, shapes[name])  # where most functions are defined
        elif name in op.inputs and op.broadcasts and given[0] is not None:
            arguments[name] = np.zeros(np.shape(given[0]))
        elif name in op.optional:
            arguments[name] = None
        elif name in ("size", "shape") and given[0] is not None:
            arguments[name] = np.shape(given[0])
        else:
            raise CannotCompareError(f"{node.name()} cannot be computed again: its argument {name} was not kept")
    return bool(missing) and "out" in node.layout


def measured(
    label: str, arguments: dict[str, Any], name: str, place: int | None, rule: Array, total: Callable[[dict[str, Any]], float]
) -> Difference:
    """One input, element by element."""
    x = arguments[name] if place is None else arguments[name][place]
    if np.shape(x) != rule.shape:
        raise CannotCompareError(f"the gradient of {label} has the shape {list(rule.shape)}, and its value {list(np.shape(x))}")

    def at(index: tuple[int, ...], step: float) -> float:
        moved = np.array(x)
        moved[index] += step
        changed = moved if place is None else [*arguments[name][:place], moved, *arguments[name][place + 1 :]]
        return total({**arguments, name: changed})

    rows = []
    for index in chosen(rule):
        step = STEP * max(1.0, abs(float(x[index])))
        up, down = at(index, step), at(index, -step)
        rows.append((index, float(rule[index]), (up - down) / (2 * step), step))
    if not rows:
        return Difference(label, 0, 0, (), 0.0, 0.0, True)
    scale = max(max(abs(a), abs(b)) for _, a, b, _ in rows)
    precise = max(1e-5, 3 * float(np.sqrt(np.finfo(rule.dtype).eps)) if rule.dtype.kind == "f" else 1e-3)
    index, a, b, step = max(rows, key=lambda row: abs(row[1] - row[2]) if np.isfinite(row[1] - row[2]) else np.inf)
    agrees = bool(abs(a - b) <= precise * scale + 1e-7)
    middle = total(arguments)
    sides = ((middle - at(index, -step)) / step, (at(index, step) - middle) / step)
    kink = not agrees and abs(sides[0] - sides[1]) > precise * scale
    return Difference(label, len(rows), rule.size, index, a, b, agrees, sides if kink else None)


def chosen(rule: Array) -> Iterator[tuple[int, ...]]:
    """The elements that are compared: all of few, else those with the largest gradients and others spread over the rest."""
    places = np.arange(rule.size)
    if rule.size > MOST:
        largest = np.argsort(-np.abs(np.nan_to_num(rule, nan=np.inf)).reshape(-1))[: MOST // 2]
        places = np.union1d(largest, np.linspace(0, rule.size - 1, MOST - largest.size).astype(int))
    for place in places:
        yield tuple(int(i) for i in np.unravel_index(place, rule.shape))
