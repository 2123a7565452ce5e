from __future__ import annotations

from typing import Any

from ..._site import Site
from ..finding import NOTE
from ..rule import Rule

CALLS, SHARE, FACTOR = 50, 0.9, 100.0


class Exploding(Rule):
    """Clipping cuts nearly every gradient down to a hundredth and less: it hides what is wrong."""

    name = "exploding"
    grade = NOTE
    always = True

    def start(self) -> None:
        self.calls: dict[Site, list[float]] = {}

    def clip(self, parameters: list[Any], max_norm: float, total_norm: Any, site: Site) -> None:
        if total_norm is None or max_norm <= 0:
            return
        ratios = self.calls.setdefault(site, [])
        ratios.append(float(total_norm) / max_norm)
        if len(ratios) == CALLS:
            if sum(ratio > FACTOR for ratio in ratios) > SHARE * CALLS:
                self.report(
                    f"clipping is in force in nearly every step, with norms of more than {FACTOR:.0f} times what it allows",
                    "look for the cause: a learning rate or initial weights that are too large, inputs that are not normalised, a loss "
                    "that is a sum over the batch",
                    {"clip": site},
                    median_of_norm_over_limit=sorted(ratios)[CALLS // 2],
                    calls=CALLS,
                )
            ratios.clear()
