from __future__ import annotations

from typing import Any

import numpy as np

from ..._site import Site
from ..events import PerTensor, array_of
from ..rule import Rule

TIMES = 2


class ZeroBeforeStep(Rule):
    """`zero_grad()` stands between `backward()` and `step()`, so that the step has nothing to go by."""

    name = "zero-before-step"

    def start(self) -> None:
        self.dropped = PerTensor()  # the line that dropped a gradient before any step used it
        self.times = 0

    def zero_grad(self, owner: Any, parameters: list[Any], site: Site) -> None:
        for parameter in parameters:
            unused = parameter._grad is not None and not self.doctor.was_used(parameter)
            self.dropped[parameter] = site if unused else None

    def step(self, optimizer: Any, site: Site) -> None:
        parameters = [parameter for parameter in optimizer._all_params() if parameter.requires_grad]
        lines = [line for parameter in parameters if (line := self.dropped.get(parameter)) is not None]
        for parameter in parameters:
            self.dropped[parameter] = None
        if not parameters or len(lines) < len(parameters) / 2 or not all(map(is_empty, parameters)):
            return
        self.times += 1
        if self.times >= TIMES:
            self.report(
                "step() finds no gradients: zero_grad() has dropped them between backward() and step()",
                "call zero_grad() before backward(), and step() right after it",
                {"zero_grad": lines[0], "step": site},
                steps_without_gradients=self.times,
            )


def is_empty(parameter: Any) -> bool:
    data = array_of(parameter._grad)
    return parameter._grad is None or (data is not None and not np.any(data))
