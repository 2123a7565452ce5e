"""The continuous Bernoulli distribution: a density on [0, 1] in proportion to probs**x (1 - probs)**(1 - x)."""

from __future__ import annotations

import math
from typing import Any

from .._sampling import rand
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..ops.loss import binary_cross_entropy_with_logits
from . import constraints
from ._functions import where
from ._probs import BinaryParameters
from .exp_family import ExponentialFamily
from .utils import all_true, broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(BinaryParameters, ExponentialFamily):
    """Between `lims` the formulas divide zero by zero, and Taylor series about 1/2 stand for them."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # noqa: RUF012
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None
    ) -> None:
        self._set_probs_or_logits(probs, logits)
        if probs is not None:
            if validate_args is not None and not all_true(constraints.unit_interval.check(self.probs)):
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expand_parameters(ContinuousBernoulli, batch_shape, _instance)
        new._lims = self._lims
        return new

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _safe_probs(self) -> Tensor:
        """The probabilities, and some other number where the series are used."""
        return where(self._outside(), self.probs, self._lims[0])

    def _log_norm(self) -> Tensor:
        """The logarithm of 2 atanh(1 - 2 p) / (1 - 2 p)."""
        p = self._safe_probs()
        exact = ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log()
        x = (self.probs - 0.5).pow(2)
        return where(self._outside(), exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        p, x = self._safe_probs(), self.probs - 0.5
        exact = p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log())
        return where(self._outside(), exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        p, x = self._safe_probs(), (self.probs - 0.5).pow(2)
        exact = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / ((-p).log1p() - p.log()).pow(2)
        return where(self._outside(), exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def _uniform(self, sample_shape: Any) -> Tensor:
        return rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return self.icdf(self._uniform(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(self._uniform(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        result: Tensor = self._log_norm() - binary_cross_entropy_with_logits(logits, value, reduction="none")
        return result

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p = self._safe_probs()
        exact = (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = where(self._outside(), exact, value)
        return where(value <= 0.0, 0.0, where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        p = self._safe_probs()
        exact = ((-p + value * (2.0 * p - 1.0)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return where(self._outside(), exact, value)

    def entropy(self) -> Tensor:
        log_zero, log_one = (-self.probs).log1p(), self.probs.log()
        return self.mean * (log_zero - log_one) - self._log_norm() - log_zero

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Tensor:
        """log((exp(x) - 1) / x), for natural parameters."""
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        safe = where(outside, x, (self._lims[0] - 0.5) * x.detach().mul(0).add(1))
        return where(outside, safe.expm1().abs().log() - safe.abs().log(), 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
