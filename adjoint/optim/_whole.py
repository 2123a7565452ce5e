"""Optimizers whose update looks at a whole parameter at a time, where `_elementwise` looks at each element by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._quiet import mute, unmute
from .._site import StepSite, here, make_tuple
from .._tensor import Tensor
from ..autograd.views import check_writable, counter_of
from ._elementwise import numeric, with_grad
from .optimizer import Group, Optimizer

Array = Any


class Whole(Optimizer):
    """The base class of these optimizers."""

    def begin(self, param: Tensor) -> dict[str, Any]:
        """The state of a parameter before its first step."""
        raise NotImplementedError

    def update(self, group: Group, state: dict[str, Any], param: Array, grad: Array) -> None:
        """The formulas, in place."""
        raise NotImplementedError

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients. A `closure` computes the loss again and returns it."""
        loss = None if closure is None else with_grad(closure)
        site = make_tuple(StepSite, here())
        token = mute()
        try:
            for group in self.param_groups:
                settings = numeric(group)
                for param in group["params"]:
                    if param._grad is None:
                        continue
                    if param.is_complex():
                        raise RuntimeError(f"{type(self).__name__} does not support complex parameters")
                    check_writable(param, False)
                    if not self.state[param]:
                        self.state[param].update(self.begin(param))
                    self.update(settings, self.state[param], param._data, param._grad._data)
                    counter_of(param).bump(site)
        finally:
            unmute(token)
        return loss
