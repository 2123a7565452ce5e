from __future__ import annotations

from itertools import pairwise
from typing import Any

from ..._site import Site
from ..events import OpCall, array_of
from ..reading import class_targets
from ..rule import Rule

BATCHES, LEAST = 6, 4
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")  # real and fake alternate in one line of an adversarial training


class SortedBatches(Rule):
    """Each batch holds one class only, and the class changes: the data are sorted, and not shuffled."""

    name = "sorted-batches"

    def start(self) -> None:
        self.classes: dict[Site, list[int]] = {}
        self.loaders: list[tuple[Any, Site]] = []

    def loader_made(self, loader: Any, site: Site) -> None:
        self.loaders.append((type(loader.sampler).__name__, site))

    def op(self, call: OpCall) -> None:
        if call.name not in ("cross_entropy", "nll_loss", *BINARY) or not call.result.requires_grad:
            return
        target = array_of(call.arguments["target"]) if call.name in BINARY else class_targets(call.arguments["target"])
        if target is None or target.size < LEAST:
            return
        seen = self.classes.setdefault(call.site, [])
        if target.min() != target.max():
            seen.clear()
            return
        seen.append(int(target.reshape(-1)[0]))
        changes = sum(a != b for a, b in pairwise(seen))
        if (
            len(seen) >= (BATCHES if call.name not in BINARY else 2 * BATCHES)
            and 1 <= changes
            and (call.name not in BINARY or changes <= len(seen) / 4)
        ):
            sorted_loaders = [site for sampler, site in self.loaders if sampler == "SequentialSampler"]
            self.report(
                f"{len(seen)} batches in a row hold one class each: the data are sorted by class",
                "DataLoader(..., shuffle=True), or shuffle the samples before they are cut into batches",
                {**({"loader": sorted_loaders[0]} if sorted_loaders else {}), "loss": call.site},
                call.site,
                classes=seen[:BATCHES],
            )
