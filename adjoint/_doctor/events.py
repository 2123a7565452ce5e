"""What rules are told: an op that ran, a call of a module, a backward pass, a step of an optimizer.

An event is there while it is told of. A rule that keeps one keeps the program's tensors alive, so rules take from it what they need.
"""

from __future__ import annotations

import weakref
from functools import cached_property
from typing import Any

import numpy as np

from .._site import Site
from .._tensor import Tensor
from ..autograd.engine import reachable
from ..autograd.node import Node
from ..autograd.views import edge_of


class OpCall:
    """An op that has run, outside of backward passes and optimizer steps."""

    __slots__ = ("arguments", "modules", "name", "result", "site")

    def __init__(self, name: str, arguments: dict[str, Any], result: Any, site: Site, modules: tuple[Any, ...]) -> None:
        self.name = name
        self.arguments = arguments  # by their names in the op's declaration
        self.result = result
        self.site = site
        self.modules = modules  # whose `forward` is running, outermost first


class ModuleCall:
    """A call of a module: told when it begins (`result` is None), and when it has ended."""

    __slots__ = ("args", "module", "modules", "result", "site")

    def __init__(self, module: Any, args: tuple[Any, ...], modules: tuple[Any, ...], site: Site) -> None:
        self.module = module
        self.args = args
        self.modules = modules  # whose `forward` is running around it, outermost first
        self.site = site
        self.result: Any = None


class Pass:
    """A backward pass that adds to `.grad`."""

    def __init__(self, roots: tuple[Any, ...], create_graph: bool, site: Site, number: int) -> None:
        self.roots = roots
        self.create_graph = create_graph
        self.site = site
        self.number = number  # of all passes of the program, from 1 on

    @cached_property
    def nodes(self) -> list[Node]:
        """The graph, latest node first."""
        edges = [edge_of(root) if isinstance(root, Tensor) else root[0] for root in self.roots]
        return sorted(reachable(edges), key=lambda node: -node.seq)

    @cached_property
    def leaves(self) -> list[Tensor]:
        """The leaves that it reaches."""
        found = {edge: None for node in self.nodes for edge in node.next if isinstance(edge, Tensor)}
        return [*found, *(root for root in self.roots if isinstance(root, Tensor) and root.is_leaf and root not in found)]

    @cached_property
    def loss(self) -> float:
        """The value that is differentiated, if it is one number; NaN stands for one that is not finite as well as for none."""
        first = self.roots[0] if len(self.roots) == 1 else None
        data = array_of(first)
        return float(data.reshape(()).real) if data is not None and data.size == 1 and data.dtype.kind in "fc" else float("nan")


def array_of(tensor: Any) -> np.ndarray[Any, Any] | None:
    """The array in a tensor; None where there is none to look at (a transform's layer, a sparse tensor, no tensor at all)."""
    data = getattr(tensor, "_data", None)
    return data if data.__class__ is np.ndarray else None


class PerTensor:
    """Something for each of many tensors, for as long as it lives. (A dict would keep them, and a weak one compare their elements.)"""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[weakref.ref[Tensor], Any]] = {}

    def __setitem__(self, tensor: Tensor, value: Any) -> None:
        key = id(tensor)
        self._kept[key] = weakref.ref(tensor, lambda _: self._kept.pop(key, None)), value

    def get(self, tensor: Tensor, default: Any = None) -> Any:
        known = self._kept.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else default

    def pop(self, tensor: Tensor) -> None:
        if tensor in self:
            del self._kept[id(tensor)]

    def __contains__(self, tensor: Tensor) -> bool:
        return self.get(tensor, self) is not self

    def items(self) -> list[tuple[Tensor, Any]]:
        return [(tensor, value) for known, value in [*self._kept.values()] if (tensor := known()) is not None]
