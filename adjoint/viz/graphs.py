"""`ad.viz.graph(...)`: the autograd graph as a picture."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path as FilePath
from typing import Any

from .._site import user_frame
from .._tensor import Tensor
from ..autograd.differentiate import GradientEdge
from ..autograd.node import Node
from ..autograd.views import edge_of
from ..nn.module import Module
from .collect import Edge, Vertex, collect
from .picture import Card, Key, Net, box_card, card_of, network, opened_up_to, still
from .scopes import Path, Scope, by_calls, by_parameters, recording, tree

READABLE = 60  # cards up to which boxes are opened by themselves in a still picture


class Graph:
    """A picture of an autograd graph: `vertices` and `edges` with what is known of them, and the box `root` that holds them.

    In a notebook it shows itself. `svg()`, `html()` and `dot()` give it as text; `save` writes the one that the file's name asks for.
    """

    def __init__(self, vertices: list[Vertex], edges: list[Edge], root: Scope, title: str = "Autograd graph") -> None:
        self.vertices = vertices
        self.edges = edges
        self.root = root
        self.title = title

    @cached_property
    def _net(self) -> Net:
        return network(self.root, self.vertices, self.edges)

    @cached_property
    def _cards(self) -> dict[Key, Card]:
        cards: dict[Key, Card] = {("vertex", v.index): card_of(v, inside=self._net.home[v.index] > 0) for v in self.vertices}
        for number, scope in enumerate(self._net.scopes):
            cards["box", number] = box_card(scope, self.vertices)
        return cards

    @property
    def description(self) -> str:
        """One sentence, for those who cannot see the picture.

        >>> import adjoint as ad
        >>> x = ad.tensor(2.0, requires_grad=True)
        >>> ad.viz.graph(x**2 + 3 * x).description
        '3 operations (add, mul, pow) on 1 leaf. Arrows lead from what was read to what was computed; gradients flow against them.'
        """
        kinds = {kind: [v for v in self.vertices if v.kind == kind] for kind in ("op", "leaf", "parameter", "data")}
        names = sorted({vertex.op for vertex in kinds["op"]})
        shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        parts = [counted(len(kinds[kind]), *words) for kind, *words in WORDS if kinds[kind]]
        return (
            f"{counted(len(kinds['op']), 'operation', 'operations')} ({shown}) on {', '.join(parts) or 'nothing'}. "
            "Arrows lead from what was read to what was computed; gradients flow against them."
        )

    def svg(self, depth: int | None = None) -> str:
        """A picture that stands still. `depth` says how many levels of boxes are open; by itself, as many as stay readable."""
        from .svg import draw

        picture = still(self._net, self._cards, opened_up_to(self._net, depth, READABLE))
        return draw(picture, self._net, self._cards, self.vertices, self.title, self.description)

    def html(self) -> str:
        """A page by itself in which boxes open, with search and everything that is known of a node."""
        from .html import page

        return page(self._net, self._cards, self.vertices, self.edges, self.title, self.description)

    def dot(self) -> str:
        """The graph in Graphviz's language."""
        from .dot import dot

        return dot(self.root, self.vertices, self.edges)

    def save(self, path: Any) -> FilePath:
        """Write the picture; the ending (svg, html, dot or png) says as what. PNG needs the package cairosvg."""
        target = FilePath(path)
        ending = target.suffix.lower()
        if ending == ".png":
            target.write_bytes(png(self.svg()))
        elif ending in (".svg", ".html", ".dot"):
            target.write_text(getattr(self, ending[1:])(), encoding="utf-8")
        else:
            raise ValueError(f"a graph is saved as .svg, .html, .dot or .png, not as '{target.name}'\n  fix: graph.save('graph.svg')")
        return target

    def show(self) -> None:
        """Open the page in the browser; in a notebook, show it there."""
        shell = sys.modules.get("IPython")
        if shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None:
            shell.display.display(self)
            return
        import tempfile
        import webbrowser

        with tempfile.NamedTemporaryFile("w", suffix=".html", delete=False, encoding="utf-8") as file:
            file.write(self.html())
        webbrowser.open(FilePath(file.name).as_uri())

    def _repr_svg_(self) -> str:
        """For frontends that show no pages: printed notebooks, say."""
        return self.svg()

    def _repr_html_(self) -> str:
        """The page in a frame: a notebook prefers it to the picture that stands still, so it shows one of them."""
        from .html import framed

        return framed(self.html(), self._net)

    def __repr__(self) -> str:
        return f"<Graph of {len(self.vertices)} nodes and {len(self.edges)} edges; .svg(), .html(), .save('graph.svg') or .show() draws it>"


WORDS = (("leaf", "leaf", "leaves"), ("parameter", "parameter", "parameters"), ("data", "data tensor", "data tensors"))


def counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def png(svg: str) -> bytes:
    try:
        cairosvg: Any = import_module("cairosvg")
    except ImportError:
        raise ImportError("a picture is saved as PNG by the package cairosvg\n  fix: pip install cairosvg, or save it as .svg") from None
    return cairosvg.svg2png(bytestring=svg.encode(), scale=2)  # type: ignore[no-any-return]


