from __future__ import annotations

from typing import Any

import numpy as np

from ..._blame import Finding, answer
from ..._site import Site
from ..events import Pass, PerTensor, array_of
from ..reading import node_of
from ..rule import Rule
from .hidden_write import arrays_of

SMALLEST = 2  # leaves whose gradients are looked at in every pass: a NaN spreads
RARELY = 10  # passes of which gradients are looked at in one
LOOKS = 3  # passes that are run once more for looking
SINGULAR = (
    "Sqrt",
    "Rsqrt",
    "Pow",
    "Norm",
    "LinalgVectorNorm",
    "Log",
    "Reciprocal",
    "Div",
    "Acos",
    "Asin",
    "Atan",
    "Cdist",
    "Std",
    "CosineS",
)


class NonFinite(Rule):
    """The loss or a gradient is NaN or infinite, for the first time; `blame` says where it was born.

    A gradient scaler that skips the step has seen it, so only gradients that a step uses count.
    """

    name = "nonfinite"
    always = True

    def start(self) -> None:
        self.bad = PerTensor()  # gradients that are not finite, and the line of their backward
        self.origin: Finding | None = None
        self.looks = 0
        self.said = False

    def backward(self, event: Pass) -> None:
        root = event.roots[0]
        data = array_of(root)
        if self.said or data is None:
            return
        if np.isfinite(data).all():
            if self.doctor.looking and self.looks < LOOKS and any(map(is_singular, event.nodes)):
                self.looks += 1
                self.origin = answer(root) or None  # while its values are there: backward frees them
            return
        node = node_of(root)
        if node is not None and ".scale(" in node.site.text:  # a gradient scaler, which will skip the step if it is as it should be
            self.origin = answer(root) or None
            return
        self.said = True
        broken = [leaf for leaf in event.leaves if (values := array_of(leaf)) is not None and not np.isfinite(values).all()]
        if broken and all(any(facts.steps for facts in self.doctor.serving(leaf)) for leaf in broken):
            message = f"{self.doctor.names_of(broken)} is not finite any more: the step before made it so"
            self.tell(event.site, message, "use a smaller learning rate, or clip gradients", None)
        else:
            found = answer(root)
            self.tell(event.site, found.message, repair_of(found), found)

    def tell(self, site: Site, message: str, fix: str, found: Finding | None) -> None:
        seen: dict[str, Any] = {} if found is None else {role: known.text for role, known in found.ranges.items()}
        if found is not None and found.samples:
            seen["samples"] = listed(found.samples)
        message = message[:1].lower() + message[1:].removesuffix(".")
        self.report(message, fix, {**({} if found is None else found.sites), "backward": site}, "first", **seen)

    def backward_done(self, event: Pass) -> None:
        if self.said or (not self.doctor.looking and event.number % RARELY):
            return
        for leaf in sorted(event.leaves, key=lambda leaf: leaf.numel())[:SMALLEST]:
            data = array_of(leaf._grad)
            if data is not None and not np.isfinite(data).all():
                self.bad[leaf] = event.site

    def step(self, optimizer: Any, site: Site) -> None:
        if self.said:
            return
        for parameter in optimizer._all_params():
            where, data = self.bad.get(parameter), array_of(parameter._grad)
            if where is not None and data is not None and not np.isfinite(data).all():
                self.said = True
                fix = "a root, norm or logarithm at 0 has an infinite slope: add a small constant inside it"
                if self.origin is not None:
                    self.tell(where, self.origin.message, repair_of(self.origin), self.origin)
                else:
                    self.tell(where, f"the gradient of {self.doctor.names_of([parameter])} is not finite although the loss is", fix, None)
                return


def repair_of(found: Finding) -> str:
    return f"write {found.rewrite}" if found.rewrite else found.advice


def listed(samples: tuple[int, ...], most: int = 8) -> str:
    return ", ".join(map(str, samples[:most])) + (f" and {len(samples) - most} more" if len(samples) > most else "")


def is_singular(node: Any) -> bool:
    """Whether a node may have been evaluated where its slope is infinite."""
    return node.name().startswith(SINGULAR) and any(not np.all(array) or not np.isfinite(array).all() for array in arrays_of(node))
