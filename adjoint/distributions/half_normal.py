"""The half-normal distribution: the absolute value of a centred normal number."""

from __future__ import annotations

import math
from typing import Any

from .._tensor import Tensor
from ._folded import Folded
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Folded):
    """|x| for x from `Normal(0, scale)`."""

    symmetric = Normal

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_transformed(HalfNormal, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
