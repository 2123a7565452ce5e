from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..._site import Site
from ..events import Pass
from ..rule import Rule

FIRST, RISES, FACTOR = 5, 3, 1e3


class Diverges(Rule):
    """The loss grows and grows: steps are too long."""

    name = "diverges"
    always = True

    def start(self) -> None:
        self.losses: dict[Site, list[float]] = {}

    def backward(self, event: Pass) -> None:
        value = abs(event.loss)
        if not np.isfinite(value):
            return
        losses = self.losses.setdefault(event.site, [])
        losses.append(value)
        start, last = losses[:FIRST], losses[FIRST:][-RISES - 1 :]
        del losses[FIRST : -RISES - 1]
        if len(last) <= RISES or value <= max(1.0, FACTOR * max(start)) or any(b <= a for a, b in pairwise(last)):
            return
        facts = next((facts for leaf in event.leaves for facts in self.doctor.serving(leaf) if facts.steps), None)
        self.report(
            "the loss diverges: it grows from step to step",
            "use a smaller learning rate (a tenth of it), or normalise the inputs; clipping gradients hides it at best",
            {"optimizer": None if facts is None else facts.made, "backward": event.site},
            largest_of_the_first_five=max(start),
            now=value,
            **({} if facts is None else {"learning_rate": rates(facts)}),
        )


def rates(facts: Any) -> str:
    optimizer = facts.optimizer()
    return "" if optimizer is None else ", ".join(f"{float(group['lr']):.3g}" for group in optimizer.param_groups if "lr" in group)
