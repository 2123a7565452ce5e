from __future__ import annotations

from ..events import Pass
from ..rule import Rule

IN_A_ROW = 3


class MissingZeroGrad(Rule):
    """Backward adds to gradients that a step has used already, and that nobody has changed since.

    Who scales or sets gradients between the two knows what they are; `create_graph` is for those who differentiate through the step.
    """

    name = "missing-zero-grad"

    def start(self) -> None:
        self.times = 0

    def backward(self, event: Pass) -> None:
        again = [leaf for leaf in event.leaves if self.doctor.was_used(leaf)]
        if not again or event.create_graph:
            self.times = 0
            return
        self.times += 1
        if self.times >= IN_A_ROW:
            serving = next(self.doctor.serving(again[0]))
            self.report(
                "gradients are never dropped: this backward() adds to those that the last step has used already",
                "call optimizer.zero_grad() before backward(), once for each step",
                {"backward": event.site, "step": serving.stepped},
                passes_that_added_up=self.times,
                parameters=len(again),
            )
