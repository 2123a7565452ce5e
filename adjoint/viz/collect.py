"""What there is to draw: the nodes, leaves and edges of an autograd graph, and what is known about each of them.

Nothing is unpacked, changed or kept alive: a vertex holds text and numbers only, so that a picture can outlive its graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from types import CodeType
from typing import Any, Literal

import numpy as np

from .._site import Site
from .._tensor import Parameter, Tensor
from ..autograd.causes import why_cut
from ..autograd.node import NOWHERE, Cut, Freed, Node, Output
from ..autograd.packed import Packed
from ..autograd.saved import SavedOutput, public_names
from ..autograd.views import cut_of

Kind = Literal["leaf", "parameter", "data", "op"]
SMALL = 6  # elements of which the values are shown


@dataclass
class Saved:
    """A value that a node keeps for its rule."""

    name: str  # PyTorch's: `grad_fn._saved_` and this
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    value: str = ""
    of: int | None = None  # the vertex that it is the value of
    stale: str = ""  # what happened, where it was changed since it was saved
    input: bool = True  # whether it is an input or the result, not a setting such as `dim`


@dataclass
class Vertex:
    """A node of the graph, a leaf, or data that a node has saved."""

    index: int
    kind: Kind
    name: str = ""  # of a parameter in its module, or of the variable that holds it
    op: str = ""
    grad_fn: str = ""
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    value: str = ""
    where: str = ""
    text: str = ""
    saved: list[Saved] = field(default_factory=list)
    freed: str = ""  # the line that freed what it had saved
    version: int = 0
    result: bool = False
    cut: str = ""
    bytes: int = 0
    order: int = 0  # when it was made


@dataclass(frozen=True)
class Edge:
    """`source` is read by `target`. Where `grad` is set, a gradient can flow back along it."""

    source: int
    target: int
    slot: str
    output: int = 0
    grad: bool = True


def collect(roots: Iterable[Any], names: Mapping[int, str]) -> tuple[list[Vertex], list[Edge]]:
    """Walk the graph above `roots` (tensors that require grad, or nodes). `names` are those of tensors and nodes, by id."""
    found = _Walk(names)
    for root in roots:
        found.start(root)
    found.finish()
    return found.vertices, found.edges


class _Walk:
    def __init__(self, names: Mapping[int, str]) -> None:
        self.names = names
        self.vertices: list[Vertex] = []
        self.edges: list[Edge] = []
        self.index: dict[int, int] = {}
        self.things: list[Any] = []  # the node or tensor of each vertex: alive for as long as ids are compared
        self.lines: dict[Site, tuple[str, str]] = {}
        self.several: set[int] = set()  # nodes with several outputs, of which none is "the" shape

    def start(self, root: Any) -> None:
        from ..autograd.views import edge_of

        if isinstance(root, Node):
            target = getattr(root, "variable", root)
        else:
            target = edge_of(root)
        if isinstance(target, Output):
            self.several.add(id(target.node))
            target = target.node
        waiting = [target]
        while waiting:
            thing = waiting.pop()
            if id(thing) in self.index:
                continue
            self.add(thing)
            if isinstance(thing, Node):
                for edge in thing.next:
                    if edge is not None and edge is not NOWHERE:
                        if isinstance(edge, Output):
                            self.several.add(id(edge.node))
                        waiting.append(edge.node if isinstance(edge, Output) else edge)
        vertex = self.vertices[self.index[id(target)]]
        vertex.result = True
        if isinstance(root, Tensor):
            self.learn(vertex, root)
            vertex.name = vertex.name or self.names.get(id(root), "")

    def add(self, thing: Any) -> Vertex:
        vertex = Vertex(len(self.vertices), "op")
        self.index[id(thing)] = vertex.index
        self.vertices.append(vertex)
        self.things.append(thing)
        vertex.name = self.names.get(id(thing), "")
        if isinstance(thing, Node):
            vertex.grad_fn = thing.name()
            vertex.op = operation(vertex.grad_fn)
            vertex.order = thing.seq
            vertex.where, vertex.text = self.line_of(thing)
        else:
            vertex.kind = "parameter" if isinstance(thing, Parameter) else "leaf" if thing.requires_grad else "data"
            vertex.order = -1
            vertex.version = 0 if thing._vc is None else thing._vc.version
            self.learn(vertex, thing)
            cut = cut_of(thing) if vertex.kind == "data" else None
            if isinstance(cut, Cut):
                reason = why_cut(cut)
                vertex.cut = f"{cut.how}, {site.where}" if (site := reason.site) is not None else cut.how
        return vertex

    def line_of(self, node: Node) -> tuple[str, str]:
        if not isinstance(getattr(node, "code", None), CodeType):
            return "", ""
        found = self.lines.get(node.site)
        if found is None:
            found = self.lines[node.site] = (node.site.where, node.site.text)
        return found

    def learn(self, vertex: Vertex, tensor: Any) -> None:
        """Take down shape, dtype and small values."""
        data = tensor._data if isinstance(tensor, Tensor) else tensor
        vertex.shape, vertex.dtype = tuple(data.shape), short_dtype(data.dtype)
        vertex.value = small_value(data)
        vertex.bytes = int(getattr(data, "nbytes", 0))

    def finish(self) -> None:
        """Draw the edges of all nodes, then what they have saved: data that is only saved becomes a vertex too."""
        nodes = [thing for thing in self.things if isinstance(thing, Node)]
        for node in nodes:
            target = self.index[id(node)]
            slots = node.input_slots or range(len(node.next))
            for slot, edge in zip(slots, node.next, strict=False):
                if edge is None or edge is NOWHERE:
                    continue
                nr = edge.nr if isinstance(edge, Output) else 0
                source = self.index[id(edge.node if isinstance(edge, Output) else edge)]
                inputs = node.op.inputs if node.op is not None else ()
                self.edges.append(Edge(source, target, inputs[slot] if slot < len(inputs) else str(slot), nr))
        for node in nodes:
            self.look_into(node)
        self.infer(nodes)

    # ---- what is saved ---------------------------------------------------------------------------------------------------------

    def look_into(self, node: Node) -> None:
        vertex = self.vertices[self.index[id(node)]]
        if isinstance(node.saved, Freed):
            vertex.freed = node.saved.site.where
            return
        if not isinstance(node.saved, tuple | list):
            return
        op = node.op
        for place, value in enumerate(node.saved):
            name = node.layout[place] if op is not None and place < len(node.layout) else f"tensor {place}"
            public = public_names(op, name)[-1] if op is not None else name
            slot = op.inputs.index(name) if op is not None and name in op.inputs else None
            if isinstance(value, SavedOutput):
                vertex.saved.append(Saved(public, *facts(value.array), of=vertex.index, stale=stale(value.counter, node)))
                if id(node) not in self.several:
                    self.learn(vertex, value.array)
            elif isinstance(value, Packed):
                vertex.saved.append(Saved(public, value="packed by saved_tensors_hooks"))
            elif isinstance(value, Tensor) and slot is not None:
                self.keep(node, vertex, public, value, slot)
            elif op is None and isinstance(value, tuple) and value and isinstance(value[0], Tensor):
                self.keep(node, vertex, public, value[0], self.slot_of(node, value[0], value[1]))
            elif isinstance(value, np.ndarray):
                vertex.saved.append(Saved(public, *facts(value), input=slot is not None))
            elif isinstance(value, int | float | complex) and not isinstance(value, bool):
                vertex.saved.append(Saved(public, value=f"{value:.6g}", input=slot is not None))

    def slot_of(self, node: Node, tensor: Tensor, edge: Any) -> int:
        """The input of a custom function that a saved tensor was; -1 where it was none."""
        for slot, one in enumerate(node.next):
            if one is tensor or (edge is not None and one is edge):
                return slot
        return -1

    def keep(self, node: Node, vertex: Vertex, public: str, tensor: Any, slot: int) -> None:
        slots = list(node.input_slots or range(len(node.next)))
        note = stale(tensor._vc, node) if tensor._vc is not None else ""
        original = tensor if tensor._converted_from is None else tensor._converted_from
        if slot in slots and (edge := node.next[slots.index(slot)]) is not None and edge is not NOWHERE:
            of = self.index[id(edge.node if isinstance(edge, Output) else edge)]
            source = self.vertices[of]
            if source.kind == "op" and not isinstance(edge, Output):
                self.learn(source, original)
            source.name = source.name or self.names.get(id(original), "")
        else:
            known = self.index.get(id(original))
            of = self.add(original).index if known is None else known
            self.edges.append(Edge(of, vertex.index, public, grad=False))
        vertex.saved.append(Saved(public, *facts(tensor._data), of=of, stale=note))

    # ---- shapes that nobody noted ----------------------------------------------------------------------------------------------

    def infer(self, nodes: list[Node]) -> None:
        """Tell shapes of results from what their readers know of them; along broadcasting ops they carry on."""
        rows = []
        for node in nodes:
            slots = node.input_slots or range(len(node.next))
            for place, (slot, edge) in enumerate(zip(slots, node.next, strict=False)):
                if isinstance(edge, Node):
                    rows.append((node, place, slot, self.vertices[self.index[id(edge)]]))
        for node, place, slot, source in rows:
            if source.shape is None and node.op is not None:
                back = node.restore[place] if node.restore is not None and place < len(node.restore) else None
                name = f"{node.op.inputs[slot]}_shape" if slot < len(node.op.inputs) else ""
                if back is not None:
                    source.shape, source.dtype = tuple(back[0]), short_dtype(back[1])
                elif name in node.layout and isinstance(node.saved, tuple):
                    source.shape = tuple(node.saved[node.layout.index(name)])
        for backward in (True, False):
            # From readers to what they read, latest first, and the other way round.
            for node, place, _, source in sorted(rows, key=lambda row: row[0].seq, reverse=backward):
                vertex = self.vertices[self.index[id(node)]]
                whole = node.restore is None or place >= len(node.restore) or node.restore[place] is None
                if node.op is None or not node.op.broadcasts or not whole:
                    continue
                if source.shape is None:
                    source.shape, source.dtype = vertex.shape, source.dtype or vertex.dtype
                elif vertex.shape is None:
                    vertex.shape, vertex.dtype = source.shape, vertex.dtype or source.dtype


# ---- text ------------------------------------------------------------------------------------------------------------------------------


def operation(name: str) -> str:
    """`nll_loss` for `NllLossBackward0`.

    >>> operation("MaxPool2DWithIndicesBackward0"), operation("torch::autograd::CopyBackwards")
    ('max_pool2d_with_indices', 'copy_backwards')
    """
    short = re.sub(r"Backward\d*$", "", name.rpartition(":")[2]) or name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", short).lower()


def short_dtype(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def small_value(data: Any) -> str:
    """The numbers of a small array on one line; empty for a large one, or one without numbers."""
    if not isinstance(data, np.ndarray) or data.size > SMALL:
        return ""
    try:
        return number_text(data.tolist())
    except (TypeError, ValueError, OverflowError):
        return ""


def number_text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(number_text, value)) + "]"
    if isinstance(value, float | complex):
        return f"{value:.4g}"
    return str(value)


def facts(data: Any) -> tuple[tuple[int, ...] | None, str, str]:
    return tuple(data.shape), short_dtype(data.dtype), small_value(data)


def stale(counter: Any, node: Node) -> str:
    """What to say where memory was written after a node had saved it."""
    if not counter.written_after(node.seq):
        return ""
    where: Site | None = counter.first_write_after(node.seq)
    line = "" if where is None else f" by {where.where}"
    return f"changed in place{line}: version {counter.version}, saved at version {counter.version_at(node.seq)}"


def shape_text(shape: tuple[int, ...] | None) -> str:
    """`4×8`, `vector 4`, `scalar`."""
    if shape is None:
        return ""
    return "scalar" if not shape else f"vector {shape[0]}" if len(shape) == 1 else "×".join(map(str, shape))


def count_text(count: int) -> str:
    """`1.2 M`."""
    for limit, unit in ((10**9, "G"), (10**6, "M"), (10**4, "k")):
        if count >= limit:
            return f"{count / (1000 if unit == 'k' else limit):.3g} {unit}"
    return f"{count:,}"


def elements(shape: tuple[int, ...] | None) -> int:
    return prod(shape) if shape is not None else 0
