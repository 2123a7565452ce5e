"""The graph of a model as TensorBoard reads it: a GraphDef, whose nodes have paths as names and are boxed by them."""

from __future__ import annotations

import re
from typing import Any

from ._events import field, varint


def graph_definition(model: Any, inputs: tuple[Any, ...]) -> tuple[bytes, Any]:
    """The encoded graph of one call of the model, and the graph that it was made from."""
    from ...autograd.grad_mode import enable_grad
    from ...viz.graphs import graph

    with enable_grad():
        picture = graph(model, *inputs)
    net = picture._net
    top = type(model).__name__
    names: list[str] = []
    taken: dict[str, int] = {}
    for vertex in picture.vertices:
        parts, box = [], net.home[vertex.index]
        while box > 0:
            if not net.scopes[box].times:  # one box for blocks that repeat is TensorBoard's own affair
                parts.append(net.scopes[box].name)
            box = net.parent[box]
        own = vertex.name.rpartition(".")[2] if vertex.kind == "parameter" else vertex.op or vertex.name or vertex.kind
        name = re.sub(r"[^A-Za-z0-9_./-]+", "_", "/".join([top, *reversed(parts), own]).replace(".", "/"))
        taken[name] = taken.get(name, 0) + 1
        names.append(name if taken[name] == 1 else f"{name}_{taken[name]}")
    inputs_of: list[list[str]] = [[] for _ in names]
    for edge in picture.edges:
        inputs_of[edge.target].append(names[edge.source] + (f":{edge.output}" if edge.output else ""))
    nodes = b""
    for vertex, name, sources in zip(picture.vertices, names, inputs_of, strict=True):
        kind = vertex.grad_fn.rpartition(":")[2] or {"parameter": "Parameter", "leaf": "Leaf", "data": "Input"}[vertex.kind]
        node = field(1, name.encode()) + field(2, kind.encode()) + b"".join(field(3, source.encode()) for source in sources)
        if vertex.shape is not None:
            sizes = b"".join(field(2, b"\x08" + varint(size)) for size in vertex.shape)
            node += attribute("_output_shapes", field(1, field(7, sizes)))
        if vertex.where:
            node += attribute("line", field(2, f"{vertex.where}  {vertex.text}".encode()))
        nodes += field(1, node)
    return nodes + field(4, b"\x08\x16"), picture  # of a version that TensorBoard takes for new


def attribute(name: str, value: bytes) -> bytes:
    return field(5, field(1, name.encode()) + field(2, value))
