"""Several results as outputs of one node, where PyTorch has one op for what is written with several ops here."""

from __future__ import annotations

from functools import cache
from typing import Any

from .._site import here
from ..autograd.node import Node, Output, SeveralNode, new_node


class Joined(SeveralNode):
    """A node in place of several that have one and the same input; these do the work, and are all that it saves."""

    __slots__ = ()

    def apply(self, g: Any) -> tuple[Any, ...]:
        return self._sum([node.apply(part)[0] for node, part in zip(self.saved, g, strict=True) if part is not None])

    def apply_recorded(self, g: Any) -> tuple[Any, ...]:
        return self._sum([node.apply_recorded(part)[0] for node, part in zip(self.saved, g, strict=True) if part is not None])

    def _sum(self, grads: list[Any]) -> tuple[Any, ...]:
        return (grads[0] if len(grads) == 1 else sum(grads[1:], grads[0]),)


@cache
def _node_class(name: str) -> type[Joined]:
    return type(name, (Joined,), {"__slots__": ()})


def joined(name: str, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """Results of ops on one tensor, as outputs of one node of the given name."""
    nodes = [result._fn for result in results]
    if all(isinstance(node, Node) and len(node.next) == 1 and node.next[0] is nodes[0].next[0] for node in nodes):
        node: Any = new_node(_node_class(name), nodes[0].next, tuple(nodes), here())
        node.outputs = len(results)
        for nr, result in enumerate(results):
            result._fn = Output(node, nr)
    return results
