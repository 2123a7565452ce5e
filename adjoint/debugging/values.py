"""The values of a graph, after the forward pass: what nodes and leaves have kept, and what can be computed again from that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._tensor import Tensor
from ..autograd.node import Node, Output
from ..autograd.packed import Packed
from ..autograd.saved import SavedOutput
from ..autograd.stepping import slots_of

UNKNOWN: Any = type("Unknown", (), {"__repr__": lambda self: "UNKNOWN"})()


class Values:
    """Values by the edge that leads to them: of a leaf, or of one output of a node. Arrays, as they are in memory.

    They are looked up in the order of their making, so that what a value is computed from is known before it."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.known: dict[tuple[Node, int], Any] = {}
        in_order = sorted(nodes, key=lambda node: node.seq)
        for node in in_order:
            self.look_into(node)
        for node in in_order:
            self.compute(node)

    def of(self, edge: Any, reader: Node) -> Any:
        """What an edge of `reader` leads to, UNKNOWN where it was not kept, or was overwritten since."""
        if isinstance(edge, Tensor):
            return UNKNOWN if edge._vc is not None and edge._vc.written_after(reader.seq) else edge._data
        node, nr = (edge.node, edge.nr) if isinstance(edge, Output) else (edge, 0)
        return self.known.get((node, nr), UNKNOWN)

    def look_into(self, node: Node) -> None:
        """Take what a node has kept: its results, and inputs, which are results of others."""
        if node.op is None or not isinstance(node.saved, tuple):
            return
        for name, value in zip(node.layout, node.saved, strict=False):
            if isinstance(value, SavedOutput):
                if not value.counter.written_after(node.seq):
                    self.known[node, value.nr] = value.array
            elif name in node.op.inputs and isinstance(value, Tensor) and not node.op.sequence:
                edge = dict(zip(slots_of(node), node.next, strict=True)).get(node.op.inputs.index(name))
                if isinstance(edge, Node | Output) and not (value._vc is not None and value._vc.written_after(node.seq)):
                    key = (edge.node, edge.nr) if isinstance(edge, Output) else (edge, 0)
                    original = value if value._converted_from is None else value._converted_from
                    self.known.setdefault(key, original._data)

    def compute(self, node: Node) -> None:
        if node.op is None or (node, 0) in self.known:
            return
        arguments = self.arguments(node)
        if any(value is UNKNOWN for value in arguments.values()):
            return
        try:
            result = computed(node, arguments)
        except Exception:  # a forward that wants more than is known of the call
            return
        for nr, one in enumerate(result if isinstance(result, tuple | list) else (result,)):
            self.known[node, nr] = one

    def arguments(self, node: Node) -> dict[str, Any]:
        """The arguments of a node's op by name, with UNKNOWN for what was not kept."""
        op = node.op
        assert op is not None
        defaults = op.default_values()
        saved = dict(zip(node.layout, node.saved, strict=False)) if isinstance(node.saved, tuple) else {}
        found: dict[str, Any] = {}
        edges = dict(zip(slots_of(node), node.next, strict=True))
        for name in op.args:
            if name in saved and not isinstance(saved[name], Packed):
                value = saved[name]
                found[name] = value._data if isinstance(value, Tensor) else value
            elif op.sequence and name == op.inputs[0]:
                found[name] = UNKNOWN if len(edges) < node.input_count else [self.of(edge, node) for edge in node.next]
                found[name] = UNKNOWN if found[name] is not UNKNOWN and any(one is UNKNOWN for one in found[name]) else found[name]
            elif name in op.inputs:
                slot = op.inputs.index(name)
                absent = name in op.optional and slot not in edges and not is_tensor(node, slot)
                found[name] = None if absent else self.of(edges[slot], node) if slot in edges else UNKNOWN
            else:
                found[name] = defaults.get(name, UNKNOWN)
        return found


def is_tensor(node: Node, slot: int) -> bool:
    """Whether an input was a tensor, not a number or None."""
    assert node.op is not None
    key = next((key for key, made in node.op.variants.items() if made is type(node)), "")
    return key[slot : slot + 1] == "T"


def computed(node: Node, arguments: dict[str, Any]) -> Any:
    """The forward of a node's op on arrays."""
    assert node.op is not None
    with np.errstate(all="ignore"):
        return node.op.call(arguments)
