"""The picture of an autograd graph: every node and edge of it is one of the graph, and the other way round."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from collections import Counter
from inspect import getclosurevars
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings

import adjoint as ad
from adjoint import nn
from adjoint.viz.collect import _Walk
from adjoint.viz.graphs import Graph
from adjoint.viz.picture import card_of, network, still
from benchmarks import models
from tests.programs import Machine, gradients, programs, pure, views, writes

F = nn.functional


def walked(*roots: Any) -> tuple[set[int], Counter[tuple[int, int]], list[Any]]:
    """The graph as the public API shows it: ids of nodes (of the tensors, for leaves) and edges from input to reader."""
    nodes: dict[int, Any] = {}
    edges: Counter[tuple[int, int]] = Counter()
    kept = []

    def key(node: Any) -> int:
        return id(node.variable) if hasattr(node, "variable") else id(node)

    waiting = [ad.autograd.graph.get_gradient_edge(root).node for root in roots]
    while waiting:
        node = waiting.pop()
        if key(node) in nodes:
            continue
        kept.append(node)
        nodes[key(node)] = node
        for source, _ in node.next_functions:
            if source is not None:
                kept.append(source)
                edges[key(source), key(node)] += 1
                waiting.append(source)
    return set(nodes), edges, kept


def check(*roots: Any, picture: Graph | None = None) -> Graph:
    """Compare a picture with the graph behind `roots`, down to what is drawn."""
    nodes, edges, _kept = walked(*roots)
    walk = _Walk({})
    for root in roots:
        walk.start(root)
    walk.finish()
    ids = {vertex.index: id(thing) for vertex, thing in zip(walk.vertices, walk.things, strict=True)}
    assert {ids[v.index] for v in walk.vertices if v.kind != "data"} == nodes
    assert len(ids) == len(set(ids.values()))
    assert Counter((ids[e.source], ids[e.target]) for e in walk.edges if e.grad) == edges
    assert all(e.grad == (walk.vertices[e.source].kind != "data") for e in walk.edges)

    graph = picture or ad.viz.graph(*roots)
    kinds = Counter((vertex.kind, vertex.grad_fn) for vertex in walk.vertices)
    assert Counter((vertex.kind, vertex.grad_fn) for vertex in graph.vertices) == kinds
    assert len(graph.edges) == len(walk.edges)
    check_drawn(graph)
    return graph


def check_drawn(graph: Graph) -> None:
    net = network(graph.root, graph.vertices, graph.edges)
    assert sorted(graph.root.vertices()) == list(range(len(graph.vertices)))  # each in one box
    # All open: one card per vertex, one arrow head per edge.
    drawn = still(net, {("vertex", v.index): card_of(v) for v in graph.vertices}, set(range(len(net.scopes))))
    assert sorted(place.key[1] for place in drawn.placed if not place.open) == list(range(len(graph.vertices)))
    assert sum(ends for _, _, ends in drawn.wires) == len(graph.edges)
    # The page: the same, and each edge can be followed through the boxes.
    data = page_data(graph.html())
    assert sorted(item[1] for frame in data["frames"] for item in frame["items"] if item[0] == 0) == list(range(len(graph.vertices)))
    ends: Counter[tuple[int, int]] = Counter()
    for frame in data["frames"]:
        for _, target, tensor, _, *_ in frame["wires"]:
            if frame["items"][target][0] == 0:
                ends[tensor, frame["items"][target][1]] += 1
    assert ends == Counter((edge.source, edge.target) for edge in graph.edges)


def page_data(html: str) -> Any:
    found = re.search(r'id="data">([^<]*)<', html)
    assert found is not None
    return json.loads(zlib.decompress(b64decode(found[1])))


# ---- the graph, all of it, and nothing else ----------------------------------------------------------------------------------------


@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(pure, views, writes, gradients, size=18))
def test_random_programs(program: list[tuple[Any, ...]]) -> None:
    def grad(output: Any, inputs: Any, retain_graph: bool, create_graph: bool) -> Any:
        return ad.autograd.grad(output, inputs, retain_graph=retain_graph, create_graph=create_graph, allow_unused=True)

    machine = Machine(
        tensor=lambda data, requires_grad: ad.tensor(data, requires_grad=requires_grad),
        grad=grad,
        no_grad=ad.no_grad,
        array=lambda x: x.detach().numpy().copy(),
    ).run(program)
    roots = [x for x in machine.tensors if x.requires_grad and ad.autograd.graph.get_gradient_edge(x).node is not None][-2:]
    check(*roots)


@pytest.mark.parametrize(
    "build",
    [models.multilayer_perceptron, models.convolutional_network, models.language_model, models.long_short_term_memory],
    ids=["MLP", "CNN", "GPT", "LSTM"],
)
def test_networks_of_the_benchmarks(build: Any) -> None:
    loss_of = getclosurevars(build(ad)).nonlocals["loss_of"]
    variables = getclosurevars(loss_of).nonlocals
    model = variables["model"]
    loss = loss_of()
    graph = check(loss, picture=ad.viz.graph(loss, params=model))
    names = {vertex.name for vertex in graph.vertices if vertex.kind == "parameter"}
    assert names == {name for name, _ in model.named_parameters()}
    if not isinstance(model, nn.ModuleDict):
        out = model(variables["x"])
        called = check(out, picture=ad.viz.graph(model, variables["x"]))
        assert {vertex.name for vertex in called.vertices if vertex.kind == "parameter"} == names


# ---- what is known of each node ------------------------------------------------------------------------------------------------------


def vertex(graph: Graph, name: str) -> Any:
    (found,) = [v for v in graph.vertices if name in (v.name, v.op)]
    return found


def test_names_values_lines_and_saved_tensors() -> None:
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    h = x * 3
    loss = h.exp().sum()
    graph = check(loss, picture=ad.viz.graph(loss))
    assert (vertex(graph, "x").kind, vertex(graph, "x").value) == ("leaf", "[1, 2]")
    assert vertex(graph, "h").op == "mul"
    assert vertex(graph, "h").where.startswith("tests/viz/test_graph.py:")
    assert vertex(graph, "h").text == "h = x * 3"
    assert [(s.name, s.value) for s in vertex(graph, "h").saved] == [("other", "3")]
    assert vertex(graph, "h").shape == vertex(graph, "exp").shape == (2,)
    assert [(s.name, s.of) for s in vertex(graph, "exp").saved] == [("result", vertex(graph, "exp").index)]
    assert vertex(graph, "loss").result and vertex(graph, "loss").dtype == "float32"
    assert [v.name for v in ad.viz.graph(loss, params={"weight": x}).vertices if v.kind == "leaf"] == ["weight"]


def test_freed_graphs_can_be_drawn() -> None:
    x = ad.ones(2, requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    graph = check(loss, picture=ad.viz.graph(loss))
    assert vertex(graph, "mul").freed.startswith("tests/viz/test_graph.py:")
    assert vertex(graph, "mul").saved == []
    assert "freed" in graph.svg()


def test_writes_in_place_and_cuts_are_shown() -> None:
    x = ad.ones(2, requires_grad=True)
    h = x.exp()
    fixed = h.detach()
    loss = (h * fixed).sum()
    h.add_(1)
    graph = check(loss, picture=ad.viz.graph(loss))
    (saved,) = [s for s in vertex(graph, "exp").saved]
    assert re.fullmatch(r"changed in place by tests/viz/test_graph.py:\d+: version 1, saved at version 0", saved.stale)
    assert vertex(graph, "fixed").kind == "data"
    assert vertex(graph, "fixed").cut.startswith("detach()")
    assert "changed in place: version 1" in graph.svg()


def test_saved_tensors_are_not_unpacked() -> None:
    def unpack(packed: Any) -> Any:
        raise AssertionError

    x = ad.ones(2, requires_grad=True)
    with ad.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        loss = (x * x).sum()
    graph = check(loss, picture=ad.viz.graph(loss))
    assert {s.value for s in vertex(graph, "mul").saved} == {"packed by saved_tensors_hooks"}


def test_custom_functions_and_several_outputs() -> None:
    class Twice(ad.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: Any) -> Any:
            ctx.save_for_backward(x, factor)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2, None

    x, factor = ad.ones(4, requires_grad=True), ad.full((4,), 2.0)
    first, second = Twice.apply(x, factor).split(2)
    loss = first.sum() + second.sum()
    graph = check(loss, picture=ad.viz.graph(loss))
    assert vertex(graph, "twice").saved[0].of == vertex(graph, "x").index
    assert vertex(graph, "factor").kind == "data"


def test_roots_of_all_kinds() -> None:
    x = ad.ones(2, requires_grad=True)
    y = x * 2
    for graph in (ad.viz.graph(y), ad.viz.graph(y.grad_fn), ad.viz.graph([y]), ad.viz.graph(ad.autograd.graph.get_gradient_edge(y))):
        assert [v.kind for v in graph.vertices] == ["op", "leaf"]
    assert len(ad.viz.graph(x).vertices) == 1
    assert len(ad.viz.graph(y, x * 3).vertices) == 3
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        ad.viz.graph(y.detach())
    with pytest.raises(TypeError, match="not str"):
        ad.viz.graph("y")
    with pytest.raises(TypeError, match="needs a tensor"):
        ad.viz.graph()
    with pytest.raises(TypeError, match="unexpected keyword argument 'parms'"):
        ad.viz.graph(y, parms=None)
    with pytest.raises(TypeError, match="tensors by name, not int"):
        ad.viz.graph(y, params={"x": 3})


# ---- boxes ----------------------------------------------------------------------------------------------------------------------------


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        return x + self.down(self.up(x).relu())


def test_modules_fold_and_blocks_that_repeat_fold_once_more() -> None:
    model = nn.Sequential(nn.Linear(3, 4), *[Block() for _ in range(12)])
    graph = ad.viz.graph(model, ad.ones(2, 3))
    boxes = [(scope.label, scope.name, scope.times) for scope in graph.root.scopes()]
    assert ("Linear", "0", 0) in boxes
    assert ("Block", "1 … 12", 12) in boxes
    assert boxes.count(("Linear", "up", 0)) == 12
    assert "Block × 12" in graph.svg()
    assert "Block × 12" not in re.sub("<text class=.h.*?</text>", "", graph.svg(depth=9))
    check_drawn(graph)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_a_module_called_twice_is_two_boxes() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = Block()

        def forward(self, x: Any) -> Any:
            return self.block(self.block(x))

    graph = ad.viz.graph(Twice(), ad.ones(2, 4))
    assert {"block", "block (call 2)"} <= {scope.name for scope in graph.root.scopes()}
    check_drawn(graph)


def test_parameters_tell_modules() -> None:
    model = nn.Sequential(Block(), Block())
    loss = model(ad.ones(2, 4)).sum()
    names = [scope.name for scope in ad.viz.graph(loss, params=model).root.scopes()]
    assert [name for name in names if name in ("0", "1")] == ["0", "1"]
    assert names.count("up") == 2


def test_loops_fold() -> None:
    x = ad.ones(3, requires_grad=True)
    y = x
    for _ in range(50):
        y = y.sin() * 2
    graph = check(y)
    assert [(scope.label, scope.times) for scope in graph.root.scopes() if scope.times] == [("loop", 50)]


def test_hooks_are_removed_when_the_module_fails() -> None:
    model = nn.Sequential(nn.Linear(2, 2))
    with pytest.raises(RuntimeError):
        ad.viz.graph(model, ad.ones(3))
    assert not model[0]._forward_hooks


# ---- as text -----------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def graph() -> Graph:
    weight = ad.tensor([[1.0, 2.0]], requires_grad=True)
    picture: Graph = ad.viz.graph((weight * 2).sum(), params={'<b>"&': weight})
    return picture


def test_svg_is_well_formed_and_escaped(graph: Graph) -> None:
    root = ElementTree.fromstring(graph.svg())
    space = "{http://www.w3.org/2000/svg}"
    assert root.find(f"{space}title").text == "Autograd graph"
    assert root.find(f"{space}desc").text == graph.description
    assert "prefers-color-scheme:dark" in graph.svg()
    assert "var(" not in graph.svg()  # which converters to PNG, and drawing programs, do not know
    titles = [title.text for title in root.iter(f"{space}title")]
    assert any(title is not None and title.startswith('<b>"&: leaf') for title in titles)


def test_the_page_fetches_nothing_and_escapes(graph: Graph) -> None:
    html = graph.html()
    assert not re.search(r"(?:src|href)\s*=|@import|https?://(?!www\.w3\.org)|url\((?!#)", html)
    assert '<b>"' not in html
    assert graph._repr_html_().startswith("<iframe sandbox=")
    assert graph._repr_svg_() == graph.svg()


def test_dot(graph: Graph) -> None:
    text = graph.dot()
    assert text.count("->") == len(graph.edges)
    assert text.count("[label=") == len(graph.vertices)
    assert r'"<b>\"&\n[[1, 2]]"' in text


def test_save(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for ending in ("svg", "html", "dot"):
        assert graph.save(tmp_path / f"g.{ending}").read_text(encoding="utf-8") == getattr(graph, ending)()
    with pytest.raises(ValueError, match=r"as .svg, .html, .dot or .png, not as 'g.gif'"):
        graph.save(tmp_path / "g.gif")
    monkeypatch.setitem(__import__("sys").modules, "cairosvg", None)
    with pytest.raises(ImportError, match="pip install cairosvg"):
        graph.save(str(tmp_path / "g.png"))
    assert not (tmp_path / "g.png").exists()


def test_show_opens_the_page(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    import webbrowser

    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    graph.show()
    path = Path(opened[0].removeprefix("file://"))
    assert path.read_text(encoding="utf-8") == graph.html()
    path.unlink()


def test_ten_thousand_nodes_make_a_page_below_two_megabytes() -> None:
    x = ad.ones(3, requires_grad=True)
    y = z = x
    for i in range(5000):
        y, z = (y * z if i % 3 else y + z), y.sin()
    graph = ad.viz.graph(y + z)
    assert len(graph.vertices) > 10_000 - 10
    assert len(graph.html()) < 2_000_000
