"""`Independent`: batch dimensions made part of the event."""

from __future__ import annotations

from typing import Any

from .._size import Size
from .._tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import _sum_rightmost

__all__ = ["Independent"]


class Independent(Distribution):
    """A distribution of which the last `reinterpreted_batch_ndims` batch dimensions are counted as event dimensions."""

    arg_constraints: Any = {}  # noqa: RUF012

    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None:
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}"
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        batch_ndims = len(base_distribution.batch_shape) - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:batch_ndims], shape[batch_ndims:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Independent, _instance)
        shape = Size(batch_shape)
        new.base_dist = self.base_dist.expand(shape + self.event_shape[: self.reinterpreted_batch_ndims])
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
        return new._finish_expanding(self, shape)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return bool(self.base_dist.has_rsample)

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        return not self.reinterpreted_batch_ndims and bool(self.base_dist.has_enumerate_support)

    @constraints.dependent_property
    def support(self) -> Any:
        result = self.base_dist.support
        return constraints.independent(result, self.reinterpreted_batch_ndims) if self.reinterpreted_batch_ndims else result

    @property
    def mean(self) -> Tensor:
        mean: Tensor = self.base_dist.mean
        return mean

    @property
    def mode(self) -> Tensor:
        mode: Tensor = self.base_dist.mode
        return mode

    @property
    def variance(self) -> Tensor:
        variance: Tensor = self.base_dist.variance
        return variance

    def sample(self, sample_shape: Any = ()) -> Tensor:
        drawn: Tensor = self.base_dist.sample(sample_shape)
        return drawn

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn: Tensor = self.base_dist.rsample(sample_shape)
        return drawn

    def log_prob(self, value: Tensor) -> Tensor:
        total: Tensor = _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)
        return total

    def entropy(self) -> Tensor:
        total: Tensor = _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)
        return total

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        values: Tensor = self.base_dist.enumerate_support(expand=expand)
        return values

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
