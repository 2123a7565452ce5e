"""The graph in Graphviz's language, with boxes as clusters."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .collect import Edge, Vertex
from .picture import card_of, heading
from .scopes import Scope

SHAPES = {
    "leaf": "shape=box, style=rounded",
    "parameter": "shape=box, style=rounded, peripheries=2",
    "data": "shape=box, style=dashed",
    "op": "shape=box",
}


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\\\\n", "\\n")


def dot(root: Scope, vertices: Sequence[Vertex], edges: Sequence[Edge]) -> str:
    lines = ["digraph {", '  node [fontname="monospace", fontsize=11];', '  edge [color="#8a919b"];']
    waiting: list[tuple[Scope | int | None, str]] = [(item, "  ") for item in reversed(root.items)]
    clusters = 0
    while waiting:
        item, indent = waiting.pop()
        if item is None:
            lines.append(f"{indent}}}")
        elif isinstance(item, Scope):
            lines += [f"{indent}subgraph cluster_{clusters} {{", f"{indent}  label={quoted(heading(item))};"]
            clusters += 1
            waiting.append((None, indent))
            waiting += [(inner, indent + "  ") for inner in reversed(item.items)]
        else:
            vertex, card = vertices[item], card_of(vertices[item])
            label = "\n".join(filter(None, (" ".join(filter(None, (card.title, card.side))), card.line, card.tag)))
            bold = ", penwidth=2.5" if vertex.result else ""
            lines.append(f"{indent}n{item} [label={quoted(label)}, {SHAPES[vertex.kind]}{bold}];")
    for edge in edges:
        lines.append(f"  n{edge.source} -> n{edge.target}" + (";" if edge.grad else " [style=dotted];"))
    return "\n".join([*lines, "}", ""])
