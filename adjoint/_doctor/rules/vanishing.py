from __future__ import annotations

from typing import Any

from ..._site import Site
from ..events import array_of
from ..reading import last_write, rms
from ..rule import Rule

LAYERS, STEP, SHARE, SMALL = 6, 5, 1e-4, 1e-8


class Vanishing(Rule):
    """The first layers of a deep network get next to no gradient."""

    name = "vanishing"

    def step(self, optimizer: Any, site: Site) -> None:
        facts = self.doctor.facts_of(optimizer)
        if facts.steps + 1 != STEP:
            return
        matrices = [p for p in optimizer._all_params() if p.ndim >= 2 and array_of(p._grad) is not None]
        if len(matrices) < LAYERS or "Embedding" in type(self.doctor.owner_of(matrices[0])[0]).__name__:
            return
        sizes = [rms(array_of(p._grad)) for p in matrices]  # type: ignore[arg-type]
        if 0 < sizes[0] < SMALL and sizes[0] < SHARE * max(sizes):
            self.report(
                f"gradients vanish on their way down: that of {self.doctor.names_of(matrices[:1])} is next to nothing",
                "use relu or tanh instead of sigmoid, normalisation or residual connections, and an initialisation for this depth",
                {
                    "made": self.doctor.made(self.doctor.owner_of(matrices[0])[0]),
                    "initialised": last_write(matrices[0]),
                    "optimizer": facts.made,
                },
                id(optimizer),
                first_layer=sizes[0],
                largest=max(sizes),
                layers=len(matrices),
            )
