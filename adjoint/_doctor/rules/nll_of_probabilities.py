from __future__ import annotations

import numpy as np

from ..events import OpCall, array_of
from ..rule import Rule


class NllOfProbabilities(Rule):
    """`nll_loss` takes logarithms of probabilities, which are never positive; it was given something else."""

    name = "nll-of-probabilities"

    def op(self, call: OpCall) -> None:
        if call.name != "nll_loss":
            return
        values = array_of(call.arguments["input"])
        if values is None or not values.size or np.min(values) < 0 or not np.any(values):
            return
        self.report(
            "nll_loss is given probabilities, not their logarithms: it has no lower bound that means anything",
            "use log_softmax instead of softmax before it, or cross_entropy on the scores",
            {"loss": call.site},
            range_of_its_input=f"{np.min(values):.3g} to {np.max(values):.3g}",
        )
