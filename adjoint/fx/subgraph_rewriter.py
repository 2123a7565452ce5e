"""Every occurrence of one small graph replaced by another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..nn import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copy_attr, _has_attr
from .node import Node, map_arg
from .passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]

Filter = Callable[[InternalMatch, Graph, Graph], bool]


class Match(NamedTuple):
    """An occurrence: the last node of the pattern, and what each of its nodes was in the graph."""

    anchor: Node
    nodes_map: dict[Node, Any]


@dataclass
class ReplacedPatterns:
    """The same, with the nodes that are there now."""

    anchor: Node
    nodes_map: dict[Node, Any]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace a function wherever a module computes it. Both are given as functions, modules or graph modules, with the same inputs.

    >>> import adjoint as ad
    >>> traced = ad.fx.symbolic_trace(lambda x, w: ad.relu(x @ w) + ad.relu(w))
    >>> found = ad.fx.replace_pattern(traced, lambda x: ad.relu(x), lambda x: ad.nn.functional.silu(x))
    >>> len(found)
    2
    >>> print(traced.code.strip())
    def forward(self, x, w):
        matmul = x @ w;  x = None
        silu = torch.nn.functional.silu(matmul, inplace = False);  matmul = None
        silu_1 = torch.nn.functional.silu(w, inplace = False);  w = None
        add = silu + silu_1;  silu = silu_1 = None
        return add
    """
    return [Match(found.anchor, found.nodes_map) for found in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(
    gm: GraphModule, pattern: Any, replacement: Any = None, match_filters: list[Filter] | None = None, ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
) -> list[ReplacedPatterns]:  # fmt: skip
    """The same for the occurrences that pass all filters. `ignore_literals` lets numbers differ; `replacement_callback` makes a replacement
    for each occurrence."""
    if replacement is None and replacement_callback is None:
        raise AssertionError("Must provide either replacement graph or replacement callback")
    wanted = _graph_of(pattern)
    instead = None if replacement is None else _graph_of(replacement)
    found = SubgraphMatcher(wanted, ignore_literals=ignore_literals).match(gm.graph)
    found = [match for match in found if all(passes(match, gm.graph, wanted) for passes in match_filters or ())]
    now: dict[Node, Node] = {}  # what stands in the place of nodes that have been replaced
    done = []
    for match in found:
        new = replacement_callback(match, gm.graph, wanted) if instead is None and replacement_callback else instead
        assert new is not None
        done.append(_replaced(gm, wanted, new, match, now))
    gm.recompile()
    if isinstance(replacement, Module):
        _take_attributes(gm, replacement)
    return done


def _graph_of(function: Any) -> Graph:
    if isinstance(function, Graph):
        return function
    return function.graph if isinstance(function, GraphModule) else symbolic_trace(function).graph


def _replaced(gm: GraphModule, pattern: Graph, new: Graph, match: InternalMatch, now: dict[Node, Node]) -> ReplacedPatterns:
    match.nodes_map = {pn: now.get(gn, gn) if isinstance(gn, Node) else gn for pn, gn in match.nodes_map.items()}
    inputs = [match.nodes_map[node] for node in pattern.nodes if node.op == "placeholder" and node in match.nodes_map]
    places = [node for node in new.nodes if node.op == "placeholder"]
    if len(inputs) != len(places):
        raise AssertionError(f"Placeholder count mismatch: {len(inputs)} vs {len(places)}")
    copied: dict[Node, Any] = dict(zip(places, inputs, strict=True))
    users = {user for node in match.returning_nodes for user in node.users}
    graph = gm.graph
    where = min(users) if users else match.returning_nodes[0].next
    with graph.inserting_before(where):
        result = _copied(graph, new, copied)
    results = [result] if not isinstance(result, tuple | list) else list(result)
    if len(results) != len(match.returning_nodes):
        raise AssertionError(f"the pattern has {len(match.returning_nodes)} outputs and the replacement {len(results)}")
    for old, made in zip(match.returning_nodes, results, strict=True):
        old.replace_all_uses_with(made)
        now[old] = made
    for node in reversed(pattern.nodes):
        if node.op not in ("placeholder", "output") and not match.nodes_map[node].users:
            graph.erase_node(match.nodes_map[node])
    replacements = [made for node, made in copied.items() if node not in places]
    return ReplacedPatterns(match.anchors[0], match.nodes_map, replacements)


def _copied(graph: Graph, new: Graph, copied: dict[Node, Any]) -> Any:
    """The nodes of the replacement within the graph. Its inputs may be numbers."""
    for node in new.nodes:
        if node.op == "output":
            return map_arg(node.args[0], lambda n: copied[n])
        if node not in copied:
            copied[node] = graph.node_copy(node, lambda n: copied[n])
    return None


def _take_attributes(gm: GraphModule, replacement: Module) -> None:
    """Give the module what the replacement calls and reads, and take away what it no longer needs."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op in ("call_module", "get_attr") and not _has_attr(gm, str(node.target)):
            if not _has_attr(replacement, str(node.target)):
                raise RuntimeError(
                    f'Attempted to create a "{node.op}" node during subgraph rewriting with target {node.target}, but the referenced '
                    "attribute does not exist in the replacement GraphModule"
                )
            _copy_attr(replacement, gm, str(node.target))
    gm.graph.lint()
