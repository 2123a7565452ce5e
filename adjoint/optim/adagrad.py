"""Adagrad: step sizes from the sum of all squared gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._checks import check_at_least_zero, check_implementation, check_lr
from ._elementwise import Array, Elementwise
from .optimizer import Group, Params


class Adagrad(Elementwise):
    """Adagrad: elements with large gradients so far take small steps."""

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_at_least_zero("lr_decay value", lr_decay)
        check_at_least_zero("weight_decay value", weight_decay)
        check_at_least_zero("initial_accumulator_value value", initial_accumulator_value)
        check_at_least_zero("epsilon value", eps)
        check_implementation(foreach, fused, differentiable)
        defaults = dict(
            lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value,
            foreach=foreach, maximize=maximize, differentiable=differentiable, fused=fused,
        )  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:  # as in PyTorch, the state is there before the first step
            for param in group["params"]:
                self.prepare(param, group)

    def buffers(self, group: Group) -> dict[str, float]:
        return {"sum": group["initial_accumulator_value"]}

    def update(self, group: Group, numbers: dict[str, float], fresh: bool, param: Array, grad: Array, *buffers: Array) -> None:
        adagrad(
            param, grad, *buffers, step=numbers["step"], lr=group["lr"], lr_decay=group["lr_decay"], eps=group["eps"],
            weight_decay=group["weight_decay"], maximize=group["maximize"],
        )  # fmt: skip


def adagrad(
    param: Array, grad: Array, total: Array, *, step: float, lr: Any, lr_decay: float, eps: float, weight_decay: float, maximize: bool
) -> None:
    if maximize:
        grad = -grad
    if weight_decay != 0:
        grad = grad + param * weight_decay
    total += grad * grad
    param -= grad / (np.sqrt(total) + eps) * (lr / (1 + (step - 1) * lr_decay))
