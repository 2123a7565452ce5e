"""The way of bad numbers through a backward pass: a Watch that stops nothing, and writes down where they were born."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._explain import leaves_below
from .._site import Site
from .._tensor import Parameter, Tensor
from ..autograd.anomaly import Watch, array_of, is_anomaly_enabled
from ..autograd.engine import reachable, target_of
from ..autograd.node import Edge, Node
from ..autograd.nonfinite import PATTERNS, Pattern, examine
from ..autograd.stepping import GradChange
from .finding import Range, bad_samples, kinds_of, numbers

MOST = 64  # births that are written down for a pass
# Patterns of a nan that was made of an infinity from elsewhere, which is told first if its own pattern is known.
MEETINGS = frozenset({"inf times 0", "inf - inf", "nan in the forward pass"})
HALF = Pattern(
    "float16 gradient overflow",
    lambda c: True,
    "gradients in float16 end at 65504: scale the loss with torch.amp.GradScaler, which skips such steps and scales down, or use bfloat16",
)
CAME_IN = "the gradient was {kind} before it came here: look at the gradient given to backward(), and at the hooks that change gradients"
MET = "infinite gradients of opposite signs were added up: look where they come from"


@dataclass(eq=False)
class Birth:
    """A node whose gradient was finite when it came and is not when it goes."""

    kind: str  # nan or inf
    node: Node | None
    site: Site | None
    pattern: str
    fix: str
    ranges: dict[str, Range] = field(default_factory=dict)
    samples: tuple[int, ...] = ()
    met: Node | None = None  # the first node of the forward pass that keeps a nan


def arrays_of(gradient: Any) -> list[Any]:
    """The arrays of a gradient, which is a list for a node with several outputs."""
    found = map(array_of, gradient if isinstance(gradient, list | tuple) else [gradient])
    return [array for array in found if array is not None]


def kinds_in(gradient: Any) -> set[str]:
    return {kind for array in arrays_of(gradient) for kind in kinds_of(array)}


class Births(Watch):
    """Follows a backward pass. Afterwards `births` tells where bad numbers were born, `leaves` whose gradients they reached."""

    def __init__(self, roots: Sequence[Edge], measures: bool = False) -> None:
        super().__init__(roots)
        self.measures = measures  # whether sizes of finite gradients are wanted too
        self.births: list[Birth] = []
        self.leaves: dict[Any, set[str]] = {}
        self.largest: dict[Any, float] = {}  # the largest element of the gradient of each leaf
        self.growth: dict[Node, float] = {}  # by how much a node made larger what it passes on
        self.delivered: dict[Any, set[str]] = {}  # which bad numbers were given to a node or leaf
        self.changes: list[GradChange] = []  # gradients that tensors keep, as they were

    def begin(self, roots: Sequence[Edge], gradients: Sequence[Any], keeps_graph: bool) -> None:
        self.deliver(roots, gradients)

    def deliver(self, edges: Sequence[Edge], gradients: Sequence[Any]) -> None:
        for edge, gradient in zip(edges, gradients, strict=True):
            if edge is not None and (kinds := kinds_in(gradient)):
                self.delivered.setdefault(target_of(edge), set()).update(kinds)

    def arrive(self, target: Any, g: Any) -> None:
        if isinstance(target, Node) and target.hooks is not None:
            self.changes += [GradChange(tensor) for kept in target.hooks.retained.values() if (tensor := kept()) is not None]

    def enter(self, node: Node, g: Any) -> None:
        super().enter(node, g)
        self.meet(node, node, node.site, g)

    def meet(self, target: Any, node: Node | None, site: Site | None, g: Any) -> None:
        """Notice bad numbers that no node gave: from hooks, from outside, or by adding gradients up."""
        given = self.delivered.get(target, set())
        for kind in kinds_in(g) - given:
            pattern, fix = ("inf - inf", MET) if "inf" in given else (f"{kind} came in", CAME_IN.format(kind=kind))
            self.births.append(Birth(kind, node, site, pattern, fix))

    def leave(self, node: Node, gradients: tuple[Any, ...], g: Any) -> None:
        if is_anomaly_enabled():
            super().leave(node, gradients, g)
        self.node = None
        came = kinds_in(g)
        for edge, gradient in zip(node.next, gradients, strict=True):
            if edge is None:
                continue
            kinds = kinds_in(gradient)
            kind = "nan" if "nan" in kinds - came else "inf" if "inf" in kinds and not came else ""
            if kind and len(self.births) < MOST:
                self.births.append(self.birth(kind, node, array_of(gradient), g))
        self.deliver(node.next, gradients)
        if self.measures:
            onward = [gradient for edge, gradient in zip(node.next, gradients, strict=True) if isinstance(target_of(edge), Node)]
            self.growth[node] = largest(onward or gradients) / (largest(g) or 1.0)

    def birth(self, kind: str, node: Node, data: Any, g: Any) -> Birth:
        case = examine(node, data, g, self.roots)
        pattern, fix = case.advice()
        if pattern == "inf times 0":
            known = HALF if kind == "inf" and data.dtype == np.float16 else None
            if not case.values:  # hooks keep what it saved, as for checkpoints: only its name tells
                known = next((p for p in PATTERNS if p.name.startswith(f"{case.op}(")), known)
            pattern, fix = (pattern, fix) if known is None else (known.name, known.advice.format(op=case.op))
        ranges = {f"its {name}": Range.of(value) for name, value in case.values.items()}
        ranges |= {f"gradient in{' ' * bool(nr)}{nr or ''}": Range.of(one) for nr, one in enumerate(case.incoming)}
        ranges["gradient out"] = Range.of(data)
        samples = () if all(isinstance(edge, Parameter) for edge in node.next) else bad_samples(data)
        return Birth(kind, node, node.site, pattern, fix, ranges, samples, case.born)

    def finish(self, leaf: Any, g: Any, kept: bool) -> None:
        if not isinstance(leaf, Tensor):
            return
        if self.measures:
            self.largest[leaf] = largest(g)
        if kinds := kinds_in(g):
            self.leaves[leaf] = kinds
            self.meet(leaf, None, None, g)

    def fail(self, node: Any) -> None:
        if is_anomaly_enabled():
            super().fail(node)
        self.node = None

    def origin(self) -> tuple[Birth, Birth | None] | None:
        """The birth that is to blame for the gradients of leaves, and the one that made nan of its infinity; None if all are finite."""
        reaching = [birth for birth in self.births if birth.node is None or not self.leaves.keys().isdisjoint(leaves_below([birth.node]))]
        if not self.leaves or not reaching:
            return None
        first = next((birth for birth in reaching if birth.kind == "nan"), reaching[0])
        earlier = [b for b in reaching if b.kind == "inf" and b.node is not None and b is not first and first.node in reachable([b.node])]
        if first.kind == "nan" and earlier:
            return (earlier[0], first) if first.pattern in MEETINGS else (first, earlier[0])
        return first, None


def largest(gradient: Any) -> float:
    """The largest finite element of gradients, without its sign."""
    sizes = [np.abs(numbers(array)).astype(np.float64) for array in arrays_of(gradient)]
    return max((float(np.max(size, initial=0.0, where=np.isfinite(size))) for size in sizes), default=0.0)
