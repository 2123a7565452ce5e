from __future__ import annotations

from typing import Any

import numpy as np

from ..._site import Site
from ..events import Pass, PerTensor, array_of
from ..rule import Rule

SMALLEST = 2  # leaves whose gradients are looked at in every pass: a NaN spreads


class NonFinite(Rule):
    """The loss or a gradient is NaN or infinite, for the first time.

    A gradient scaler that skips the step has seen it, so only gradients that a step uses count.
    """

    name = "nonfinite"
    always = True

    def start(self) -> None:
        self.bad = PerTensor()  # gradients that are not finite, and the line of their backward
        self.said = False

    def backward(self, event: Pass) -> None:
        data = array_of(event.roots[0])
        if self.said or data is None or np.isfinite(data).all():
            return
        self.said = True
        broken = [leaf for leaf in event.leaves if (values := array_of(leaf)) is not None and not np.isfinite(values).all()]
        sites, message, fix = self.origin(event)
        if broken and all(any(facts.steps for facts in self.doctor.serving(leaf)) for leaf in broken):
            message, fix = f"{self.doctor.names_of(broken)} is not finite any more: the step before made it so", "use a smaller learning rate, or clip gradients"
        self.report(message, fix, {**sites, "backward": event.site}, "loss", loss=float(np.asarray(data).reshape(-1)[0]), passes_before=event.number - 1)

    def origin(self, event: Pass) -> tuple[dict[str, Site], str, str]:
        """Where the first value that is not finite came from."""
        from ..._blame import blame

        found = blame(event.roots[0])
        sites = {} if found.site is None else {"first bad value": found.site}
        return sites, found.message, found.advice

    def backward_done(self, event: Pass) -> None:
        if self.said:
            return
        for leaf in sorted(event.leaves, key=lambda leaf: leaf.numel())[:SMALLEST]:
            data = array_of(leaf._grad)
            if data is not None and not np.isfinite(data).all():
                self.bad[leaf] = event.site

    def step(self, optimizer: Any, site: Site) -> None:
        if self.said:
            return
        for parameter in optimizer._all_params():
            where = self.bad.get(parameter)
            data = array_of(parameter._grad)
            if where is not None and data is not None and not np.isfinite(data).all():
                self.said = True
                self.report(
                    f"the gradient of {self.doctor.names_of([parameter])} is not finite although the loss is: the step makes the parameter so too",
                    "a square root, norm or logarithm at 0 has an infinite slope: add a small constant inside it; "
                    "set_detect_anomaly(True) names the line",
                    {"backward": where, "step": site},
                    "gradient",
                    bad_elements=f"{int((~np.isfinite(data)).sum())} of {data.size}",
                )
                return
