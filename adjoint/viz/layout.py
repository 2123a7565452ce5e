"""A layered layout of directed graphs: edges lead from one layer to a later one, in few crossings and mostly straight.

The classical steps, each linear or nearly so: edges that close a cycle are turned round, vertices get layers, long edges
get a place in each layer that they pass, the layers are ordered so that few edges cross, and coordinates are chosen so
that long edges are straight lines (Brandes and Köpf). Edges that leave the same vertex share their way until they part:
one tensor that is read in a hundred places is one line with a hundred branches.

Equal input gives equal output: nothing here depends on hashes, on ids or on time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ._coordinates import coordinates
from ._ordering import order

Point = tuple[float, float]

# A long edge of a deep graph passes thousands of layers. Beyond so many places per vertex it is drawn as one line.
_PLACES = 6


@dataclass(frozen=True)
class Layout:
    """Where everything is: centres of the vertices, their layers, and for each edge the points that it passes."""

    x: list[float]
    y: list[float]
    layer: list[int]
    routes: list[list[Point]]
    width: float
    height: float
    crossings: int


def layered(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    *,
    direction: Literal["down", "right"] = "down",
    layer_gap: float = 48.0,
    gap: float = 24.0,
    line_gap: float = 12.0,
    port_gap: float = 12.0,
    first: Iterable[int] = (),
    last: Iterable[int] = (),
    share: bool = True,
) -> Layout:
    """Lay out the vertices of the given sizes (width, height).

    Between layers there are `layer_gap` units, between neighbours in a layer `gap`, around a line that passes a
    layer `line_gap`, between lines that meet at a vertex at most `port_gap`. The vertices of `first` and `last` come
    before and after all others. Layers lie below each other, or beside each other with `direction="right"`.
    An edge that shares the first part of its way with a shorter one of the same source has only the rest of it as its
    route; with `share=False` each has its own way, and all of it.

    >>> picture = layered([(40, 20)] * 4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    >>> picture.layer, picture.crossings
    ([0, 1, 1, 2], 0)
    """
    if direction == "right":
        turned = layered(
            [(height, width) for width, height in sizes],
            edges,
            layer_gap=layer_gap,
            gap=gap,
            line_gap=line_gap,
            port_gap=port_gap,
            first=first,
            last=last,
            share=share,
        )
        routes = [[(y, x) for x, y in route] for route in turned.routes]
        return Layout(turned.y, turned.x, turned.layer, routes, turned.height, turned.width, turned.crossings)

    count = len(sizes)
    forward = _acyclic(count, edges)
    ranks = _ranks(count, forward, list(first), list(last))
    net = Net(count, ranks, forward, share)
    tops, heights = _rows(sizes, ranks, layer_gap)
    widths = [size[0] for size in sizes] + [0.0] * (len(net.layer) - count)
    gaps = [gap] * count + [line_gap] * (len(net.layer) - count)

    x = [0.0] * len(net.layer)
    offset, crossings = 0.0, 0
    for layers in net.parts():
        crossings += order(layers, net)
        found = coordinates(layers, net, widths, gaps)
        left = min(at - widths[v] / 2 for v, at in found.items())
        right = max(at + widths[v] / 2 for v, at in found.items())
        for v, at in found.items():
            x[v] = at - left + offset
        offset += right - left + 2 * gap

    y = [tops[layer] + heights[layer] / 2 for layer in ranks]
    routes = _routes(edges, forward, net, sizes, x, y, tops, heights, port_gap)
    total = tops[-1] + heights[-1] if tops else 0.0
    return Layout(x[:count], y, ranks, routes, max(0.0, offset - 2 * gap), total, crossings)


# ---- layers ----------------------------------------------------------------------------------------------------------


def _acyclic(count: int, edges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the edges with those turned round that lead back on the way of a depth-first walk."""
    out: list[list[int]] = [[] for _ in range(count)]
    for index, (source, target) in enumerate(edges):
        if source == target:
            raise ValueError(f"edge {index} leads from vertex {source} to itself")
        out[source].append(index)
    result = list(edges)
    state = bytearray(count)  # 0 not seen, 1 on the way, 2 done
    targets = [0] * count
    for _, target in edges:
        targets[target] += 1
    # From the sources first: what is only a cycle by itself comes after them.
    for start in [v for v in range(count) if not targets[v]] + [v for v in range(count) if targets[v]]:
        if state[start]:
            continue
        state[start] = 1
        way = [(start, iter(out[start]))]
        while way:
            v, rest = way[-1]
            for index in rest:
                target = edges[index][1]
                if state[target] == 1:
                    result[index] = (target, v)
                elif not state[target]:
                    state[target] = 1
                    way.append((target, iter(out[target])))
                    break
            else:
                state[v] = 2
                way.pop()
    return result


def _ranks(count: int, edges: Sequence[tuple[int, int]], first: list[int], last: list[int]) -> list[int]:
    """Give each vertex a layer after those of its sources, such that edges are short."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        above[target].append(source)
        below[source].append(target)
    order, waiting = [v for v in range(count) if not above[v]], [len(sources) for sources in above]
    for v in order:  # grows while it is read
        for target in below[v]:
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    ranks = [0] * count
    for v in order:
        if above[v]:
            ranks[v] = max(map(ranks.__getitem__, above[v])) + 1
    # A vertex with at least as many edges below as above moves down to its readers, one with more above moves up: each
    # move shortens or keeps the sum of lengths. Sources do not count, for they follow: parameters and data stand beside
    # what reads them.
    pull = [sum(1 for w in above[v] if above[w]) - len(below[v]) for v in range(count)]
    for _ in range(4):
        before = list(ranks)
        for v in reversed(order):
            if below[v] and pull[v] <= 0:
                ranks[v] = min(map(ranks.__getitem__, below[v])) - 1
        for v in order:
            if pull[v] > 0:
                ranks[v] = max(map(ranks.__getitem__, above[v])) + 1
        if ranks == before:
            break
    pinned = set(first) | set(last)
    inner = [ranks[v] for v in range(count) if v not in pinned] or [0]
    lowest, highest = min(inner), max(inner)
    for v in first:
        ranks[v] = lowest - 1
    for v in last:
        ranks[v] = highest + 1
    used = {rank: position for position, rank in enumerate(sorted(set(ranks)))}
    return [used[rank] for rank in ranks]


def _rows(sizes: Sequence[tuple[float, float]], ranks: list[int], layer_gap: float) -> tuple[list[float], list[float]]:
    heights = [0.0] * (max(ranks, default=-1) + 1)
    for (_, height), rank in zip(sizes, ranks, strict=True):
        heights[rank] = max(heights[rank], height)
    tops, y = [], 0.0
    for height in heights:
        tops.append(y)
        y += height + layer_gap
    return tops, heights


class Net:
    """The graph with a place in every layer that an edge passes; neighbours are one layer apart."""

    def __init__(self, count: int, ranks: list[int], edges: Sequence[tuple[int, int]], share: bool) -> None:
        self.count = count
        self.layer = list(ranks)
        self.above: list[list[int]] = [[] for _ in range(count)]
        self.below: list[list[int]] = [[] for _ in range(count)]
        # The places that only this edge passes, after the vertex or place where it parts from others of its source.
        self.ways: list[list[int]] = [[] for _ in edges]
        self.begin = [source for source, _ in edges]
        chains: dict[int, list[int]] = {}
        budget = 2_000 + _PLACES * count
        # Short edges first, so that the budget, where it matters, is spent on many of them.
        for index in sorted(range(len(edges)), key=lambda i: ranks[edges[i][1]] - ranks[edges[i][0]]):
            source, target = edges[index]
            span = ranks[target] - ranks[source] - 1
            if span == 0:
                self._connect(source, target)
                continue
            chain = chains.setdefault(source if share else -1 - index, [])
            missing = span - len(chain)
            if missing > budget:
                continue
            budget -= max(0, missing)
            old = len(chain)
            while len(chain) < span:
                place = len(self.layer)
                previous = chain[-1] if chain else source
                self.layer.append(self.layer[previous] + 1)
                self.above.append([])
                self.below.append([])
                self._connect(previous, place)
                chain.append(place)
            self._connect(chain[span - 1], target)
            self.ways[index] = chain[old:]
            self.begin[index] = chain[min(old, span) - 1] if old else source
        self.position = [0] * len(self.layer)
        self.size = len(self.layer) + sum(map(len, self.below))

    def _connect(self, source: int, target: int) -> None:
        self.below[source].append(target)
        self.above[target].append(source)

    def parts(self) -> list[list[list[int]]]:
        """Return the layers of each connected part, in a first order: as a depth-first walk from its top meets them."""
        seen = bytearray(len(self.layer))
        result = []
        for start in range(self.count):
            if seen[start]:
                continue
            part, stack = [], [start]
            seen[start] = 1
            while stack:
                v = stack.pop()
                part.append(v)
                for w in (*self.below[v][::-1], *self.above[v][::-1]):
                    if not seen[w]:
                        seen[w] = 1
                        stack.append(w)
            highest, lowest = min(map(self.layer.__getitem__, part)), max(map(self.layer.__getitem__, part))
            layers: list[list[int]] = [[] for _ in range(highest, lowest + 1)]
            for v in part:
                layers[self.layer[v] - highest].append(v)
            result.append(layers)
        return result


# ---- edges -----------------------------------------------------------------------------------------------------------


def _routes(
    edges: Sequence[tuple[int, int]],
    forward: Sequence[tuple[int, int]],
    net: Net,
    sizes: Sequence[tuple[float, float]],
    x: list[float],
    y: list[float],
    tops: list[float],
    heights: list[float],
    port_gap: float,
) -> list[list[Point]]:
    """Return the points of each edge: from a port of its source, straight through the layers it passes, to a port."""
    leaving: list[list[tuple[float, int]]] = [[] for _ in sizes]
    arriving: list[list[tuple[float, int]]] = [[] for _ in sizes]
    for index, (source, target) in enumerate(forward):
        way = net.ways[index]
        if net.begin[index] == source:
            leaving[source].append((x[way[0]] if way else x[target], index))
        arriving[target].append((x[way[-1]] if way else x[net.begin[index]], index))

    def ports(ends: list[tuple[float, int]], v: int) -> Iterable[tuple[int, float]]:
        """Spread the ends over the middle of the vertex, in the order of where they lead."""
        step = min(port_gap, 0.8 * sizes[v][0] / max(1, len(ends)))
        return ((index, x[v] + (i - (len(ends) - 1) / 2) * step) for i, (_, index) in enumerate(sorted(ends)))

    start = dict(port for v, ends in enumerate(leaving) for port in ports(ends, v))
    end = dict(port for v, ends in enumerate(arriving) for port in ports(ends, v))
    bottoms = [top + height for top, height in zip(tops, heights, strict=True)]
    routes = []
    for index, (source, target) in enumerate(forward):
        begin = net.begin[index]
        if begin == source:
            route = [(start[index], y[source] + sizes[source][1] / 2)]
        else:
            route = [(x[begin], tops[net.layer[begin]])]
        if route[0][1] < bottoms[net.layer[begin]]:
            route.append((route[0][0], bottoms[net.layer[begin]]))
        for place in net.ways[index]:
            route += [(x[place], tops[net.layer[place]]), (x[place], bottoms[net.layer[place]])]
        if y[target] - sizes[target][1] / 2 > tops[net.layer[target]]:
            route.append((end[index], tops[net.layer[target]]))
        route.append((end[index], y[target] - sizes[target][1] / 2))
        routes.append(route if forward[index] == edges[index] else route[::-1])
    return routes
