"""Where the cards of a trace stand: one layout to the right, one downwards for narrow screens."""

from __future__ import annotations

from typing import Any

from .layout import layered

NARROWEST, WIDEST = 124, 190


def size_of(node: dict[str, Any]) -> tuple[int, int]:
    """The width and height of a card in pixels. Letters of names are 7.9 wide, of kinds 6.2."""
    from .telling import on_card

    if node["kind"] == "number":
        return max(44, 8 * len(node["name"]) + 24), 34
    tag = node.get("op") or node["kind"]
    name = 7.9 * len(node["name"]) + (0 if node["kind"] == "parameter" else 6.2 * len(tag) + 12)
    value = on_card(node["value"])
    cells = 11 * min(8, node["shape"][-1]) + 10 if "×" in value and node.get("shape", [9])[0] < 5 else 0
    width = round(min(WIDEST, max(NARROWEST, name + 26, 9.0 * len(value) + cells + 26)))
    return width, 82 if node["requires_grad"] else 56


def place(nodes: list[dict[str, Any]], edges: list[dict[str, Any]]) -> dict[str, Any]:
    """Both layouts; every node gets the size of its card."""
    for node in nodes:
        node["w"], node["h"] = size_of(node)
    pairs = [(edge["from"], edge["to"]) for edge in edges]
    found = {}
    for direction, layer_gap, gap in (("right", 88.0, 38.0), ("down", 58.0, 18.0)):
        made = layered(
            [(node["w"], node["h"]) for node in nodes], pairs, direction=direction,  # type: ignore[arg-type]
            layer_gap=layer_gap, gap=gap, port_gap=16.0, share=False,
        )  # fmt: skip
        found[direction] = {
            "nodes": [[round(x, 1), round(y, 1)] for x, y in zip(made.x, made.y, strict=True)],
            "edges": [[[round(x, 1), round(y, 1)] for x, y in route] for route in made.routes],
            "width": round(made.width, 1),
            "height": round(made.height, 1),
        }
    return found
