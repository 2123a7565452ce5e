"""Parameters that are given either as probabilities or as logits."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor
from .distribution import Distribution
from .utils import broadcast_all, either, lazy_property, logits_to_probs, probs_to_logits


class BinaryParameters(Distribution):
    """The probability of a success, or its log-odds, whichever is given; the other one follows."""

    def _set_probs_or_logits(self, probs: Any, logits: Any, *others: Any) -> tuple[Tensor, ...]:
        """Keep the one that is given, broadcast with the other parameters, which are returned."""
        name, value = ("probs", probs) if either(probs, logits) else ("logits", logits)
        *others_, value = broadcast_all(*others, value)
        self.__dict__[name] = value
        return tuple(others_)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def _param(self) -> Tensor:
        return self.probs if "probs" in self.__dict__ else self.logits

    @property
    def param_shape(self) -> Any:
        return self._param.size()
