"""PyTorch's `torch.distributed.optim`: optimizers whose state is divided over processes. One process has all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._homes import settle
from .._standing import inert, refused
from ..optim import Optimizer
from ._groups import get_rank

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]
__path__: list[str] = []


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer of another class, with all of its state in this process."""

    def __init__(
        self, params: Any, optimizer_class: type[Optimizer], process_group: Any = None, parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False, **defaults: Any,
    ) -> None:  # fmt: skip
        get_rank(process_group)  # an error where there is no group
        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer: adjoint steps when step() is called; write overlap_with_ddp=False")
        self.optim: Any = optimizer_class(params, **defaults)
        self._optim_defaults, self._optim_constructor = defaults, optimizer_class
        super().__init__(self.optim.param_groups, self.optim.defaults)
        self.param_groups, self.state = self.optim.param_groups, self.optim.state

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        return self.optim.step(closure, **kwargs)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        if self.param_groups is not self.optim.param_groups and param_group not in self.optim.param_groups:
            self.optim.add_param_group(param_group)

    @inert("the state is whole")
    def consolidate_state_dict(self, to: int = 0) -> None:
        """Nothing happens."""

    def state_dict(self) -> dict[str, Any]:
        return self.optim.state_dict()  # type: ignore[no-any-return]

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self.optim.load_state_dict(state_dict)
        self.param_groups, self.state = self.optim.param_groups, self.optim.state


@refused("adjoint calls no optimizers of other processes; make the optimizer itself", RuntimeError)
class DistributedOptimizer:
    """Optimizers in several processes."""


@refused("there is one process, and no others to average parameters with; use the optimizer itself", RuntimeError)
class PostLocalSGDOptimizer(Optimizer):
    """An optimizer that averages parameters over processes now and then."""


settle(__name__, {"zero_redundancy_optimizer": ("",), "post_localSGD_optimizer": ("",), "optimizer": ("",)})
