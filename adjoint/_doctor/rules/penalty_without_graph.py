from __future__ import annotations

from typing import Any

from ..._site import Site
from ..events import ModuleCall, OpCall, Pass, PerTensor
from ..rule import Rule


class PenaltyWithoutGraph(Rule):
    """A gradient enters the loss as a penalty, and was computed without `create_graph=True`: the penalty teaches nothing.

    Gradients that move something are no penalty: those that meet a parameter (a step of an inner loop), or are given to a model with the
    input that they have moved (an adversarial example).
    """

    name = "penalty-without-graph"

    def start(self) -> None:
        self.derived = PerTensor()  # what was computed from such gradients, and the line that asked for them

    def grad_done(
        self, outputs: tuple[Any, ...], inputs: tuple[Any, ...], results: tuple[Any, ...], create_graph: bool, site: Site
    ) -> None:
        if not create_graph and self.doctor.recording:
            for result in results:
                if result is not None and not result.requires_grad:
                    self.derived[result] = site

    def entered(self, call: ModuleCall) -> None:
        for x in call.args:
            if hasattr(x, "_data"):
                self.derived.pop(x)  # an example that was moved along a gradient

    def op(self, call: OpCall) -> None:
        given = call.arguments.values()
        operands = [x for one in given for x in (one if isinstance(one, list | tuple) else (one,)) if hasattr(x, "_data")]
        origins = [site for x in operands if (site := self.derived.get(x)) is not None]
        if origins and hasattr(call.result, "_data") and not any(x.is_leaf and x.requires_grad for x in operands):
            self.derived[call.result] = origins[0]

    def backward(self, event: Pass) -> None:
        site = self.derived.get(event.roots[0]) if hasattr(event.roots[0], "_data") else None
        if site is not None:
            self.report(
                "a penalty on gradients has no effect: autograd.grad was called without create_graph=True, so its result is a constant",
                "write autograd.grad(..., create_graph=True)",
                {"grad": site, "backward": event.site},
            )
