"""The still picture: SVG that needs nothing else, in light and dark, on paper, and for screen readers.

Shape comes before colour: leaves are round, parameters round with a double line, operations square, data dashed, results
have a heavy frame, boxes that hold more lie on a second sheet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from .collect import Vertex, shape_text
from .layout import Point
from .picture import HEAD, LINE, PAD, TAG, TITLE, Card, Key, Net, Still, heading

EDGE = 20.0  # empty space around a picture

LIGHT = {
    "paper": "#faf9f6", "card": "#ffffff", "sunk": "#f2f0ea", "ink": "#1c2127", "soft": "#59616c", "rule": "#cfcabf", "line": "#8a919b",
    "leaf": "#0a5ea3", "parameter": "#066a4c", "op": "#434b57", "data": "#666d78", "saved": "#84377a", "alert": "#ad4600",
}  # fmt: skip
DARK = {
    "paper": "#14171b", "card": "#1c2026", "sunk": "#1a1e23", "ink": "#e9e7e2", "soft": "#a7afba", "rule": "#3d4550", "line": "#7b8491",
    "leaf": "#74b8f5", "parameter": "#57c79e", "op": "#c0c8d3", "data": "#9aa3af", "saved": "#e3a0d2", "alert": "#ff9f5f",
}  # fmt: skip


PAPER = {**LIGHT, "paper": "#ffffff", "sunk": "#ffffff"}  # to be printed


def colours(selector: str) -> str:
    """The variables of both themes for what `selector` names."""
    light = ";".join(f"--{name}:{value}" for name, value in LIGHT.items())
    dark = ";".join(f"--{name}:{value}" for name, value in DARK.items())
    return (
        f"{selector}{{{light}}}@media (prefers-color-scheme:dark){{{selector}{{{dark}}}}}"
        f"@media print{{{selector}{{{';'.join(f'--{name}:{value}' for name, value in PAPER.items())}}}}}"
    )


MONO = '"JetBrains Mono",ui-monospace,"SF Mono","Cascadia Code",Menlo,Consolas,"DejaVu Sans Mono",monospace'
MARKER = (
    '<marker id="ad-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
    '<path class="tip" d="M0 .8 7.4 4 0 7.2z"/></marker>'
)
# `.ad` is the picture: inside a notebook its rules must not reach anything else.
STYLE = (
    f".ad{{font-family:{MONO};font-variant-ligatures:none}}"
    ".ad .bg{fill:var(--paper)}"
    ".ad .card{fill:var(--card);stroke:var(--op);stroke-width:1.3}"
    ".ad .leaf .card{stroke:var(--leaf)}.ad .parameter .card,.ad .parameter .inner{stroke:var(--parameter)}"
    ".ad .inner{fill:none;stroke-width:1}"
    ".ad .data .card{stroke:var(--data);stroke-dasharray:4 3}.ad .result .card{stroke:var(--ink);stroke-width:2.6}"
    ".ad .box .card{stroke:var(--op)}.ad .sheet{fill:var(--card);stroke:var(--rule)}"
    ".ad .open{fill:var(--sunk);stroke:var(--rule);stroke-width:1.2}"
    f".ad text{{fill:var(--ink);font-size:{LINE:g}px}}.ad .t{{font-weight:650;font-size:{TITLE:g}px}}"
    f".ad .s,.ad .g{{fill:var(--soft);font-size:{TAG:g}px}}.ad .s{{text-anchor:end}}"
    ".ad .leaf .t{fill:var(--leaf)}.ad .parameter .t{fill:var(--parameter)}.ad .g{fill:var(--saved)}"
    ".ad .alert .g{fill:var(--alert);font-weight:650}.ad .struck .g,.ad .data .g{fill:var(--soft)}"
    ".ad .struck .g{text-decoration:line-through}"
    ".ad .h{fill:var(--soft);font-weight:600}.ad .halo{fill:none;stroke:var(--sunk);stroke-width:5px;stroke-linejoin:round}"
    ".ad .w{fill:none;stroke:var(--line);stroke-width:1.4}.ad .w.d{stroke-dasharray:2 3}"
    ".ad .tip{fill:var(--line)}"
)


def themed(style: str) -> str:
    """Rules with the colours themselves in the place of variables: many programs that read SVG know nothing of those."""

    def with_colours(names: dict[str, str]) -> str:
        return re.sub(r"var\(--(\w+)\)", lambda found: names[found[1]], style)

    light, dark, paper = map(with_colours, (LIGHT, DARK, PAPER))
    return f"{light}@media (prefers-color-scheme:dark){{{dark}}}@media print{{{paper}}}"


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def curve(points: Sequence[Point]) -> str:
    """A way as a path: straight where it goes straight on, an S where it moves aside."""
    x, y = points[0]
    text = f"M{number(x)} {number(y)}"
    for next_x, next_y in points[1:]:
        if abs(next_x - x) < 0.05:
            text += f"V{number(next_y)}"
        else:
            middle = number((y + next_y) / 2)
            text += f"C{number(x)} {middle} {number(next_x)} {middle} {number(next_x)} {number(next_y)}"
        x, y = next_x, next_y
    return text


def card_svg(card: Card, x: float, y: float, described: str) -> str:
    """One card with its left upper corner at (x, y)."""
    width, height = card.width, card.height
    round_ = 14 if card.kind in ("leaf", "parameter") else 3
    flags = {"alert": card.alert, "struck": card.struck, "result": card.result}
    classes = " ".join([card.kind, *(name for name, on in flags.items() if on)])
    parts = [f'<g class="{classes}" transform="translate({number(x)} {number(y)})" role="img"><title>{escape(described)}</title>']
    if card.kind == "box":
        parts.append(f'<rect class="sheet" x="5" y="5" width="{number(width)}" height="{number(height)}" rx="3"/>')
    parts.append(f'<rect class="card" width="{number(width)}" height="{number(height)}" rx="{round_}"/>')
    if card.kind == "parameter":
        size = f'width="{number(width - 6)}" height="{number(height - 6)}" rx="{round_ - 3}"'
        parts.append(f'<rect class="inner" x="3" y="3" {size}/>')
    at = 20.0
    parts.append(f'<text class="t" x="{PAD:g}" y="{at:g}">{escape(card.title)}</text>')
    if card.side:
        parts.append(f'<text class="s" x="{number(width - PAD)}" y="{at:g}">{escape(card.side)}</text>')
    if card.line:
        at += 17
        parts.append(f'<text x="{PAD:g}" y="{at:g}">{escape(card.line)}</text>')
    if card.tag:
        at += 15
        parts.append(f'<text class="g" x="{PAD:g}" y="{at:g}">{escape(card.tag)}</text>')
    return "".join(parts) + "</g>"


def described(vertex: Vertex) -> str:
    """What a screen reader says, and what shows when the pointer rests: all that is known, line by line."""
    kinds = {"op": "operation", "leaf": "leaf", "parameter": "parameter", "data": "data, no gradient"}
    lines = [f"{vertex.name or vertex.op or vertex.kind}: {'result, ' if vertex.result else ''}{kinds[vertex.kind]}"]
    if vertex.grad_fn:
        lines.append(f"grad_fn {vertex.grad_fn}")
    if vertex.shape is not None:
        lines.append(f"{vertex.dtype} {shape_text(vertex.shape)}")
    if vertex.value:
        lines.append(f"value {vertex.value}")
    if vertex.where:
        lines.append(f"{vertex.where}  {vertex.text}".rstrip())
    for saved in vertex.saved:
        known = " ".join(filter(None, (saved.dtype, shape_text(saved.shape), saved.value)))
        lines.append(f"saves {saved.name}: {known}" + (f" ({saved.stale})" if saved.stale else ""))
    if vertex.freed:
        lines.append(f"what it had saved was freed by {vertex.freed}")
    if vertex.cut:
        lines.append(f"cut off from its history by {vertex.cut}")
    if vertex.version:
        lines.append(f"written to in place {vertex.version} times")
    return "\n".join(lines)


def draw(picture: Still, net: Net, cards: dict[Key, Card], vertices: Sequence[Vertex], title: str, description: str) -> str:
    """The whole picture as an SVG document."""
    width, height = picture.width + 2 * EDGE + 5, picture.height + 2 * EDGE + 5
    size = f'width="{number(width)}" height="{number(height)}" viewBox="0 0 {number(width)} {number(height)}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ad" {size} role="group" aria-labelledby="ad-title ad-desc">',
        f'<title id="ad-title">{escape(title)}</title><desc id="ad-desc">{escape(description)}</desc>',
        f"<style>{themed(STYLE)}</style>",
        f"<defs>{MARKER}</defs>",
        f'<rect class="bg" width="{number(width)}" height="{number(height)}"/><g transform="translate({EDGE:g} {EDGE:g})">',
    ]
    for place in picture.placed:
        if place.open:
            rect = f'x="{number(place.x)}" y="{number(place.y)}" width="{number(place.width)}" height="{number(place.height)}"'
            parts.append(f'<rect class="open" {rect} rx="6"/>')
    for points, grad, ends in picture.wires:
        tip = ' marker-end="url(#ad-tip)"' if ends else ""
        parts.append(f'<path class="w{"" if grad else " d"}" d="{curve(points)}"{tip}/>')
    for place in picture.placed:
        if place.open:
            label = escape(heading(net.scopes[place.key[1]]))
            at = f'x="{number(place.x + place.heading)}" y="{number(place.y + HEAD - 11)}"'
            parts.append(f'<text class="h halo" {at} aria-hidden="true">{label}</text><text class="h" {at}>{label}</text>')
        else:
            card = cards[place.key]
            text = described(vertices[place.key[1]]) if place.key[0] == "vertex" else f"{card.title} {card.side}\n{card.line}"
            parts.append(card_svg(card, place.x, place.y, text))
    return "".join(parts) + "</g></svg>"
