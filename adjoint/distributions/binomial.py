"""The binomial distribution: the number of successes."""

from __future__ import annotations

from typing import Any

from .._ranges import arange
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from . import constraints
from ._functions import binomial
from ._probs import BinaryParameters

__all__ = ["Binomial"]


class Binomial(BinaryParameters):
    """The number of successes in `total_count` trials, each with probability `probs`."""

    arg_constraints = {  # noqa: RUF012
        "total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real
    }  # fmt: skip
    has_enumerate_support = True
    total_count: Tensor

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        (count,) = self._set_probs_or_logits(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_parameters(Binomial, batch_shape, _instance)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        result: Tensor = self.total_count * self.probs * (1 - self.probs)
        return result

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self._repeated(self.total_count, shape), self._repeated(self.probs, shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        count, logits = self.total_count, self.logits
        ways = (count + 1).lgamma() - (value + 1).lgamma() - (count - value + 1).lgamma()
        # count * log(1 + exp(logits)) without overflow, and with the right gradient at 0
        normalizer = count * (logits + logits.abs()) / 2 + count * (-logits.abs()).exp().log1p()
        return value * logits + ways - normalizer

    def entropy(self) -> Tensor:
        count = int(self.total_count.max())
        if self.total_count.min() != count:
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = int(self.total_count.max())
        if self.total_count.min() != count:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        result: Tensor = values.expand((-1, *self._batch_shape)) if expand else values
        return result
