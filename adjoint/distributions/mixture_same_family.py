"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

from .._size import Size
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Draws a component by `mixture_distribution`, and a sample from it. The components lie along their last batch dimension."""

    arg_constraints: Any = {}  # noqa: RUF012
    has_rsample = False

    def __init__(self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        mixture_shape, component_shape = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for ours, theirs in zip(reversed(mixture_shape), reversed(component_shape), strict=False):
            if 1 not in (ours, theirs) and ours != theirs:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture_shape}) is not compatible with "
                    f"`component_distribution.batch_shape`({component_shape})"
                )
        count, found = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1:]
        if found and found[0] != count:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` ({found[0]})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = count
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(component_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        shape = Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand((*shape, self._num_component))
        new._mixture_distribution = self._mixture_distribution.expand(shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return new._finish_expanding(self, shape, new._component_distribution.event_shape)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        return self._component_distribution

    def _over_components(self, x: Tensor) -> Tensor:
        """The mean over the components."""
        return (self._weights() * x).sum(-1 - self._event_ndims)

    def _weights(self) -> Tensor:
        probs = self._mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._over_components(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        inside = self._over_components(self._component_distribution.variance)
        apart = self._component_distribution.mean - self._padded(self.mean)
        return inside + self._over_components(apart.pow(2.0))

    def _padded(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def cdf(self, x: Tensor) -> Tensor:
        x = self._padded(x)
        return (self._component_distribution.cdf(x) * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        inside = self._component_distribution.log_prob(self._padded(x))
        choice = self._mixture_distribution.logits.log_softmax(-1)
        return (inside + choice).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            sample_shape = Size(sample_shape)
            which = self._mixture_distribution.sample(sample_shape)
            samples = self._component_distribution.sample(sample_shape)
            dim = len(sample_shape) + len(self._batch_shape)
            index = which.reshape((*which.shape, 1) + (1,) * self._event_ndims)
            index = index.expand((*samples.shape[:dim], 1, *self._event_shape))
            result: Tensor = samples.gather(dim, index).squeeze(dim)
            return result

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
