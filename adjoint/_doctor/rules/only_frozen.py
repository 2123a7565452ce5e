from __future__ import annotations

from typing import Any

from ..._site import Site
from ..rule import Rule


class OnlyFrozen(Rule):
    """Nothing that the optimizer has requires grad."""

    name = "only-frozen"

    def step(self, optimizer: Any, site: Site) -> None:
        parameters = optimizer._all_params()
        if parameters and not any(parameter.requires_grad for parameter in parameters):
            made = self.doctor.facts_of(optimizer).made
            self.report(
                "the optimizer has frozen parameters only: its steps change nothing",
                "freeze only the layers that shall stay as they are, and give the optimizer those that shall learn",
                {"optimizer": made, "step": site},
                id(optimizer),
                parameters=len(parameters),
            )
