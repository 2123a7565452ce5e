"""The order within the layers of a layered layout: few edges cross.

Layers are sorted by the medians or the means of their neighbours' places, down and up in turn; neighbours are exchanged
where that helps, and small graphs are improved further by trying every place for every vertex, from several starts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .layout import Net

# Sweeps over the layers, as many as cost about a second; each takes about 2 µs per vertex and edge.
_SWEEPS, _SWEPT = 24, 200_000
# Trying every place for every vertex is quadratic in a layer, and worth it for pictures that a reader can take in.
_SIFTED = 1_500
_STARTS = 12  # orders to begin with, for the smallest graphs


def order(layers: list[list[int]], net: Net) -> int:
    """Order each layer in place so that few edges cross; return how many do."""
    size = net.size  # of the whole, for all parts of it have to share the time
    sweeps = max(3, min(_SWEEPS, _SWEPT // max(1, size)))
    starts = max(1, min(_STARTS, _SIFTED * _STARTS // (2 * size)))
    random = Random(0)  # always the same numbers: only to begin from orders that have nothing to do with each other
    best: tuple[int, list[list[int]]] | None = None
    for attempt in range(starts):
        current = _walked(layers, net, down=attempt % 2 == 0)
        if attempt > 1:
            for layer in current:
                random.shuffle(layer)
        _number(current, net)
        fewest = _improve(current, net, sweeps, sift=size <= _SIFTED)
        if best is None or fewest < best[0]:
            best = (fewest, current)
        if not fewest:
            break
    assert best is not None
    layers[:] = best[1]
    _centre(layers, net)
    _number(layers, net)
    return best[0]


def _centre(layers: list[list[int]], net: Net) -> None:
    """Where neighbours are read by the same vertex only, put sources on both sides of what comes from above.

    So the trunk runs through the middle, with parameters left and right of it. It changes no crossing: sources have no edges above.
    """
    for layer in layers:
        begin = 0
        while begin < len(layer):
            readers = set(net.below[layer[begin]])
            end = begin + 1
            while end < len(layer) and len(readers) == 1 and set(net.below[layer[end]]) == readers:
                end += 1
            sources = [v for v in layer[begin:end] if not net.above[v]]
            others = [v for v in layer[begin:end] if net.above[v]]
            if others:
                half = len(sources) // 2
                layer[begin:end] = [*sources[:half], *others, *sources[half:]]
            begin = end


def _improve(current: list[list[int]], net: Net, sweeps: int, *, sift: bool) -> int:
    """Sweep up and down while that helps; leave the best order that was met."""
    fewest, since = _crossings(current, net), 0
    kept = [list(layer) for layer in current]
    for sweep in range(sweeps):
        if not fewest or since > 5:
            break
        _sweep(current, net, down=sweep % 2 == 0, key=_median if sweep % 4 < 2 else _mean)
        _swaps(current, net, sideways=sweep % 2 == 1)
        if sift and sweep % 4 == 3:
            _sift(current, net)
        found = _crossings(current, net)
        since += 1
        if found < fewest:
            fewest, since, kept = found, 0, [list(layer) for layer in current]
    current[:] = kept
    _number(current, net)
    while sift and fewest:
        _sift(current, net)
        found = _crossings(current, net)
        if found >= fewest:
            break
        fewest = found
    return fewest


def _number(layers: list[list[int]], net: Net) -> None:
    position = net.position
    for layer in layers:
        for place, v in enumerate(layer):
            position[v] = place


def _walked(layers: list[list[int]], net: Net, *, down: bool) -> list[list[int]]:
    """Order the layers as a depth-first walk meets their vertices, from the first layer on or from the last."""
    nexts, others = (net.below, net.above) if down else (net.above, net.below)
    result: list[list[int]] = [[] for _ in layers]
    highest = net.layer[layers[0][0]]
    seen: set[int] = set()
    for layer in layers if down else layers[::-1]:
        for start in layer:
            if start in seen:
                continue
            stack = [start]
            seen.add(start)
            while stack:
                v = stack.pop()
                result[net.layer[v] - highest].append(v)
                for w in (*others[v][::-1], *nexts[v][::-1]):
                    if w not in seen:
                        seen.add(w)
                        stack.append(w)
    return result


def _median(places: list[int]) -> float:
    """The middle of sorted places; of an even number, the point between the middle two where the sides balance."""
    middle = len(places) // 2
    if len(places) % 2:
        return float(places[middle])
    if len(places) == 2:
        return (places[0] + places[1]) / 2
    left, right = places[middle - 1] - places[0], places[-1] - places[middle]
    if not left + right:
        return (places[middle - 1] + places[middle]) / 2
    return (places[middle - 1] * right + places[middle] * left) / (left + right)


def _mean(places: list[int]) -> float:
    return sum(places) / len(places)


def _sweep(layers: list[list[int]], net: Net, *, down: bool, key: Callable[[list[int]], float]) -> None:
    """Order layer after layer by where the neighbours in the one before stand."""
    position, neighbours = net.position, net.above if down else net.below
    for layer in layers[1:] if down else layers[-2::-1]:
        wanted: dict[int, float] = {}
        for place, v in enumerate(layer):
            near = neighbours[v]
            if not near:
                wanted[v] = float(place)
            elif len(near) == 1:
                wanted[v] = float(position[near[0]])
            else:
                wanted[v] = key(sorted(map(position.__getitem__, near)))
        layer.sort(key=wanted.__getitem__)
        for place, v in enumerate(layer):
            position[v] = place


def _crossings(layers: list[list[int]], net: Net) -> int:
    position, below = net.position, net.below
    total = 0
    for layer in layers[:-1]:
        seen: list[int] = []
        for v in layer:
            for place in sorted(map(position.__getitem__, below[v])):
                total += len(seen) - bisect_right(seen, place)
                insort(seen, place)
    return total


def _between(left: list[int], right: list[int]) -> int:
    """Count the crossings of the edges of a vertex with those of its neighbour to the right; places are sorted."""
    if not left or not right or left[-1] <= right[0]:
        return 0
    return sum(bisect_left(right, place) for place in left)


def _swaps(layers: list[list[int]], net: Net, *, sideways: bool) -> None:
    """Exchange neighbours while that helps; `sideways` also where it changes nothing, which opens ways out."""
    position = net.position
    for layer in layers:
        up = [sorted(map(position.__getitem__, net.above[v])) for v in layer]
        down = [sorted(map(position.__getitem__, net.below[v])) for v in layer]
        changed, rounds = True, 4
        while changed and rounds:
            changed, rounds = False, rounds - 1
            for i in range(len(layer) - 1):
                j = i + 1
                now = _between(up[i], up[j]) + _between(down[i], down[j])
                if now and _between(up[j], up[i]) + _between(down[j], down[i]) < now + (sideways and rounds == 3):
                    layer[i], layer[j] = layer[j], layer[i]
                    up[i], up[j] = up[j], up[i]
                    down[i], down[j] = down[j], down[i]
                    changed = True
        for place, v in enumerate(layer):
            position[v] = place


def _sift(layers: list[list[int]], net: Net) -> None:
    """Take each vertex out of its layer and put it where it causes the fewest crossings."""
    position = net.position
    for layer in layers:
        up = {v: sorted(map(position.__getitem__, net.above[v])) for v in layer}
        down = {v: sorted(map(position.__getitem__, net.below[v])) for v in layer}
        for v in sorted(layer, key=lambda v: (-len(up[v]) - len(down[v]), v)):
            layer.remove(v)
            cost = best = 0
            where = 0
            # How the count changes on the way from the left end to the right; ties stay as far left as they were.
            for place, w in enumerate(layer):
                cost += _between(up[w], up[v]) + _between(down[w], down[v])
                cost -= _between(up[v], up[w]) + _between(down[v], down[w])
                if cost < best or (cost == best and abs(place + 1 - position[v]) < abs(where - position[v])):
                    best, where = cost, place + 1
            layer.insert(where, v)
        for place, v in enumerate(layer):
            position[v] = place
