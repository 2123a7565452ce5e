from __future__ import annotations

import weakref
from typing import Any

from ..._site import Site
from ..._tensor import Tensor
from ...autograd.node import Node
from ..events import Pass
from ..finding import NOTE
from ..reading import node_of
from ..rule import Rule

TIMES = 2


class Accumulation(Rule):
    """Gradients of several mean losses are added up for one step without dividing by their number: the step is so much longer."""

    name = "accumulation"
    grade = NOTE
    always = True

    def start(self) -> None:
        self.passes: dict[Site, int] = {}  # of mean losses since the last step, by line
        self.times: dict[tuple[Site, int], int] = {}
        self.stamps: list[tuple[weakref.ref[Tensor], int]] = []  # gradients, and the versions that backward left them with
        self.clipped = False

    def backward(self, event: Pass) -> None:
        root = event.roots[0]
        if not self.doctor.in_step and len(event.roots) == 1 and isinstance(root, Tensor) and is_mean(root) and root.numel() == 1:
            self.passes[event.site] = self.passes.get(event.site, 0) + 1

    def backward_done(self, event: Pass) -> None:
        if self.passes.get(event.site, 0) < TIMES:
            return
        self.stamps = [(weakref.ref(leaf._grad), leaf._grad._version) for leaf in event.leaves[:3] if leaf._grad is not None]
        self.clipped = False

    def clip(self, parameters: list[Any], max_norm: float, total_norm: Any, site: Site) -> None:
        self.clipped = True

    def zero_grad(self, owner: Any, parameters: list[Any], site: Site) -> None:
        self.passes.clear()
        self.stamps = []

    def step(self, optimizer: Any, site: Site) -> None:
        changed = any((gradient := known()) is not None and gradient._version != version for known, version in self.stamps)
        if changed and not self.clipped:  # the program has scaled them itself
            self.passes.clear()
        for backward, count in self.passes.items():
            if count > 1:
                key = backward, count
                self.times[key] = self.times.get(key, 0) + 1
                if self.times[key] >= TIMES:
                    self.report(
                        f"{count} mean losses are added up for each step: their gradient is {count} times that of one large batch",
                        f"(loss / {count}).backward(), or a learning rate that is meant for it",
                        {"backward": backward, "step": site},
                        losses_per_step=count,
                    )
        self.passes.clear()


def is_mean(loss: Tensor) -> bool:
    """Whether a loss is a mean as it stands, not one that was scaled."""
    node: Any = node_of(loss)
    if node is not None and ".scale(" in node.site.text and node.name() == "MulBackward0":  # a gradient scaler, which divides it again
        node = node.next[0]
    if not isinstance(node, Node):
        return False
    if node.name().startswith("MeanBackward"):
        return True
    return "reduction" in node.layout and isinstance(node.saved, tuple) and "mean" in [x for x in node.saved if isinstance(x, str)]
