from __future__ import annotations

from typing import Any

import numpy as np

from ..._site import Site
from ..events import PerTensor, array_of
from ..finding import NOTE
from ..reading import rms
from ..rule import Rule

LARGE, SMALL, STEPS, LEAST, MOST = 0.3, 1e-8, 20, 16, 100_000
FIRST, OVERTURNED = 3, 1.0  # steps after which a large change may have made the weights large


class UpdateRatio(Rule):
    """Steps that change weights by a third of their size, or by next to nothing: the learning rate is far off."""

    name = "update-ratio"
    grade = NOTE

    def start(self) -> None:
        self.before = PerTensor()
        self.ratios = PerTensor()
        self.first = PerTensor()  # the size of a weight at the beginning

    def step(self, optimizer: Any, site: Site) -> None:
        if self.doctor.facts_of(optimizer).steps >= STEPS:
            return
        for parameter in optimizer._all_params():
            data = array_of(parameter)
            if data is not None and data.ndim >= 2 and LEAST <= data.size <= MOST and np.any(array_of(parameter._grad)):
                self.before[parameter] = data.copy()
                if parameter not in self.first:
                    self.first[parameter] = rms(data)

    def step_done(self, optimizer: Any, site: Site) -> None:
        facts = self.doctor.facts_of(optimizer)
        for parameter in optimizer._all_params() if facts.steps <= STEPS else ():
            before, now = self.before.get(parameter), array_of(parameter)
            if before is None or now is None or (size := rms(before)) < 1e-6 or self.first.get(parameter) < 1e-6:
                continue
            self.ratios[parameter] = [*self.ratios.get(parameter, []), rms(now - before) / size]
        if facts.steps == STEPS:
            self.judge(optimizer, facts, site)

    def judge(self, optimizer: Any, facts: Any, site: Site) -> None:
        for parameter in optimizer._all_params():
            ratios = self.ratios.get(parameter, [])
            if len(ratios) < STEPS - 2 or "Embedding" in type(self.doctor.owner_of(parameter)[0]).__name__:
                continue
            middle = first if (first := float(np.mean(ratios[:FIRST]))) > OVERTURNED else float(np.median(ratios))
            if not (middle > LARGE or middle < SMALL):
                continue
            what = "a third of its size and more" if middle > LARGE else "next to nothing"
            self.report(
                f"each step changes {self.doctor.names_of([parameter])} by {what}",
                "use a smaller learning rate" if middle > LARGE else "use a larger learning rate, or look for what scales the loss down",
                {"optimizer": facts.made, "step": site},
                id(optimizer),
                median_of_change_over_weight=middle,
            )
            return
