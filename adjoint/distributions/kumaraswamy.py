"""The Kumaraswamy distribution: like the beta distribution, with a simple distribution function."""

from __future__ import annotations

import math
from typing import Any

from .._creation import full_like
from .._tensor import Tensor
from . import constraints
from ._functions import where
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Numbers between 0 and 1 with `cdf(x) = 1 - (1 - x**concentration1)**concentration0`."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}  # noqa: RUF012
    support = constraints.unit_interval

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(full_like(self.concentration0, 0), full_like(self.concentration0, 1), validate_args=validate_args)
        super().__init__(base, self._steps(self.concentration1, self.concentration0), validate_args=validate_args)

    @staticmethod
    def _steps(concentration1: Tensor, concentration0: Tensor) -> list[Any]:
        turn = AffineTransform(loc=1.0, scale=-1.0)
        return [PowerTransform(concentration0.reciprocal()), turn, PowerTransform(concentration1.reciprocal())]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        c1, c0 = self.concentration1.expand(batch_shape), self.concentration0.expand(batch_shape)
        return self._expand_transformed(
            Kumaraswamy, batch_shape, _instance, concentration1=c1, concentration0=c0, transforms=self._steps(c1, c0)
        )

    def _moment(self, n: int) -> Tensor:
        """The mean of x**n."""
        first, second = 1 + n / self.concentration1, self.concentration0
        return (second.log() + first.lgamma() + second.lgamma() - (first + second).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = a.reciprocal() * (-b).log1p() - (-a * b).log1p()
        return where((a < 1) | (b < 1), math.nan, log_mode.exp())

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1.reciprocal(), self.concentration0.reciprocal()
        harmonic = (self.concentration0 + 1).digamma() + euler_constant
        result: Tensor = (1 - b) + (1 - a) * harmonic + a.log() + b.log()
        return result
