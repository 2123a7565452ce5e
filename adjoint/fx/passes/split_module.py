"""A module cut into several, each of which holds some of its nodes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ...nn import Module
from ..graph import Graph
from ..graph_module import GraphModule, _copy_attr, _get_attr
from ..node import Node, map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """One of the parts: its nodes, and what it takes from others and gives to them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: {self.outputs},\n "
            f"partitions depended on: {self.dependencies},\n partition dependents: {self.dependents}"
        )


def split_module(
    m: GraphModule, root_m: Module, split_callback: Callable[[Node], Any], qualname_map: dict[str, str] | None = None,
    keep_original_order: bool = False, keep_original_node_name: bool = False,
) -> GraphModule:  # fmt: skip
    """A module of submodules `submod_0`, `submod_1`, ..., one for each value of `split_callback(node)`, that computes what `m` does.

    `qualname_map`, if given, takes for each new path of a submodule or attribute the one that it had. `keep_original_order` calls the parts
    in the order in which they first occur, instead of as soon as their inputs are there. `keep_original_node_name` keeps the nodes' names.

    >>> import adjoint as ad
    >>> from adjoint.fx.passes.split_module import split_module
    >>> traced = ad.fx.symbolic_trace(lambda x: ad.relu(x + 1) * 2)
    >>> split = split_module(traced, traced, lambda node: 0 if node.name == "add" else 1)
    >>> print(split.code.strip())
    def forward(self, x):
        submod_0 = self.submod_0(x);  x = None
        submod_1 = self.submod_1(submod_0);  submod_0 = None
        return submod_1
    """
    parts: dict[str, Partition] = {}
    part_of: dict[Node, Partition] = {}
    for node in m.graph.nodes:
        if node.op not in ("placeholder", "get_attr", "output"):
            name = str(split_callback(node))
            part = parts.setdefault(name, Partition(name))
            part_of[node] = part
            part.node_names.append(node.name)
    outer = [node for node in m.graph.nodes if node.op in ("placeholder", "get_attr")]
    by_name = {node.name: node for node in m.graph.nodes}
    for node in m.graph.nodes:
        for used in node.all_input_nodes:
            _connect(used, part_of.get(used), part_of.get(node))
    order = list(parts.values()) if keep_original_order else _in_order(list(parts.values()))
    for part in order:
        _fill(part, root_m, [node for node in m.graph.nodes if part_of.get(node) is part], by_name, qualname_map, keep_original_node_name)
    return _stitched(m, root_m, order, outer, by_name)


def _connect(used: Node, source: Partition | None, user: Partition | None) -> None:
    if source is user:
        return
    if source is not None:
        source.outputs.setdefault(used.name)
        if user is not None:
            source.dependents.setdefault(user.name)
            user.dependencies.setdefault(source.name)
    if user is not None:
        user.inputs.setdefault(used.name)


def _in_order(parts: list[Partition]) -> list[Partition]:
    """The parts so that each comes after those that it takes from."""
    order: list[Partition] = []
    waiting = list(parts)
    done: set[str] = set()
    while waiting:
        ready = [part for part in waiting if done.issuperset(part.dependencies)]
        if not ready:
            raise RuntimeError("cycle exists between partitions!")
        order += ready
        done.update(part.name for part in ready)
        waiting = [part for part in waiting if part.name not in done]
    return order


def _fill(
    part: Partition, root_m: Module, nodes: list[Node], by_name: dict[str, Node], qualname_map: dict[str, str] | None, keep_names: bool
) -> None:
    """Copy the nodes of a part into a graph of its own."""
    for name in part.inputs:
        node = by_name[name]
        place = part.graph.placeholder(name, node.type)
        place.meta = node.meta.copy()
        part.environment[node] = place
    for node in nodes:
        target: Any = node.target
        if node.op == "call_module":
            target = str(target).replace(".", "_")
            part.targets[target] = _get_attr(root_m, str(node.target))
            if qualname_map is not None:
                qualname_map[f"{part.submod_name}.{target}"] = str(node.target)
        args, kwargs = (map_arg(a, lambda n: part.environment[n]) for a in (node.args, node.kwargs))
        made = part.graph.create_node(node.op, target, args, dict(kwargs), node.name if keep_names else None, node.type)
        made.meta = node.meta.copy()
        part.environment[node] = made
    results = tuple(part.environment[by_name[name]] for name in part.outputs)
    part.graph.output(results[0] if len(results) == 1 else results)


def _stitched(m: GraphModule, root_m: Module, order: list[Partition], outer: list[Node], by_name: dict[str, Node]) -> GraphModule:
    """The module that calls the parts."""
    base = Module()
    graph = Graph()
    values: dict[Node, Node] = {}
    for node in outer:
        values[node] = graph.node_copy(node)
        if node.op == "get_attr":
            _copy_attr(root_m, base, str(node.target))
    for part in order:
        setattr(base, part.submod_name, GraphModule(part.targets, part.graph))
        result = graph.call_module(part.submod_name, tuple(values[by_name[name]] for name in part.inputs))
        names = list(part.outputs)
        if len(names) == 1:
            values[by_name[names[0]]] = result
        for place, name in enumerate(names if len(names) > 1 else ()):
            values[by_name[name]] = graph.call_function(operator.getitem, (result, place))
    output = m.graph.output_node()
    graph.output(map_arg(output.args[0], lambda n: values[n]))
    return GraphModule(base, graph)
