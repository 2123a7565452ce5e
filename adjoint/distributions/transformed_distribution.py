"""`TransformedDistribution`: what becomes of a distribution's samples under transforms."""

from __future__ import annotations

from typing import Any

from .._size import Size
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of f(x), where x has the base distribution and f is a list of transforms, the first of which comes first."""

    arg_constraints: Any = {}  # noqa: RUF012

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(t, Transform) for t in transforms):
                raise ValueError("transforms must be a Transform or a list of Transforms")
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        base_event_dim = len(base_distribution.event_shape)
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        transform = ComposeTransform(self.transforms)
        if len(base_shape) < transform.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {transform.domain.event_dim}, but got {base_shape}."
            )
        shape = Size(transform.forward_shape(base_shape))
        needed = Size(transform.inverse_shape(shape))
        if needed != base_shape:
            base_distribution = base_distribution.expand(needed[: len(needed) - base_event_dim])
        missing = transform.domain.event_dim - base_event_dim
        self.base_dist: Any = Independent(base_distribution, missing) if missing > 0 else base_distribution
        cut = len(shape) - transform.codomain.event_dim - max(-missing, 0)
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_transformed(TransformedDistribution, batch_shape, _instance)

    def _expand_transformed(self, cls: type, batch_shape: Any, _instance: Any, **attributes: Any) -> Any:
        """`expand` for a class whose state is the base distribution and the transforms, besides the given attributes."""
        new = self._get_checked_instance(cls, _instance)
        shape = Size(batch_shape)
        new.__dict__.update(attributes)
        if "transforms" not in attributes:
            new.transforms = self.transforms
        transform = ComposeTransform(new.transforms)
        base_shape = Size(transform.inverse_shape(shape + self.event_shape))
        if "base_dist" not in attributes:
            new.base_dist = self.base_dist.expand(base_shape[: len(base_shape) - len(self.base_dist.event_shape)])
        return new._finish_expanding(self, shape)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return bool(self.base_dist.has_rsample)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self.event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    def _transformed(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        event_dim = len(self.event_shape)
        total: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            total = total - _sum_rightmost(transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim)
            y = x
        result: Tensor = total + _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))
        return result

    def _monotonize_cdf(self, value: Tensor) -> Tensor:
        """Turn a probability round where the transforms are decreasing."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        turned: Tensor = sign * (value - 0.5) + 0.5
        return turned

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._monotonize_cdf(value)))
