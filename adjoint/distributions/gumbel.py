"""The Gumbel distribution: the largest of many numbers."""

from __future__ import annotations

import math
from typing import Any

from .._creation import full_like
from .._dtype import finfo
from .._tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """`loc - scale * log(-log(u))` for a uniform number u."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = finfo(self.loc.dtype)
        base = Uniform(full_like(self.loc, info.tiny), full_like(self.loc, 1 - info.eps), validate_args=validate_args)
        super().__init__(base, self._steps(self.loc, self.scale), validate_args=validate_args)

    @staticmethod
    def _steps(loc: Tensor, scale: Tensor) -> list[Any]:
        log = ExpTransform().inv
        return [log, AffineTransform(loc=0, scale=-1.0), log, AffineTransform(loc=loc, scale=-scale)]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        loc, scale = self.loc.expand(batch_shape), self.scale.expand(batch_shape)
        return self._expand_transformed(Gumbel, batch_shape, _instance, loc=loc, scale=scale, transforms=self._steps(loc, scale))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
