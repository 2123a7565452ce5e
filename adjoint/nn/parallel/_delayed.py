"""Gradients of some parameters that are averaged late, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._creation import zeros
from ..._tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...distributed import all_reduce, get_world_size
from ...distributed._buckets import DEFAULT_CAP
from ...distributed._replicas import broadcast_coalesced


class Delayed:
    """Parameters whose gradients lie in one tensor, which is averaged when the gradient of another parameter comes."""

    def __init__(self, parameters: Sequence[Tensor], trigger: Any, group: Any) -> None:
        self._parameters = parameters
        self._buffer = zeros(sum(one.numel() for one in parameters))
        parts = self._buffer.split([one.numel() for one in parameters])
        self._views = [part.view(one.shape) for part, one in zip(parts, parameters, strict=True)]
        broadcast_coalesced(group, parameters, DEFAULT_CAP)

        def average(gradient: Tensor) -> Tensor:
            with no_grad():
                all_reduce(self._buffer.div_(get_world_size(group)), group=group)
            return gradient

        trigger.register_hook(average)

    def reset(self) -> None:
        """Let gradients be added up where they are averaged."""
        for one, view in zip(self._parameters, self._views, strict=True):
            if one.grad is None:
                one.grad = view.zero_()
