"""The generalized Pareto distribution: what lies beyond a threshold."""

from __future__ import annotations

import math
from typing import Any

from .._sampling import rand
from .._tensor import Tensor
from . import constraints
from ._functions import where
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Numbers beyond `loc`, of density (1 + concentration z)**(-1/concentration - 1) / scale with z = (x - loc) / scale."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}  # noqa: RUF012
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_parameters(GeneralizedPareto, batch_shape, _instance)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)

    def _nearly_zero(self) -> Tensor:
        """Where the distribution is taken to be exponential."""
        return self.concentration.isclose(self.concentration.detach() * 0)

    def _safe_concentration(self) -> Tensor:
        return where(self._nearly_zero(), 1.0, self.concentration)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z, c = (value - self.loc) / self.scale, self._safe_concentration()
        exponent = where(self._nearly_zero(), -z, -(1 + 1 / c) * (c * z).log1p())
        return where(z < 0, -math.inf, exponent - self.scale.log())

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of more than this value."""
        if self._validate_args:
            self._validate_sample(value)
        z, c = (value - self.loc) / self.scale, self._safe_concentration()
        return where(self._nearly_zero(), -z, -(c * z).log1p() / c)

    def cdf(self, value: Tensor) -> Tensor:
        result: Tensor = 1.0 - self.log_survival_function(value).exp()
        return result

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def icdf(self, value: Tensor) -> Tensor:
        c, log_rest = self._safe_concentration(), (-value).log1p()
        z = where(self._nearly_zero(), -log_rest, (-c * log_rest).expm1() / c)
        return self.loc + self.scale * z

    @property
    def mean(self) -> Tensor:
        return where(self.concentration < 1, self.loc + self.scale / (1 - self.concentration), math.nan)

    @property
    def variance(self) -> Tensor:
        c = self.concentration
        return where(c < 0.5, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)
