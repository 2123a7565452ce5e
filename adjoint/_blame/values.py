"""The values of a recorded forward pass, as far as they are known: leaves, what nodes keep for backward, what variables of the program
still hold, and what follows from those.

A graph keeps what derivatives need and no more. `x.log()` keeps `x`; `x + 1` keeps nothing, but with `x` known and nothing else to know
it can be computed again. A number that was overwritten since is not known: one clock orders nodes and writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._errors import InplaceError
from .._tensor import Tensor
from ..autograd.anomaly import array_of
from ..autograd.engine import reachable, target_of
from ..autograd.node import Edge, Freed, Node, Output
from ..autograd.packed import Packed
from ..autograd.saved import SavedOutput
from ..autograd.views import edge_of
from ..nn._owners import tensors_in_sight

Array = Any
Place = tuple[Any, int]  # a node and the number of its output, or a leaf and 0
UNKNOWN: Any = object()


def place_of(edge: Edge) -> Place:
    return (edge.node, edge.nr) if isinstance(edge, Output) else (edge, 0)


class Values:
    """What is known of each tensor of a graph."""

    def __init__(self, roots: Sequence[Edge]) -> None:
        self.nodes = sorted(reachable(roots), key=lambda node: node.seq)
        self.freed = next((node.saved.site for node in self.nodes if isinstance(node.saved, Freed)), None)
        self.known: dict[Place, Array] = {}
        for node in self.nodes:
            self.read(node)
        present = set(self.nodes)
        for tensor in tensors_in_sight().values():
            self.see(tensor, present)
        for node in self.nodes:
            self.compute(node)

    def of(self, edge: Edge) -> Array | None:
        return self.known.get(place_of(edge))

    def read(self, node: Node) -> None:
        """What a node keeps, and the leaves that it was given."""
        for name, value in saved_of(node).items():
            if isinstance(value, SavedOutput):
                if not value.counter.written_after(node.seq):
                    self.known[node, value.nr] = value.array
            elif (edge := self.edge_named(node, name)) is not None and (array := intact(value, node)) is not None:
                self.known.setdefault(place_of(edge), array)
        for edge in node.next:
            if isinstance(edge, Tensor) and (array := intact(edge, node)) is not None:
                self.known.setdefault((edge, 0), array)

    def see(self, tensor: Tensor, present: set[Node]) -> None:
        """What a variable of the program still holds."""
        place = place_of(maker_of(tensor))
        if place[0] in present and (array := intact(tensor, place[0])) is not None:
            self.known.setdefault(place, array)

    def edge_named(self, node: Node, name: str) -> Edge:
        op = node.op
        if op is None or op.sequence or name not in op.inputs or (slot := op.inputs.index(name)) not in node.input_slots:
            return None
        return node.next[node.input_slots.index(slot)]

    def compute(self, node: Node) -> None:
        """The result of a node whose inputs are all known."""
        if node.op is None or node.outputs is not None or (node, 0) in self.known or node.op.sequence:
            return
        inputs = self.inputs(node)
        arguments = [self.argument(node, name, inputs) for name in node.op.args]
        if any(value is UNKNOWN for value in arguments):
            return
        try:
            with np.errstate(all="ignore"):
                cut = len(node.op.args) - len(node.op.keywords)
                result = node.op.impl(*arguments[:cut], **dict(zip(node.op.args[cut:], arguments[cut:], strict=True)))
        except Exception:  # forwards expect arguments that their functions have prepared, which are not known here
            return
        if isinstance(result, np.ndarray | np.generic):
            self.known[node, 0] = result

    def argument(self, node: Node, name: str, inputs: dict[str, Array | None]) -> Any:
        if name in inputs:
            return UNKNOWN if inputs[name] is None else inputs[name]
        return saved_of(node).get(name, None if name == "dtype" else UNKNOWN)

    def inputs(self, node: Node) -> dict[str, Array | None]:
        """The values of the inputs by name; None where one is not known."""
        op = node.op
        if op is None:
            return {f"input {place}": self.of(edge) for place, edge in enumerate(node.next)}
        if op.sequence:
            return {f"{op.inputs[0]}[{place}]": self.of(edge) for place, edge in enumerate(node.next)}
        saved = saved_of(node)
        found: dict[str, Array | None] = {}
        for slot, name in enumerate(op.inputs):
            if slot in node.input_slots:
                found[name] = self.of(node.next[node.input_slots.index(slot)])
            elif name not in saved:
                found[name] = None
            elif saved[name] is not None:
                found[name] = np.asarray(saved[name]) if isinstance(saved[name], int | float) else intact(saved[name], node)
        return found


def maker_of(tensor: Tensor) -> Edge:
    """Where the gradient of a tensor goes; nowhere for a view that was made unrecorded and lost its base since."""
    try:
        return edge_of(tensor)
    except InplaceError:
        return None


def saved_of(node: Node) -> dict[str, Any]:
    """What a node keeps, by the names of its op; nothing if it was freed."""
    if isinstance(node.saved, Freed) or node.saved is None:
        return {}
    names = node.layout or [f"saved {place}" for place in range(len(node.saved))]
    return dict(zip(names, node.saved, strict=False))


def intact(value: Any, node: Node) -> Array | None:
    """The array of a tensor that a node kept, unless it was overwritten since."""
    if isinstance(value, Packed) or value is None:
        return None
    counter = getattr(value, "_vc", None)
    if counter is not None and counter.written_after(node.seq):
        return None
    data = getattr(value, "_data", value)
    return array_of(value) if not isinstance(data, np.ndarray) else data


def leaves_of(nodes: Iterable[Node]) -> list[Tensor]:
    """The leaves that nodes were given, the first one first."""
    edges = (edge for node in sorted(nodes, key=lambda node: node.seq) for edge in node.next)
    return list(dict.fromkeys(edge for edge in edges if isinstance(edge, Tensor)))


def makers(edges: Sequence[Edge], steps: int) -> list[list[str]]:
    """The names of the ops that made some tensors, those one step before first."""
    found, here = [], [target_of(edge) for edge in edges]
    for _ in range(steps):
        nodes = [node for node in here if isinstance(node, Node)]
        found.append([node.name() if node.op is None else node.op.name for node in nodes])
        here = [target_of(edge) for node in nodes for edge in node.next]
    return found
