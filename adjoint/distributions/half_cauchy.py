"""The half-Cauchy distribution: the absolute value of a centred Cauchy number."""

from __future__ import annotations

import math
from typing import Any

from .._creation import full_like
from .._tensor import Tensor
from ._folded import Folded
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """|x| for x from `Cauchy(0, scale)`."""

    symmetric = Cauchy

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_transformed(HalfCauchy, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return full_like(self.scale.detach(), math.inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
