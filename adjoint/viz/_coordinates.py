"""Coordinates within the layers of a layered layout, after Brandes and Köpf: mostly straight lines, in linear time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .layout import Net


def coordinates(layers: list[list[int]], net: Net, widths: list[float], gaps: list[float]) -> dict[int, float]:
    """Place the vertices of each layer from left to right: the average of four layouts that align with neighbours."""
    conflicts = _conflicts(layers, net)
    above, below = _main(layers, net)
    found = []
    for downward in (True, False):
        for leftward in (True, False):
            rows = layers if downward else layers[::-1]
            if not leftward:
                rows = [row[::-1] for row in rows]
            place = {v: i for row in rows for i, v in enumerate(row)}
            roots = _aligned(rows, above if downward else below, place, conflicts)
            at = _compacted(rows, roots, widths, gaps)
            found.append(at if leftward else {v: -value for v, value in at.items()})
    spans = [(min(v - widths[k] / 2 for k, v in at.items()), max(v + widths[k] / 2 for k, v in at.items())) for at in found]
    narrow = min(range(4), key=lambda i: spans[i][1] - spans[i][0])
    shifts = [spans[narrow][0] - spans[i][0] if i % 2 == 0 else spans[narrow][1] - spans[i][1] for i in range(4)]
    result = {}
    for v in found[0]:
        values = sorted(at[v] + shift for at, shift in zip(found, shifts, strict=True))
        result[v] = (values[1] + values[2]) / 2
    return result


def _main(layers: list[list[int]], net: Net) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return the neighbours to align with: those on the longest way through a vertex.

    With all of them, a trunk from which branches leave on one side would drift to that side with every branch.
    """
    before: dict[int, int] = {}
    after: dict[int, int] = {}
    for lengths, neighbours, rows in ((before, net.above, layers), (after, net.below, layers[::-1])):
        for row in rows:
            for v in row:
                lengths[v] = (v < net.count) + max(map(lengths.__getitem__, neighbours[v]), default=0)
    main = set()
    for row in layers:
        for v in row:
            # A long edge goes straight on where others part from it.
            targets = [w for w in net.below[v] if w >= net.count] if v >= net.count else []
            targets = targets or net.below[v]
            longest = max(map(after.__getitem__, targets), default=0)
            main |= {(v, w) for w in targets if after[w] == longest}
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {v: [] for row in layers for v in row}
    for row in layers:
        for w in row:
            longest = max(map(before.__getitem__, net.above[w]), default=0)
            above[w] = [v for v in net.above[w] if before[v] == longest and (v, w) in main]
            for v in above[w]:
                below[v].append(w)
    return above, below


def _conflicts(layers: list[list[int]], net: Net) -> set[tuple[int, int]]:
    """Return the segments that cross one inside a long edge: those give way, so that long edges stay straight."""
    conflicts, position, count = set(), net.position, net.count
    for upper, lower in pairwise(layers):
        inner = [
            (position[v], position[w]) for w in lower if w >= count for v in net.above[w] if v >= count
        ]  # in the order of the lower layer
        left, scanned = -1, 0
        ends = [*inner, (len(upper), len(lower) - 1)]
        for right, last in ends:
            while scanned <= last:
                w = lower[scanned]
                for v in net.above[w]:
                    if (position[v] < left or position[v] > right) and not (v >= count and w >= count):
                        conflicts.add((v, w))
                scanned += 1
            left = right
    return conflicts


def _aligned(
    rows: list[list[int]], neighbours: dict[int, list[int]], place: dict[int, int], conflicts: set[tuple[int, int]]
) -> dict[int, int]:
    """Join vertices with a median neighbour in the row before into blocks; return the root of each vertex's block."""
    root = {v: v for row in rows for v in row}
    taken: set[int] = set()
    for row in rows:
        latest = -1
        for v in row:
            near = neighbours[v]
            if not near:
                continue
            if len(near) > 1:
                near = sorted(near, key=place.__getitem__)
            for middle in {(len(near) - 1) // 2: None, len(near) // 2: None}:
                w = near[middle]
                if root[v] == v and latest < place[w] and w not in taken and not ((v, w) in conflicts or (w, v) in conflicts):
                    root[v] = root[w]
                    taken.add(w)
                    latest = place[w]
    return root


def _compacted(rows: list[list[int]], root: dict[int, int], widths: list[float], gaps: list[float]) -> dict[int, float]:
    """Place blocks as far left as their neighbours allow, then each as far right as it can go without pushing."""
    after: dict[int, dict[int, float]] = {r: {} for r in root.values()}
    waiting = dict.fromkeys(after, 0)
    for row in rows:
        for v, w in pairwise(row):
            distance = (widths[v] + widths[w] + gaps[v] + gaps[w]) / 2
            mine = after[root[v]]
            if root[w] not in mine:
                waiting[root[w]] += 1
                mine[root[w]] = distance
            elif mine[root[w]] < distance:
                mine[root[w]] = distance
    order = [block for block, sources in waiting.items() if not sources]
    at = dict.fromkeys(after, 0.0)
    for block in order:  # grows while it is read
        here = at[block]
        for other, distance in after[block].items():
            at[other] = max(at[other], here + distance)
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    for block in reversed(order):
        if after[block]:
            at[block] = max(at[block], min(at[other] - distance for other, distance in after[block].items()))
    return {v: at[r] for v, r in root.items()}
