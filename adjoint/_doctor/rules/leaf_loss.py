from __future__ import annotations

from ..._site import Site
from ..._tensor import Tensor
from ...autograd.causes import why_cut
from ...autograd.node import Cut
from ..events import Pass
from ..reading import lines_like
from ..rule import Rule


class LeafLoss(Rule):
    """`backward()` of a loss that is a leaf: its history was cut off, and `requires_grad = True` silenced the error."""

    name = "leaf-loss"

    def backward(self, event: Pass) -> None:
        root = event.roots[0]
        if len(event.roots) > 1 or not isinstance(root, Tensor) or not root.is_leaf:
            return
        cut = root.__dict__.get("_cut")
        reason = why_cut(cut) if isinstance(cut, Cut) else None
        if reason is None and any(facts.steps for facts in self.doctor.serving(root)):
            return  # a parameter is minimised itself
        where: dict[str, Site | None] = {} if reason is None else {f"cut by {reason.how}": reason.site}
        if reason is None or reason.site is None:
            where = lines_like(event.site.code, r"requires_grad(_\(|\s*=\s*True)")
        self.report(
            "backward() gives a gradient to nothing but the loss: it has no history, and requires_grad = True does not bring it back",
            reason.advice if reason is not None else "compute the loss from the model's output, and do not make a new tensor of it",
            {**where, "backward": event.site},
        )
