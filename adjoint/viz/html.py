"""The page of a graph: one file that fetches nothing, in which boxes open and everything can be searched and asked.

The page is graph.html, graph.css and graph.js. It gets the cards, and for each box the layout of what is inside, as compressed JSON.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import Any

from .collect import Edge, Vertex, shape_text
from .picture import Card, Key, Net, heading, lay_out, opened_up_to
from .svg import MARKER, STYLE, colours

KINDS = ("op", "leaf", "parameter", "data", "box")
ITEMS = ("vertex", "box", "in", "out")
FIRST = 40  # cards that are shown before anybody opens a box


class _Strings:
    """A list in which each text stands once."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {"": 0}

    def __call__(self, text: str) -> int:
        return self.number.setdefault(text, len(self.number))


def packed(net: Net, cards: dict[Key, Card], vertices: Sequence[Vertex], edges: Sequence[Edge]) -> dict[str, Any]:
    """All that the page knows."""
    text = _Strings()

    def card(one: Card) -> list[Any]:
        flags = one.alert + 2 * one.struck + 4 * one.result
        return [KINDS.index(one.kind), text(one.title), text(one.side), text(one.line), text(one.tag), flags, one.width, one.height]

    rows = []
    for vertex in vertices:
        saved = [
            [
                text(one.name),
                text(shape_text(one.shape)),
                text(one.dtype),
                text(one.value),
                -1 if one.of is None else one.of,
                text(one.stale),
            ]
            for one in vertex.saved
        ]
        facts = (
            vertex.name, vertex.op, vertex.grad_fn, shape_text(vertex.shape), vertex.dtype, vertex.value, vertex.where, vertex.text,
            vertex.freed, vertex.cut,
        )  # fmt: skip
        rows.append([card(cards["vertex", vertex.index]), *map(text, facts), vertex.version, net.home[vertex.index], saved])
    boxes, frames = [], []
    for number, scope in enumerate(net.scopes):
        path, box = [], number
        while box > 0:
            path.append(net.scopes[box].name or net.scopes[box].label)
            box = net.parent[box]
        boxes.append([card(cards["box", number]), text(heading(scope)), text(" / ".join(reversed(path))), net.parent[number]])
        frame = lay_out(net, number, lambda key: (cards[key].width, cards[key].height))
        place = {key: i for i, key in enumerate(frame.places)}
        items = [[ITEMS.index(kind), at, *(round(value) for value in where[:4]), where[4]] for (kind, at), where in frame.places.items()]
        wires = []
        for source, target, tensor, grad, route in frame.wires:
            bottom = frame.places[source][1] + frame.places[source][3] / 2
            starts = int(abs(route[0][1] - bottom) < 0.01)
            flat = [round(value) for point in route for value in point]
            wires.append([place[source], place[target], tensor, int(grad), starts, *flat])
        frames.append({"items": items, "wires": wires, "w": round(frame.width), "h": round(frame.height)})
    return {
        "edges": [[edge.source, edge.target, text(edge.slot)] for edge in edges],
        "vertices": rows,
        "boxes": boxes,
        "frames": frames,
        "opened": sorted(opened_up_to(net, None, FIRST)),
        "strings": list(text.number),
    }


def own_file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def page(net: Net, cards: dict[Key, Card], vertices: Sequence[Vertex], edges: Sequence[Edge], title: str, description: str) -> str:
    """The whole page."""
    data = json.dumps(packed(net, cards, vertices, edges), separators=(",", ":"), ensure_ascii=False)
    parts = {
        "title": escape(title),
        "description": escape(description),
        "size": f"{len(vertices):,} nodes, {len(edges):,} edges",
        "style": colours(":root") + STYLE + own_file("graph.css"),
        "marker": MARKER,
        "data": b64encode(zlib.compress(data.encode(), 9)).decode(),
        "script": own_file("graph.js"),
    }
    # All at once, so that what is put in is not searched again.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], own_file("graph.html"))


def framed(html: str, net: Net) -> str:
    """The page inside a notebook's cell: it runs its own script and can reach nothing of the notebook."""
    height = min(640, 160 + 70 * len(net.scopes[0].items))
    style = f"width:100%;height:{height}px;border:1px solid #8884;border-radius:6px"
    return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(html)}"></iframe>'
