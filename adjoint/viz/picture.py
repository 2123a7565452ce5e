"""Cards for vertices and boxes, and where they go. What draws (svg.py, html.py) only turns this into its own language.

A box is laid out by itself: its items, and a port for each tensor that enters or leaves it. So boxes nest, and the page
can open one without laying out the others again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .collect import Edge, Vertex, count_text, shape_text
from .layout import Point, layered
from .scopes import Scope, parameters_in

# An item of a box: a vertex, an inner box, or the port of a vertex that is outside (`in`) or read outside (`out`).
Key = tuple[str, int]

CHAR = 0.605  # the width of a letter of a monospaced font, in units of its size
TITLE, LINE, TAG = 13.0, 12.0, 10.5
PAD, HEAD, MARGIN = 12.0, 30.0, 16.0
WIDEST = 34  # letters on a card


@dataclass(frozen=True)
class Card:
    """The text on a vertex or a closed box, and its size."""

    kind: str  # leaf, parameter, data, op, box
    title: str
    side: str  # at the right of the title
    line: str
    tag: str
    alert: bool  # whether the tag is a warning
    struck: bool  # whether what the tag names was freed
    result: bool
    width: float
    height: float


@dataclass
class Frame:
    """A box from inside: what is where, and which way the edges go."""

    places: dict[Key, tuple[float, float, float, float, int]]  # centre, size, layer
    wires: list[tuple[Key, Key, int, bool, list[Point]]]  # from, to, the vertex whose tensor it carries, gradient or not, way
    width: float
    height: float

    @property
    def top(self) -> float:
        """The space above, for the heading of the box. Where edges enter, they do so at the border, and have their own space."""
        return 0.0 if any(key[0] == "in" for key in self.places) else HEAD

    @property
    def bottom(self) -> float:
        return 0.0 if any(key[0] == "out" for key in self.places) else MARGIN


@dataclass
class Net:
    """The edges of each box, by its number, and the boxes by number."""

    scopes: list[Scope]
    number: dict[int, int]  # of a box, by id
    parent: list[int]
    home: list[int]  # the box of each vertex
    wires: list[dict[tuple[Key, Key, int, int], bool]] = field(default_factory=list)


def clipped(text: str, length: int = WIDEST) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def width_of(text: str, size: float) -> float:
    return len(text) * CHAR * size


def card_of(vertex: Vertex, inside: bool = False) -> Card:
    """What is written on a vertex: its name, its operation, its value or shape, what it saves.

    Inside the box of its module a parameter needs only the last part of its name.
    """
    shape = shape_text(vertex.shape)
    kind = vertex.dtype if vertex.dtype not in ("", "float32") else ""
    line = vertex.value or " ".join(filter(None, (shape, kind)))
    title = vertex.name.rpartition(".")[2] if inside and vertex.kind == "parameter" else vertex.name
    title = title or vertex.op or vertex.kind
    side = "" if title in (vertex.op, vertex.kind) else vertex.op
    stale = next((saved.stale for saved in vertex.saved if saved.stale), "")
    kept = dict.fromkeys(
        saved.name if saved.shape is not None else f"{saved.name} = {saved.value}" for saved in vertex.saved if saved.input
    )
    tag = re.sub(r" by .*?:\d+", "", stale) or ("saves " + ", ".join(kept) if kept else "")
    if vertex.freed:
        tag = "freed"
    if vertex.cut:
        tag = f"✂ {vertex.cut}"
    return sized(vertex.kind, title, side, line, tag, alert=bool(stale), struck=bool(vertex.freed), result=vertex.result)


def box_card(scope: Scope, vertices: Sequence[Vertex]) -> Card:
    count = sum(1 for _ in scope.vertices())
    numbers = parameters_in(scope, vertices)
    title = f"{scope.label or scope.name} × {scope.times}" if scope.times else scope.name
    side = scope.name if scope.times else scope.label if scope.label != scope.name else ""
    line = f"{count:,} nodes" + (f" · {count_text(numbers)} parameters" if numbers else "")
    return sized("box", title, side if side != title else "", line, "")


def sized(
    kind: str, title: str, side: str, line: str, tag: str, *, alert: bool = False, struck: bool = False, result: bool = False
) -> Card:
    title, side, line, tag = clipped(title, 28), clipped(side, 20), clipped(line), clipped(tag, 40)
    head = width_of(title, TITLE) + (width_of(side, TAG) + 14 if side else 0)
    width = max(56.0, head, width_of(line, LINE), width_of(tag, TAG)) + 2 * PAD
    height = 2 * 7.0 + 17 + (17 if line else 0) + (15 if tag else 0)
    return Card(kind, title, side, line, tag, alert, struck, result, round(width), height)


def network(root: Scope, vertices: Sequence[Vertex], edges: Sequence[Edge]) -> Net:
    """Sort the edges into the boxes that they pass, from the innermost at the source to the innermost at the target."""
    scopes = list(root.scopes())
    number = {id(scope): i for i, scope in enumerate(scopes)}
    parent = [-1] * len(scopes)
    home = [0] * len(vertices)
    for i, scope in enumerate(scopes):
        for item in scope.items:
            if isinstance(item, int):
                home[item] = i
            else:
                parent[number[id(item)]] = i
    net = Net(scopes, number, parent, home, [{} for _ in scopes])

    def way_out(box: int) -> list[int]:
        found = []
        while box >= 0:
            found.append(box)
            box = parent[box]
        return found[::-1]

    ways: dict[int, list[int]] = {}
    for index, edge in enumerate(edges):
        here = ways.setdefault(home[edge.source], way_out(home[edge.source]))
        there = ways.setdefault(home[edge.target], way_out(home[edge.target]))
        depth = next((i for i, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), min(len(here), len(there)))
        u, v = edge.source, edge.target

        def within(way: list[int], depth: int, vertex: int) -> Key:
            return ("box", way[depth]) if depth < len(way) else ("vertex", vertex)

        for box, source, target in (
            (here[depth - 1], within(here, depth, u), within(there, depth, v)),
            *((here[k], within(here, k + 1, u), ("out", u)) for k in range(depth, len(here))),
            *((there[k], ("in", u), within(there, k + 1, v)) for k in range(depth, len(there))),
        ):
            key = (source, target, u, index if target[0] == "vertex" else -1)
            net.wires[box][key] = net.wires[box].get(key, False) or edge.grad
    return net


def lay_out(net: Net, box: int, size_of: Callable[[Key], tuple[float, float]]) -> Frame:
    """Lay out what is inside one box."""
    scope, wires = net.scopes[box], net.wires[box]
    keys: dict[Key, int] = {}
    for item in scope.items:
        keys[("vertex", item) if isinstance(item, int) else ("box", net.number[id(item)])] = len(keys)
    for source, target, _, _ in wires:
        keys.setdefault(source, len(keys))
        keys.setdefault(target, len(keys))
    sizes = [(10.0, 0.0) if key[0] in ("in", "out") else size_of(key) for key in keys]
    found = layered(
        sizes,
        [(keys[source], keys[target]) for source, target, _, _ in wires],
        layer_gap=38,
        gap=26,
        line_gap=14,
        port_gap=16,
        first=[i for key, i in keys.items() if key[0] == "in"],
        last=[i for key, i in keys.items() if key[0] == "out"],
    )
    places = {key: (found.x[i], found.y[i], *sizes[i], found.layer[i]) for key, i in keys.items()}
    ways = [
        (source, target, tensor, grad, route)
        for ((source, target, tensor, _), grad), route in zip(wires.items(), found.routes, strict=True)
    ]
    return Frame(places, ways, found.width, found.height)


# ---- a picture that stands still ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Placed:
    """A card, or an open box, at its place on the picture (left and top)."""

    key: Key
    x: float
    y: float
    width: float
    height: float
    open: bool = False
    heading: float = 0.0  # where the heading of an open box begins


@dataclass
class Still:
    placed: list[Placed]
    wires: list[tuple[list[Point], bool, bool]]  # the way, whether a gradient flows along it, whether it ends at a card
    width: float
    height: float


def still(net: Net, cards: dict[Key, Card], opened: set[int]) -> Still:
    """The picture with the given boxes open, the outermost one among them."""
    frames: dict[int, Frame] = {}

    def size_of(key: Key) -> tuple[float, float]:
        if key[0] == "box" and key[1] in frames:
            frame, title = frames[key[1]], heading(net.scopes[key[1]])
            return max(frame.width, width_of(title, LINE) + 20) + 2 * MARGIN, frame.top + frame.height + frame.bottom
        return cards[key].width, cards[key].height

    for box in reversed(range(len(net.scopes))):  # inner ones have higher numbers
        if box in opened:
            frames[box] = lay_out(net, box, size_of)

    result = Still([], [], frames[0].width, frames[0].height)
    waiting = [(0, 0.0, 0.0)]
    while waiting:
        box, left, top = waiting.pop()
        frame = frames[box]
        for key, (x, y, width, height, _) in frame.places.items():
            if key[0] not in ("in", "out"):
                inside = key[0] == "box" and key[1] in frames
                space = (width - frames[key[1]].width) / 2 if inside else 0.0
                begin = title_place(net.scopes[key[1]], frames[key[1]], width, space) if inside else 0.0
                result.placed.append(Placed(key, left + x - width / 2, top + y - height / 2, width, height, inside, begin))
                if inside:
                    waiting.append((key[1], left + x - width / 2 + space, top + y - height / 2 + frames[key[1]].top))
        for source, target, tensor, grad, route in frame.wires:
            points = [(left + x, top + y) for x, y in route]
            starts = abs(route[0][1] - (frame.places[source][1] + frame.places[source][3] / 2)) < 0.01
            if starts:
                points = meet(points, frame, frames, source, ("out", tensor), left)
            points = meet(points[::-1], frame, frames, target, ("in", tensor), left)[::-1]
            result.wires.append((points, grad, target[0] == "vertex" or (target[0] == "box" and target[1] not in frames)))
    return result


def meet(points: list[Point], frame: Frame, frames: dict[int, Frame], at: Key, port: Key, left: float) -> list[Point]:
    """Move the first points of a way to where it goes on inside an open box."""
    if at[0] != "box" or at[1] not in frames:
        return points
    x, _, width, _, _ = frame.places[at]
    inner = frames[at[1]]
    place = inner.places[port]
    end = left + x - width / 2 + (width - inner.width) / 2 + place[0]
    straight = len(points) > 2 and points[1][0] == points[0][0]  # down to where its layer ends
    return [(end, points[0][1]), *([(end, points[1][1])] if straight else []), *points[1 + straight :]]


def title_place(scope: Scope, frame: Frame, width: float, space: float) -> float:
    """Where the heading of an open box hinders no edge that enters: at the left, or else at the right."""
    length = width_of(heading(scope), LINE)
    left, right = MARGIN - 4, width - MARGIN + 4 - length
    ports = [space + place[0] for key, place in frame.places.items() if key[0] == "in"]
    crowded = [sum(begin - 6 < x < begin + length + 6 for x in ports) for begin in (left, right)]
    return right if crowded[1] < crowded[0] else left


def heading(scope: Scope) -> str:
    if scope.times:
        return f"{scope.label or scope.name} × {scope.times}"
    return f"{scope.name}  {scope.label}" if scope.label and scope.label != scope.name else scope.name


def opened_up_to(net: Net, depth: int | None, limit: int) -> set[int]:
    """The boxes that a still picture shows open: all down to `depth`, or, with None, as many as keep it readable."""
    level = [0] * len(net.scopes)
    for box in range(1, len(net.scopes)):
        level[box] = level[net.parent[box]] + 1
    if depth is not None:
        return {box for box in range(len(net.scopes)) if level[box] <= depth}
    opened, shown = {0}, len(net.scopes[0].items)
    for box in sorted(range(1, len(net.scopes)), key=lambda box: (level[box], len(net.scopes[box].items), box)):
        more = len(net.scopes[box].items) - 1
        if net.parent[box] in opened and not net.scopes[box].times and shown + more <= limit:
            opened.add(box)
            shown += more
    return opened
