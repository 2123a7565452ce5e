from __future__ import annotations

from typing import Any

import numpy as np

from ..events import Pass, array_of
from ..reading import last_write, lines_like
from ..rule import Rule

PASSES = 4
CONSTANT = r"\.data\.(fill_|zero_)|\.fill_\(|constant_\(|zeros_\(|ones_\(|(ones|full)\(.*requires_grad"  # how such lines look


class Symmetric(Rule):
    """All units of a layer have the same weights and get the same gradients: they stay the same for ever."""

    name = "symmetric"

    def backward_done(self, event: Pass) -> None:
        if event.number > PASSES or self.reports:
            return
        for leaf in event.leaves:
            weight, gradient = array_of(leaf), array_of(leaf._grad)
            if weight is None or gradient is None or weight.ndim < 2 or not np.any(gradient):
                continue
            units = [x.shape[0] for x, g in ((weight, gradient), (weight.T, gradient.T)) if len(x) > 1 and rows_equal(x) and rows_equal(g)]
            if units and weight.size > 4:
                made = self.doctor.made(self.doctor.owner_of(leaf)[0])
                self.report(
                    f"all units of {self.doctor.names_of([leaf])} have equal weights and equal gradients: they stay the same for ever",
                    "start weights with random numbers: nn.init.kaiming_uniform_ or xavier_uniform_; only biases may be constant",
                    {"initialised": last_write(leaf), **lines_like(event.site.code, CONSTANT), "made": made},
                    id(leaf),
                    units=units[0],
                )
                return


def rows_equal(array: Any) -> bool:
    flat = array.reshape(array.shape[0], -1)
    return bool((flat == flat[0]).all())
