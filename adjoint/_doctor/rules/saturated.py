from __future__ import annotations

import numpy as np

from ..._site import Site
from ..events import OpCall, Pass, PerTensor, array_of
from ..finding import NOTE
from ..rule import Rule

SHARE, EDGE, SIZE, TIMES, FIRST = 0.95, 0.99, 16, 3, 10


class Saturated(Rule):
    """Nearly all units of a sigmoid or tanh layer are at their limits from the beginning on, where the slope is zero.

    Gates, which multiply something else, may be open or closed.
    """

    name = "saturated"
    grade = NOTE

    def start(self) -> None:
        self.times: dict[Site, int] = {}
        self.shares: dict[Site, tuple[str, float]] = {}
        self.results = PerTensor()
        self.gates: set[Site] = set()  # lines whose results multiply others
        self.passes = 0

    def op(self, call: OpCall) -> None:
        if call.name == "mul":
            self.gates |= {site for x in call.arguments.values() if hasattr(x, "_data") and (site := self.results.get(x)) is not None}
        if call.name not in ("sigmoid", "tanh") or self.passes >= FIRST or not call.result.requires_grad:
            return
        data = array_of(call.result)
        if data is None or data.size < SIZE:
            return
        self.results[call.result] = call.site
        level = np.abs(data) if call.name == "tanh" else np.abs(2 * data - 1)
        share = float(np.mean(level > EDGE))
        self.times[call.site] = self.times.get(call.site, 0) + 1 if share > SHARE else 0
        self.shares[call.site] = call.name, share

    def backward(self, event: Pass) -> None:
        self.passes = event.number
        for site, times in self.times.items():
            if times >= TIMES and site not in self.gates:
                name, share = self.shares[site]
                self.report(
                    f"{share:.0%} of the results of {name} are at its limits, where its slope is next to zero",
                    "smaller initial weights, normalised inputs, or normalisation before it",
                    {name: site},
                )
