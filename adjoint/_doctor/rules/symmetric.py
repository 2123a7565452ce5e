from __future__ import annotations

from typing import Any

import numpy as np

from ..._site import Site
from ..events import array_of
from ..reading import last_write
from ..rule import Rule


class Symmetric(Rule):
    """All units of a layer have the same weights and get the same gradients: they stay the same for ever."""

    name = "symmetric"

    def step(self, optimizer: Any, site: Site) -> None:
        facts = self.doctor.facts_of(optimizer)
        if facts.steps:
            return
        for parameter in optimizer._all_params():
            weight, gradient = array_of(parameter), array_of(parameter._grad)
            if weight is None or gradient is None or weight.ndim < 2 or weight.shape[0] < 2:
                continue
            if rows_equal(weight) and rows_equal(gradient) and np.any(gradient):
                written = last_write(parameter)
                made = {"initialised": written} if written is not None else {} if facts.made is None else {"optimizer": facts.made}
                self.report(
                    f"all rows of {self.doctor.names_of([parameter])} are equal, and so are those of its gradient: its units stay the same for ever",
                    "start weights with random numbers: nn.init.kaiming_uniform_ or xavier_uniform_; only biases may be constant",
                    made,
                    id(parameter),
                    units=weight.shape[0],
                )
                return


def rows_equal(array: Any) -> bool:
    flat = array.reshape(array.shape[0], -1)
    return bool((flat == flat[0]).all())
