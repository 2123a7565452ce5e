"""What a backward pass is going to do: the nodes and leaves in the order in which it comes to them, and what they are called.

The order is known beforehand. Of the nodes that are ready the latest made runs first, and the latest of all is always ready, since what
reads its result was made later. A leaf is complete when the last node that gives to it, the earliest made, has run.
"""

from __future__ import annotations

from functools import cached_property
from types import FrameType
from typing import Any

from .._site import is_users
from .._tensor import Parameter, Tensor, wrap
from ..autograd.node import Node
from ..autograd.stepping import Steps
from ..viz.collect import collect, elements
from ..viz.graphs import variables

FLOAT32 = 4  # bytes of an element whose dtype is not known


class Plan:
    """The places of a pass, by number, and their names."""

    def __init__(self, steps: Steps, frame: FrameType) -> None:
        targets = steps.targets()
        self.filename = frame.f_code.co_filename
        self.deliveries = {target: delivery[0] for target, delivery in targets.items()}
        self.nodes: list[Node] = sorted((one for one in targets if isinstance(one, Node)), key=lambda node: -node.seq)
        self.leaves: list[Tensor] = [one for one in targets if isinstance(one, Tensor)]
        self.places: list[Any] = self.in_order(targets)
        self.number = {place: number for number, place in enumerate(self.places, 1)}
        self.names = names_in(frame)
        watch: Any = steps.task.watch
        self.roots = [result_like(edge, gradient) for _, edge, gradient in watch.undelivered]  # where it starts

    def in_order(self, targets: Any) -> list[Any]:
        last: dict[Tensor, Node] = {}
        for node in self.nodes:
            last |= {edge: node for edge in node.next if isinstance(edge, Tensor) and edge in targets}
        places: list[Any] = [leaf for leaf in self.leaves if leaf not in last]  # where the pass starts
        for node in self.nodes:
            places.append(node)
            complete = dict.fromkeys(edge for edge in node.next if isinstance(edge, Tensor) and last.get(edge) is node)
            places += complete
        return places

    def name_of(self, place: Any) -> str:
        """The variable that holds a leaf or the result of a node, `model.fc.weight` for parameters; empty where it has no name."""
        if id(place) not in self.names and isinstance(place, Parameter):
            from ..nn._owners import name_of

            self.names[id(place)] = name_of(place)
        return self.names.get(id(place), "")

    @cached_property
    def bytes_kept(self) -> tuple[int, int]:
        """About how many bytes going back takes, and for how many places that is not known: of each, a copy of every gradient that comes,
        and of their sum; of a leaf, its `.grad` before and after too."""
        vertices, _ = collect(self.roots, {})
        by_order = {vertex.order: vertex for vertex in vertices if vertex.kind == "op"}
        total = unknown = 0
        for node in self.nodes:
            vertex = by_order[node.seq]
            unknown += vertex.shape is None
            total += elements(vertex.shape) * bytes_of(vertex.dtype) * (self.deliveries[node] + 1)
        for leaf in self.leaves:
            total += size_of(leaf) * (self.deliveries[leaf] + (3 if leaf._grad is None else 5))
        return total, unknown


def names_in(frame: FrameType) -> dict[int, str]:
    """The names of tensors and nodes by their ids: variables of the functions that are running, inner ones first."""
    names: dict[int, str] = {}
    seen: set[int] = set()
    above: FrameType | None = frame
    while above is not None:
        if is_users(above):
            outer = {} if id(above.f_globals) in seen else variables(above.f_globals)
            names = outer | variables(above.f_locals) | names
            seen.add(id(above.f_globals))
        above = above.f_back
    return names


def result_like(edge: Any, gradient: Tensor) -> Tensor:
    """A tensor like the one at which a pass starts, with its history."""
    if isinstance(edge, Tensor):
        return edge
    result = wrap(gradient._data)
    result._fn = edge
    return result


def size_of(tensor: Tensor) -> int:
    return int(getattr(tensor._data, "nbytes", 0))


def bytes_of(dtype: str) -> int:
    import adjoint

    return int(getattr(adjoint, dtype).itemsize) if dtype else FLOAT32
