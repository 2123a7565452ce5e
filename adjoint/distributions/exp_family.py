"""Exponential families: densities of the form exp(<t(x), theta> - F(theta) + k(x))."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor
from ..autograd.differentiate import grad
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution whose entropy and divergences follow from its log normalizer F and natural parameters theta."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        """The mean of k(x)."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """F(theta) - <theta, grad F(theta)> - E[k(x)]: a Bregman divergence, by automatic differentiation."""
        parameters = [p.detach()._set_requires_grad(True) for p in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        slopes = grad(normalizer.sum(), parameters, create_graph=True)
        result: Tensor = normalizer - self._mean_carrier_measure
        for parameter, slope in zip(parameters, slopes, strict=True):
            result = result - (parameter * slope).reshape(*self._batch_shape, -1).sum(-1)
        return result
