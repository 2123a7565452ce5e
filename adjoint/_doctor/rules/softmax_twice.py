from __future__ import annotations

import numpy as np

from ..events import OpCall, array_of
from ..rule import Rule

LOSSES = {"cross_entropy", "log_softmax"}


class SoftmaxTwice(Rule):
    """`cross_entropy` takes the softmax itself; given probabilities, it hardly learns."""

    name = "softmax-twice"

    def op(self, call: OpCall) -> None:
        if call.name not in LOSSES:
            return
        scores = call.arguments["input"]
        made = getattr(scores, "grad_fn", None)
        if made is None or not made.name().startswith("SoftmaxBackward"):
            return
        values = array_of(scores)
        self.report(
            f"{call.name} is given probabilities: softmax is taken twice",
            "give it the scores before the softmax (it takes the softmax itself)",
            {"loss": call.site, "softmax": made.site},
            **({} if values is None else {"range_of_its_input": f"{values.min():.3g} to {values.max():.3g}", "sum_of_a_row": float(np.sum(values[0]))}),
        )
