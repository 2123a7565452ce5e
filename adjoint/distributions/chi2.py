"""The chi-squared distribution: the sum of squares of standard normal numbers."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor
from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """A gamma distribution with concentration `df / 2` and rate 1/2."""

    arg_constraints = {"df": constraints.positive}  # noqa: RUF012

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Chi2, _instance)
        new.concentration, new.rate = self.concentration.expand(batch_shape), self.rate.expand(batch_shape)
        return new._finish_expanding(self, batch_shape)

    @property
    def df(self) -> Tensor:
        return self.concentration * 2
