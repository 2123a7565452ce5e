"""What the half-normal and the half-Cauchy distribution share: the absolute value of a number symmetric about zero."""

from __future__ import annotations

import math
from typing import Any

from .._tensor import Tensor
from . import constraints
from ._functions import where
from .cauchy import Cauchy
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform

__all__ = ["Folded"]


class Folded(TransformedDistribution):
    """|x| for x from a distribution of `scale` about zero: twice its density, on one side."""

    arg_constraints = {"scale": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    symmetric: type[Normal] | type[Cauchy]
    base_dist: Normal | Cauchy

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(self.symmetric(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return self.scale.detach() * 0

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
