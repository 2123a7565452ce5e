"""The categorical distribution: one of K values."""

from __future__ import annotations

from typing import Any

from .._dtype import finfo, int64
from .._ranges import arange
from .._size import Size
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from . import constraints
from ._functions import broadcast_tensors, multinomial
from .distribution import Distribution
from .utils import either, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Categorical"]


class Categorical(Distribution):
    """An index into the last dimension of `probs`, in proportion to which it is drawn, or of `logits`, their logarithms."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # noqa: RUF012
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if either(probs, logits):
            if probs.dim() < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            if logits.dim() < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expand_parameters(Categorical, batch_shape, _instance)
        new._num_events = self._num_events
        return new

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits)

    @property
    def _param(self) -> Tensor:
        return self.probs if "probs" in self.__dict__ else self.logits

    @property
    def param_shape(self) -> Size:
        result: Size = self._param.size()
        return result

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    def _undefined(self) -> Tensor:
        return self._param.new_full(self._extended_shape(), float("nan"))

    @property
    def mean(self) -> Tensor:
        """Not defined: the values are names."""
        return self._undefined()

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        """Not defined: the values are names."""
        return self._undefined()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        with no_grad():
            rows = multinomial(self.probs.reshape(-1, self._num_events), sample_shape.numel(), True)
            return rows.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        index, logits = value.to(int64).unsqueeze(-1), self.logits
        if value.shape != self._batch_shape:
            index, logits = broadcast_tensors(index, logits)
            index = index[..., :1]
        result: Tensor = logits.gather(-1, index).squeeze(-1)
        return result

    def entropy(self) -> Tensor:
        lowest = finfo(self.logits.dtype).min  # log(0) * 0 counts as 0
        return -(self.logits.clamp(min=lowest) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = arange(self._num_events, dtype=int64, device=self._param.device).view((-1,) + (1,) * len(self._batch_shape))
        result: Tensor = values.expand((-1, *self._batch_shape)) if expand else values
        return result
