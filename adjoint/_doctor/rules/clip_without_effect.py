from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._site import Site
from ..events import Pass, array_of
from ..rule import Rule

TIMES = 2


class ClipWithoutEffect(Rule):
    """Gradients are clipped before they are there, or after the step has used them."""

    name = "clip-without-effect"

    def start(self) -> None:
        self.pending: tuple[Site, str, str] | None = None
        self.times: dict[Site, int] = {}

    def clip(self, parameters: list[Any], max_norm: float, total_norm: Any, site: Site) -> None:
        self.pending = None
        if not math.isfinite(max_norm):
            return  # it only measures
        present = [parameter for parameter in parameters if np.any(array_of(parameter._grad))]
        if not parameters:
            self.pending = site, "was given no parameters: a generator can be read only once", "give it model.parameters(), called anew"
        elif not present:
            self.pending = site, "comes before backward(), when there are no gradients yet", "clip between backward() and step()"
        elif all(map(self.doctor.was_used, present)):
            self.pending = site, "comes after step(), which has used the gradients already", "clip between backward() and step()"

    def backward(self, event: Pass) -> None:
        self.confirm()

    def zero_grad(self, owner: Any, parameters: list[Any], site: Site) -> None:
        self.confirm()

    def step(self, optimizer: Any, site: Site) -> None:
        self.pending = None if self.pending is None or "generator" not in self.pending[1] else self.pending
        self.confirm()

    def confirm(self) -> None:
        if self.pending is None:
            return
        site, why, fix = self.pending
        self.pending = None
        self.times[site] = self.times.get(site, 0) + 1
        if self.times[site] >= TIMES:
            self.report(f"clipping has no effect: it {why}", fix, {"clip": site})
