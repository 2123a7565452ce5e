"""The von Mises distribution: the normal distribution's counterpart on a circle."""

from __future__ import annotations

import math
from typing import Any

from .._dtype import float64
from .._sampling import rand
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..ops.special import i0e, i1e
from . import constraints
from ._functions import where
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles of density in proportion to `exp(concentration * cos(x - loc))`; samples lie in [-pi, pi)."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}  # noqa: RUF012
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(VonMises, _instance)
        new.loc, new.concentration = self.loc.expand(batch_shape), self.concentration.expand(batch_shape)
        return new._finish_expanding(self, batch_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        normalizer: Tensor = math.log(2 * math.pi) + i0e(self.concentration).log() + self.concentration
        return self.concentration * (value - self.loc).cos() - normalizer

    @lazy_property
    def _proposal_r(self) -> Tensor:
        """The parameter of the wrapped Cauchy distribution that proposes samples, in float64."""
        kappa = self.concentration.to(float64)
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """By rejection (Best and Fisher, 1979)."""
        with no_grad():
            shape = self._extended_shape(sample_shape)
            kappa, r = self.concentration.to(float64), self._proposal_r
            angle = kappa.new_empty(shape)
            done = kappa.new_zeros(shape).bool()
            while not done.all():
                u1, u2, u3 = rand((3, *shape), dtype=float64, device=kappa.device).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                angle = where(accept, (u3 - 0.5).sign() * f.acos(), angle)
                done = done | accept
            result: Tensor = ((angle + math.pi + self.loc.to(float64)) % (2 * math.pi) - math.pi).to(self.loc.dtype)
            return result

    @property
    def mean(self) -> Tensor:
        """The circular mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance."""
        ratio: Tensor = i1e(self.concentration) / i0e(self.concentration)
        result: Tensor = 1 - ratio
        return result
