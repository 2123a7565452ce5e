from __future__ import annotations

import numpy as np

from ..events import OpCall, array_of
from ..reading import before_views, node_of
from ..rule import Rule

TAKEN = {
    "cross_entropy": "Softmax",
    "log_softmax": "Softmax",
    "binary_cross_entropy_with_logits": "Sigmoid",
}


class SoftmaxTwice(Rule):
    """A loss that takes the softmax (or sigmoid) itself is given probabilities: it hardly learns."""

    name = "softmax-twice"

    def op(self, call: OpCall) -> None:
        kind = TAKEN.get(call.name)
        if kind is None:
            return
        scores = call.arguments["input"]
        made = before_views(node_of(scores))
        if made is None or made.name() != f"{kind}Backward0":
            return
        values = array_of(scores)
        span = "" if values is None or not values.size else f"{np.min(values):.3g} to {np.max(values):.3g}"
        self.report(
            f"{call.name} takes the {kind.lower()} itself, and is given the result of one",
            f"give it the scores before the {kind.lower()}",
            {"loss": call.site, kind.lower(): made.site},
            range_of_its_input=span,
        )
