from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd.node import Node
from ..events import OpCall, array_of
from ..finding import FINDING, NOTE
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
        made, values = before_views(node_of(scores)), array_of(scores)
        if made is not None and made.name() == "ExpBackward0" and kind == "Softmax":
            before = before_views(next((edge for edge in made.next if isinstance(edge, Node)), None))
            certain = before is not None and before.name() == "LogSoftmaxBackward0"
        else:
            certain = made is not None and made.name() == f"{kind}Backward0"
        if made is None or values is None or not (certain or (kind == "Softmax" and is_distribution(values))):
            return
        self.report(
            f"{call.name} takes the {kind.lower()} itself, and is given the result of one",
            f"give it the scores before the {kind.lower()}",
            {"loss": call.site, "probabilities": made.site},
            grade=FINDING if certain else NOTE,
            range_of_its_input=f"{np.min(values):.3g} to {np.max(values):.3g}" if values.size else "",
        )


def is_distribution(values: Any) -> bool:
    """Whether all rows are probabilities that add up to one."""
    return (
        values.ndim == 2
        and values.shape[1] > 1
        and values.min() >= 0
        and bool(np.allclose(values.sum(1), 1, atol=1e-4))
        and len(values) > 3
    )
