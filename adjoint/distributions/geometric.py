"""The geometric distribution: failures before the first success."""

from __future__ import annotations

from typing import Any

from .._dtype import finfo
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..ops.loss import binary_cross_entropy_with_logits
from . import constraints
from ._functions import where
from ._probs import BinaryParameters
from .utils import all_true, broadcast_all

__all__ = ["Geometric"]


class Geometric(BinaryParameters):
    """The number of failures before a success, which each time has probability `probs`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # noqa: RUF012
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_probs_or_logits(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None and not all_true(self.probs > 0):
            bad = self.probs[self.probs <= 0]
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of distribution {self!r} "
                f"to be positive but found invalid values:\n{bad}"
            )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_parameters(Geometric, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return self.probs.detach() * 0

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            u = self.probs.new_empty(self._extended_shape(sample_shape)).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = where((probs == 1) & (value == 0), 0.0, probs)  # no failure where none is possible: log 1
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        result: Tensor = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
        return result
