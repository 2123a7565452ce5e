"""PyTorch's `torch.distributed.optim`: optimizers that several processes share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._homes import settle
from .._site import warn
from .._standing import refused
from ..optim import Optimizer
from ._zero import ZeroRedundancyOptimizer

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]
__path__: list[str] = []


@refused("adjoint calls no optimizers of other processes; make the optimizer itself", RuntimeError)
class DistributedOptimizer:
    """Optimizers in several processes."""


class PostLocalSGDOptimizer(Optimizer):
    """An optimizer after whose steps an averager averages parameters over processes, when it is time for it."""

    def __init__(self, optim: Optimizer, averager: Any) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = self.optim.step(closure)
        self.averager.average_parameters(self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optim.zero_grad(set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        self.optim.add_param_group(param_group)

    def state_dict(self) -> dict[str, Any]:
        """That of the optimizer, and how often the averager was called."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self.optim.load_state_dict(state_dict)
        self.param_groups = self.optim.param_groups
        if "step" in state_dict:
            self.averager.step = state_dict["step"]
        else:
            warn("Loaded state dict does not contain a step counter for an averager. Setting step counter to 0.")
            self.averager.step = 0


settle(__name__, {name: ("optim",) for name in ("zero_redundancy_optimizer", "post_localSGD_optimizer", "optimizer")}, __package__)
