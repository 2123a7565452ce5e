"""The Bernoulli distribution: ones and zeros."""

from __future__ import annotations

import math
from typing import Any

from .._ranges import arange
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..ops.loss import binary_cross_entropy_with_logits
from . import constraints
from ._functions import bernoulli, where
from ._probs import BinaryParameters
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(BinaryParameters, ExponentialFamily):
    """1 with probability `probs`, otherwise 0. `logits` are the log-odds."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # noqa: RUF012
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_probs_or_logits(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_parameters(Bernoulli, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return where(self.probs == 0.5, math.nan, (self.probs > 0.5).to(self.probs.dtype))

    @property
    def variance(self) -> Tensor:
        result: Tensor = self.probs * (1 - self.probs)
        return result

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return bernoulli(self._repeated(self.probs, self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        result: Tensor = -binary_cross_entropy_with_logits(logits, value, reduction="none")
        return result

    def entropy(self) -> Tensor:
        result: Tensor = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return result

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = arange(2, dtype=self._param.dtype, device=self._param.device).view((-1,) + (1,) * len(self._batch_shape))
        result: Tensor = values.expand((-1, *self._batch_shape)) if expand else values
        return result

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.probs.logit(),)

    def _log_normalizer(self, x: Any) -> Tensor:
        total: Tensor = x.exp().log1p()
        return total
