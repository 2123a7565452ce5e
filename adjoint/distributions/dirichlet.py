"""The Dirichlet distribution, on vectors of positive numbers with the sum 1."""

from __future__ import annotations

from typing import Any

from .._creation import zeros_like
from .._tensor import Tensor
from ..ops.pathwise import _sample_dirichlet
from . import constraints
from ._functions import where
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """The shares of gamma distributed numbers in their sum."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}  # noqa: RUF012
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_parameters(Dirichlet, batch_shape, _instance)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn: Tensor = _sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))
        return drawn

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        c = self.concentration
        result: Tensor = (c - 1.0).xlogy(value).sum(-1) + c.sum(-1).lgamma() - c.lgamma().sum(-1)
        return result

    @property
    def mean(self) -> Tensor:
        result: Tensor = self.concentration / self.concentration.sum(-1, True)
        return result

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        # Where no concentration is above 1, the density grows beyond bounds in every corner. As PyTorch, we take the first one.
        first = zeros_like(mode)
        first[..., 0] = 1.0
        return where((self.concentration < 1).all(-1, keepdim=True), first, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        result: Tensor = self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))
        return result

    def entropy(self) -> Tensor:
        c = self.concentration
        k, total = c.size(-1), c.sum(-1)
        result: Tensor = c.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma() - ((c - 1.0) * c.digamma()).sum(-1)
        return result

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Tensor:
        total: Tensor = x.lgamma().sum(-1) - x.sum(-1).lgamma()
        return total