def graph(*outputs: Any, params: Any = None, **keywords: Any) -> Graph:
    """Draw the graph behind tensors, behind a `grad_fn`, or of a call `module(*inputs, **keywords)`.

    Names come from `params` (a module, or tensors by name), then from the variables where `graph` is called. A module that is
    called, or given as `params`, gives the boxes.

    >>> import adjoint as ad
    >>> x = ad.tensor(2.0, requires_grad=True)
    >>> picture = ad.viz.graph(x**2 + 3 * x)
    >>> picture
    <Graph of 4 nodes and 4 edges; .svg(), .html(), .save('graph.svg') or .show() draws it>
    >>> sorted((vertex.name or vertex.op, vertex.value) for vertex in picture.vertices)
    [('add', '10'), ('mul', ''), ('pow', ''), ('x', '2')]
    """
    frame = user_frame(sys._getframe(1))
    names = variables(frame.f_globals) | variables(frame.f_locals)
    calls = None
    title = "Autograd graph"
    if outputs and isinstance(outputs[0], Module):
        module, inputs = outputs[0], outputs[1:]
        with recording(module) as calls:
            result = module(*inputs, **keywords)
        names |= {id(x): names.get(id(x)) or f"input{f' {i}' if len(inputs) > 1 else ''}" for i, x in enumerate(inputs)}
        outputs, params = tuple(tensors_in(result)), module if params is None else params
        title = f"Autograd graph of {type(module).__name__}"
    elif keywords:
        raise TypeError(f"graph() got an unexpected keyword argument '{next(iter(keywords))}'; keywords are passed on to a module only")
    owners, labels = named(params, names)
    roots = [root.node if isinstance(root, GradientEdge) else root for root in tensors_in(list(outputs))]
    check(roots)
    vertices, edges = collect(roots, names)
    if calls is not None:
        paths, labels = by_calls(vertices, calls)
    else:
        homes = {vertex.index: owners[vertex.name] for vertex in vertices if vertex.kind == "parameter" and vertex.name in owners}
        paths, labels = by_parameters(vertices, edges, homes, labels)
    return Graph(vertices, edges, tree(vertices, edges, paths, labels), title)


def graph_of(node: Node) -> Graph:
    """The graph of a node that a notebook shows: names are those of the notebook's variables."""
    names = variables(vars(sys.modules["__main__"]))
    vertices, edges = collect([node], names)
    paths, labels = by_parameters(vertices, edges, {}, {})
    return Graph(vertices, edges, tree(vertices, edges, paths, labels))


def check(roots: list[Any]) -> None:
    if not roots:
        raise TypeError("graph() needs a tensor, a grad_fn or a module with its inputs\n  fix: ad.viz.graph(loss)")
    for root in roots:
        if isinstance(root, Node):
            continue
        if not isinstance(root, Tensor):
            raise TypeError(f"graph() draws tensors, nodes and modules, not {type(root).__name__}\n  fix: ad.viz.graph(loss)")
        if not root.requires_grad or edge_of(root) is None:
            from .._explain import explain

            raise RuntimeError(f"there is no graph: this tensor does not require grad and does not have a grad_fn\n{explain(root)}")


def tensors_in(value: Any) -> Iterator[Any]:
    """The tensors of a result that may be a tuple, a list or a dict; what is none of these as it is."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting.extend(reversed(list(one.values())))
        elif isinstance(one, list | tuple) and not isinstance(one, GradientEdge):
            waiting.extend(reversed(one))
        elif one is not None:
            yield one


def variables(scope: Mapping[str, Any]) -> dict[int, str]:
    """Names of tensors, of what made them, and of the parameters of modules that variables hold."""
    names: dict[int, str] = {}
    for name, value in list(scope.items()):
        if name.startswith("_"):
            continue
        if isinstance(value, Tensor):
            names.setdefault(id(value), name)
            if isinstance(value._fn, Node):
                names.setdefault(id(value._fn), name)
        elif isinstance(value, Module):
            for path, parameter in value.named_parameters():
                names.setdefault(id(parameter), f"{name}.{path}")
    return names


def named(params: Any, names: dict[int, str]) -> tuple[dict[str, Path], dict[Path, str]]:
    """Take the names of parameters from `params`; return the modules they belong to, and the classes of those."""
    owners: dict[str, Path] = {}
    labels: dict[Path, str] = {}
    if params is None:
        return owners, labels
    if isinstance(params, Module):
        for name, parameter in params.named_parameters():
            names[id(parameter)] = name
            owners[name] = tuple(name.split(".")[:-1])
        labels = {tuple(name.split(".")): type(module).__name__ for name, module in params.named_modules() if name}
        return owners, labels
    for name, parameter in params.items() if isinstance(params, Mapping) else params:
        if not isinstance(parameter, Tensor):
            raise TypeError(f"params holds tensors by name, not {type(parameter).__name__} ('{name}')\n  fix: params=model")
        names[id(parameter)] = name
    return owners, labels
