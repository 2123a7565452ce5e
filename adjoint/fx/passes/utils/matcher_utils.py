"""Where a small graph, the pattern, occurs within a larger one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...._tensor import Tensor
from ...graph import Graph
from ...graph_module import _get_attr
from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One occurrence: what each node of the pattern is in the graph."""

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)  # what goes in, in the order of the pattern's inputs
    returning_nodes: list[Node] = field(default_factory=list)  # what comes out, in the order of its outputs
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            list(self.anchors), self.nodes_map.copy(), list(self.placeholder_nodes), list(self.returning_nodes), self.name_node_map.copy()
        )


class SubgraphMatcher:
    """Finds a pattern. Its inputs stand for anything; what it computes on the way may be used within the occurrence only, unless the
    pattern returns it."""

    def __init__(
        self, pattern: Graph, match_output: bool = False, match_placeholder: bool = False, remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:  # fmt: skip
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else [node for node in output.all_input_nodes if len(node.users) == 1]

    def match(self, graph: Graph) -> list[InternalMatch]:
        """All occurrences, in the order of the graph."""
        found = [InternalMatch(anchors=self.pattern_anchors)]
        for anchor in self.pattern_anchors:
            longer = []
            for match in found:
                for node in graph.nodes:
                    tried = match.__copy__()
                    if self._match_nodes(anchor, node, tried):
                        longer.append(tried)
            found = longer
        matches: list[InternalMatch] = []
        taken: set[Node] = set()
        for match in found:
            if not match.nodes_map or not self._is_contained(match.nodes_map):
                continue
            own = self._own_nodes(match)
            if self.remove_overlapping_matches and not taken.isdisjoint(own):
                continue
            taken.update(own)
            match.placeholder_nodes = [match.nodes_map[node] for node in self.pattern_placeholder_nodes if node in match.nodes_map]
            match.returning_nodes = [match.nodes_map[node] for node in self.pattern_returning_nodes]
            matches.append(match)
        return matches

    @staticmethod
    def _own_nodes(match: InternalMatch) -> list[Node]:
        return [gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output") and isinstance(gn, Node)]

    # ---- one node ---------------------------------------------------------------------------------------------------------------------

    def _match_nodes(self, pn: Node, gn: Node, match: InternalMatch) -> bool:
        """Whether a node, and all that goes into it, is as in the pattern. The match keeps what was found, if it is."""
        if pn in match.nodes_map:
            return match.nodes_map[pn] is gn
        if gn in match.nodes_map.values() or not self._nodes_are_equal(pn, gn):
            return False
        saved = match.__copy__()
        match.nodes_map[pn] = gn
        if pn.op == "placeholder" or self._match_arguments(pn, gn, match):
            return True
        match.nodes_map = saved.nodes_map
        return False

    def _match_arguments(self, pn: Node, gn: Node, match: InternalMatch) -> bool:
        if self._match_values(pn.args, gn.args, match) and self._match_values(pn.kwargs, gn.kwargs, match):
            return True
        # The same arguments may be given by position here and by keyword there.
        ours, theirs = _by_name(pn), _by_name(gn)
        return ours is not None and theirs is not None and self._match_values(ours, theirs, match)

    def _match_values(self, p: Any, g: Any, match: InternalMatch) -> bool:
        if isinstance(p, Node):
            if isinstance(g, Node):
                return self._match_nodes(p, g, match)
            if p.op != "placeholder":
                return False
            known = match.nodes_map.setdefault(p, g)
            return known is g or bool(known == g)
        if isinstance(p, list | tuple):
            return (
                isinstance(g, list | tuple) and len(p) == len(g) and all(self._match_values(a, b, match) for a, b in zip(p, g, strict=True))
            )
        if isinstance(p, dict):
            return isinstance(g, dict) and p.keys() == g.keys() and all(self._match_values(p[key], g[key], match) for key in p)
        if isinstance(p, slice):
            return isinstance(g, slice) and self._match_values((p.start, p.stop, p.step), (g.start, g.stop, g.step), match)
        return not isinstance(g, Node) and (self.ignore_literals or (type(p) is type(g) and bool(p == g)))

    def _nodes_are_equal(self, pn: Node, gn: Node) -> bool:
        if pn.op == "placeholder" and not self.match_placeholder:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        return self._match_attributes(pn, gn) if pn.op == "get_attr" else pn.target == gn.target

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        """Whether the two read attributes of the same kind, under whichever names."""
        ours, theirs = (_get_attr(node.graph.owning_module, str(node.target)) for node in (pn, gn))
        if type(ours) is not type(theirs):
            return False
        return isinstance(ours, Tensor) or type(ours) is type(theirs)

    def _is_contained(self, nodes_map: dict[Node, Any]) -> bool:
        """Whether what the pattern does not return is not used elsewhere."""
        inside = {gn for gn in nodes_map.values() if isinstance(gn, Node)}
        for pn, gn in nodes_map.items():
            if pn.op != "placeholder" and pn not in self.pattern_returning_nodes and not inside.issuperset(gn.users):
                return False
        return True


def _by_name(node: Node) -> dict[str, Any] | None:
    """The arguments of a call of a function by their names."""
    if node.op != "call_function":
        return None
    from ...operator_schemas import normalize_function

    normalized = normalize_function(node.target, node.args, node.kwargs, normalize_to_only_use_kwargs=True)  # type: ignore[arg-type]
    return None if normalized is None else normalized.kwargs
