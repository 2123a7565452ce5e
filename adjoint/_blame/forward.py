"""The steps of a forward pass that a graph tells of, as far as its values are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor import Tensor
from ..autograd.node import NOWHERE, Edge, Node, Output
from .finding import kinds_of
from .steps import Step, given, is_row_of_parameter, step_of
from .values import Place, Values, makers, place_of, saved_of

GUESSED = ("overflow", "unexplained")  # patterns of ops that seem innocent: an input that is not known is more likely to be bad


class Steps:
    """The bad results of a graph. Where a value is not known, it counts as bad for who has no better cause."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.certain: dict[Place, Step] = {}
        self.possible: dict[Place, Step] = {}
        for node in values.nodes:
            for nr in range(1 if node.outputs is None else node.outputs):
                self.look(node, nr)

    def of(self, edge: Edge) -> Step | None:
        place = place_of(edge)
        return self.certain.get(place) or self.possible.get(place)

    def look(self, node: Node, nr: int) -> None:
        result = self.values.known.get((node, nr))
        if result is not None and not kinds_of(result):
            return
        inputs = self.values.inputs(node)
        certain, possible = self.causes(node, inputs)
        op = node.name().removesuffix("Backward") if node.op is None else node.op.name
        step = step_of(op, node.seq, node.site, inputs | exponent_of(node), result, makers(node.next, 3), certain)
        if result is not None and any(is_row_of_parameter(edge, result) for edge in node.next):
            step.samples = ()
        if not certain and (result is None or step.pattern in GUESSED):
            step.causes = possible
        (self.possible if result is None else self.certain)[node, nr] = step

    def causes(self, node: Node, inputs: dict[str, Any]) -> tuple[list[Step], list[Step]]:
        """The steps that made the bad inputs of a node, and those that may have."""
        certain: list[Step] = []
        possible: list[Step] = []
        edges = self.edges(node)
        for name, value in inputs.items():
            edge = edges.get(name)
            if isinstance(edge, Node | Output):
                place = place_of(edge)
                certain += [self.certain[place]] if place in self.certain else []
                possible += [self.possible[place]] if place in self.possible else []
            elif value is None:
                possible.append(given(name, edge, None, node.seq, node.site))
            elif kinds_of(value):
                tensor = edge if edge is not None else saved_of(node).get(name)
                certain.append(given(name, tensor if isinstance(tensor, Tensor) else None, value, node.seq, node.site))
        return certain, possible

    def edges(self, node: Node) -> dict[str, Edge]:
        """The edges of a node by the names of its inputs, as `Values.inputs` has them."""
        op = node.op
        if op is None:
            return {f"input {place}": edge for place, edge in enumerate(node.next)}
        if op.sequence:
            return {f"{op.inputs[0]}[{place}]": edge for place, edge in enumerate(node.next)}
        named = zip(node.input_slots, node.next, strict=True)
        return {op.inputs[slot]: edge for slot, edge in named if edge is not None and edge is not NOWHERE}


def exponent_of(node: Node) -> dict[str, Any]:
    """The exponent of a power, which is no input of its op where it is a number."""
    kept = saved_of(node)
    return {"exponent": np.asarray(kept["exponent"])} if isinstance(kept.get("exponent"), float | int) else {}
