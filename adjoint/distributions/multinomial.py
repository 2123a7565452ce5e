"""The multinomial distribution: how often each of K values comes up."""

from __future__ import annotations

from typing import Any

from .._creation import ones_like
from .._size import Size
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from . import constraints
from ._functions import broadcast_tensors
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """Counts of the values of `total_count` draws from a categorical distribution."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # noqa: RUF012
    total_count: int

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        shape = Size(batch_shape)
        new = self._get_checked_instance(Multinomial, _instance)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(shape)
        new._binomial = self._binomial.expand(shape + self._event_shape)
        return new._finish_expanding(self, shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        result: Tensor = self.total_count * self.probs * (1 - self.probs)
        return result

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            draws = self._categorical.sample(Size((self.total_count,)) + Size(sample_shape))
            draws = draws.movedim(0, -1)
            counts = self.probs.new_zeros(self._extended_shape(sample_shape))
            return counts.scatter_add_(-1, draws, ones_like(draws).to(counts.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_tensors(self.logits, value)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        # A value that is impossible and did not come up: 0 times minus infinity counts as 0.
        result: Tensor = ways + logits.masked_fill((value == 0) & (logits == -float("inf")), 0).mul(value).sum(-1)
        return result

    def entropy(self) -> Tensor:
        count = self.probs.new_tensor(float(self.total_count))
        categorical = self._categorical.entropy()
        term = count * categorical - (count + 1).lgamma()
        support = self._binomial.enumerate_support(expand=False)[1:]
        weights = self._binomial.log_prob(support).exp()
        return term + (weights * (support + 1).lgamma()).sum((0, -1))
