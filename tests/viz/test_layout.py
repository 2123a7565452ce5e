"""The layered layout: layers follow the edges, nothing overlaps, edges begin and end where they should, few cross."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from adjoint.viz.layout import Layout, layered

Graph = tuple[list[tuple[float, float]], list[tuple[int, int]]]


def random_graph(seed: int, count: int = 40) -> Graph:
    dice = random.Random(seed)
    edges = [(dice.randrange(max(0, i - 9), i), i) for i in range(1, count) for _ in range(dice.choice([0, 1, 1, 2, 3]))]
    return [(dice.choice([20.0, 60.0, 90.0]), dice.choice([14.0, 30.0, 44.0])) for _ in range(count)], edges


def recurrent(steps: int) -> Graph:
    """Two weights (0 and 1) that are read in each step, and a state (2) that is carried on."""
    edges, state, count = [], 2, 3
    for _ in range(steps):
        data, left, right, total, after = range(count, count + 5)
        edges += [(data, left), (0, left), (state, right), (1, right), (left, total), (right, total), (total, after)]
        state, count = after, count + 5
    return [(80.0, 30.0)] * count, edges


def residual(blocks: int) -> Graph:
    edges, state, count = [], 0, 1
    for _ in range(blocks):
        begin = state
        for _ in range(4):
            weight, turned, product = range(count, count + 3)
            edges += [(weight, turned), (turned, product), (state, product)]
            state, count = product, count + 3
        edges += [(begin, count), (state, count)]
        state, count = count, count + 1
    return [(80.0, 30.0)] * count, edges


def check(graph: Graph, picture: Layout) -> None:
    sizes, edges = graph
    assert all(picture.layer[a] < picture.layer[b] for a, b in edges)
    by_layer: dict[int, list[int]] = {}
    for v, layer in enumerate(picture.layer):
        by_layer.setdefault(layer, []).append(v)
        assert picture.x[v] - sizes[v][0] / 2 >= -1e-6
        assert picture.x[v] + sizes[v][0] / 2 <= picture.width + 1e-6
        assert sizes[v][1] / 2 - 1e-6 <= picture.y[v] <= picture.height - sizes[v][1] / 2 + 1e-6
    for members in by_layer.values():
        members.sort(key=lambda v: picture.x[v])
        for v, w in pairwise(members):
            assert picture.x[w] - picture.x[v] >= (sizes[v][0] + sizes[w][0]) / 2 + 24 - 1e-6
    for (a, b), route in zip(edges, picture.routes, strict=True):
        assert route[-1][1] == pytest.approx(picture.y[b] - sizes[b][1] / 2)
        assert abs(route[-1][0] - picture.x[b]) <= sizes[b][0] / 2
        assert [y for _, y in route] == sorted(y for _, y in route)
        assert route[0][1] >= picture.y[a] + sizes[a][1] / 2 - 1e-6


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs(seed: int) -> None:
    graph = random_graph(seed)
    check(graph, layered(*graph))
    assert layered(*graph) == layered(*graph)


@pytest.mark.parametrize("seed", range(10))
def test_routes_avoid_other_vertices(seed: int) -> None:
    sizes, edges = random_graph(seed)
    picture = layered(sizes, edges)
    for (a, b), route in zip(edges, picture.routes, strict=True):
        for (x, y), (x2, y2) in pairwise(route):
            for v, (width, height) in enumerate(sizes):
                if v in (a, b) or y2 <= picture.y[v] - height / 2 or y >= picture.y[v] + height / 2:
                    continue
                # Inside a layer routes are vertical, and beside every vertex that does not belong to them.
                assert x == x2
                assert abs(x - picture.x[v]) > width / 2


@pytest.mark.parametrize("seed", range(10))
def test_own_ways_are_complete(seed: int) -> None:
    sizes, edges = random_graph(seed)
    picture = layered(sizes, edges, share=False)
    for (a, _), route in zip(edges, picture.routes, strict=True):
        assert route[0][1] == pytest.approx(picture.y[a] + sizes[a][1] / 2)
        assert abs(route[0][0] - picture.x[a]) <= sizes[a][0] / 2


def test_graphs_of_networks_have_no_crossings_and_do_not_drift() -> None:
    for graph in (recurrent(10), recurrent(50), residual(7), residual(43)):
        picture = layered(*graph)
        check(graph, picture)
        assert picture.crossings == 0
        assert picture.width < 800


def test_parameters_stand_beside_their_readers() -> None:
    sizes, edges = residual(3)
    picture = layered(sizes, edges)
    read = {target for _, target in edges}
    assert all(picture.layer[b] - picture.layer[a] == 1 for a, b in edges if a not in read and a != 0)


def test_cycles_are_broken() -> None:
    picture = layered([(10, 10)] * 3, [(0, 1), (1, 2), (2, 0)])
    assert picture.layer == [0, 1, 2]
    assert picture.routes[2][0][1] > picture.routes[2][-1][1]  # the one that leads back
    with pytest.raises(ValueError, match="vertex 1 to itself"):
        layered([(10, 10)] * 2, [(0, 1), (1, 1)])


def test_to_the_right() -> None:
    sizes, edges = random_graph(3)
    down, right = layered([(h, w) for w, h in sizes], edges), layered(sizes, edges, direction="right")
    assert (right.x, right.y, right.layer) == (down.y, down.x, down.layer)
    assert (right.width, right.height) == (down.height, down.width)


def test_first_and_last() -> None:
    picture = layered([(10, 10)] * 5, [(0, 1), (1, 2), (3, 2), (1, 4)], first=[3, 0], last=[4])
    assert picture.layer[0] == picture.layer[3] == 0
    assert picture.layer[4] == max(picture.layer) > picture.layer[2]


def test_separate_parts_do_not_mix() -> None:
    picture = layered([(10, 10)] * 4, [(0, 2), (1, 3)])
    assert picture.x[0] == picture.x[2] < picture.x[1] == picture.x[3]
    assert layered([], []).routes == []


def test_ten_thousand_vertices() -> None:
    for graph in (recurrent(2000), residual(770), random_graph(0, 10_000)):
        sizes, edges = graph
        picture = layered(sizes, edges)
        assert all(picture.layer[a] < picture.layer[b] for a, b in edges)
        assert sum(map(len, picture.routes)) < 12 * len(sizes)  # what is drawn grows with the graph, not with its square
