from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from ..._site import Site
from ..events import array_of
from ..finding import NOTE
from ..reading import last_write, lines_like
from ..rule import Rule

LEAST = 16


class CopiedNotTied(Rule):
    """Two matrices of one optimizer begin with the same values: copied where they were meant to be shared.

    Where several pairs are equal, whole layers were copied (ensembles, stacks of layers), and that is meant.
    """

    name = "copied-not-tied"
    grade = NOTE

    def step(self, optimizer: Any, site: Site) -> None:
        facts = self.doctor.facts_of(optimizer)
        if facts.steps:
            return
        matrices = [p for p in optimizer._all_params() if p.ndim == 2 and p.numel() >= LEAST and array_of(p) is not None]
        pairs = [
            (a, b) for a, b in combinations(matrices, 2) if equal(array_of(a), array_of(b)) or equal(array_of(a), np.transpose(b._data))
        ]
        if len(pairs) != 1:
            return
        first, second = pairs[0]
        written = last_write(second) or last_write(first)
        self.report(
            f"{self.doctor.names_of([first])} and {self.doctor.names_of([second])} begin with the same values, and are trained apart",
            "to share a weight, assign the parameter itself: head.weight = embedding.weight; a copy goes its own way",
            {
                **lines_like(facts.made.code if facts.made else site.code, r"weight.*(\.clone\(|copy_\(|\.data\s*=|deepcopy)"),
                "written": written,
                "optimizer": facts.made,
            },
            id(optimizer),
            equal_elements=first.numel(),
        )


def equal(a: Any, b: Any) -> bool:
    return (
        a.shape == b.shape and not np.shares_memory(a, b) and np.array_equal(a, b) and len(np.unique(a)) > 2
    )  # zeros, ones and identity matrices are
