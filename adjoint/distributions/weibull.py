"""The Weibull distribution: the time until an event whose rate changes as a power of time."""

from __future__ import annotations

from typing import Any

from .._creation import ones_like
from .._tensor import Tensor
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """`scale * x**(1 / concentration)` for x from `Exponential(1)`."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}  # noqa: RUF012
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        steps = self._steps(self.scale, self.concentration_reciprocal)
        super().__init__(base, steps, validate_args=validate_args)

    @staticmethod
    def _steps(scale: Tensor, exponent: Tensor) -> list[Any]:
        return [PowerTransform(exponent), AffineTransform(loc=0, scale=scale)]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        scale, concentration = self.scale.expand(batch_shape), self.concentration.expand(batch_shape)
        return self._expand_transformed(
            Weibull, batch_shape, _instance, scale=scale, concentration=concentration, concentration_reciprocal=concentration.reciprocal(),
            transforms=self._steps(scale, concentration.reciprocal()),
        )  # fmt: skip

    @property
    def mean(self) -> Tensor:
        return self.scale * (1 + self.concentration_reciprocal).lgamma().exp()

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        first, second = (1 + self.concentration_reciprocal).lgamma(), (1 + 2 * self.concentration_reciprocal).lgamma()
        return self.scale.pow(2) * (second.exp() - (2 * first).exp())

    def entropy(self) -> Tensor:
        result: Tensor = euler_constant * (1 - self.concentration_reciprocal) + (self.scale * self.concentration_reciprocal).log() + 1
        return result
