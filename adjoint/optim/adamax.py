"""Adamax: Adam with the largest gradient in place of the mean square."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._checks import check_at_least_zero, check_betas, check_implementation, check_lr
from ._elementwise import Array, Elementwise
from .optimizer import Group, Params


class Adamax(Elementwise):
    """Adamax: step sizes from the (decaying) maximum of the absolute gradient."""

    def __init__(
        self,
        params: Params,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_at_least_zero("epsilon value", eps)
        check_betas(betas)
        check_at_least_zero("weight_decay value", weight_decay)
        check_implementation(foreach)
        defaults = dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize, differentiable=differentiable,
            capturable=capturable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def buffers(self, group: Group) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_inf": 0.0}

    def update(self, group: Group, numbers: dict[str, float], fresh: bool, param: Array, grad: Array, *buffers: Array) -> None:
        beta1, beta2 = group["betas"]
        adamax(
            param, grad, *buffers, step=numbers["step"], lr=group["lr"], beta1=beta1, beta2=beta2, eps=group["eps"],
            weight_decay=group["weight_decay"], maximize=group["maximize"],
        )  # fmt: skip


def adamax(
    param: Array, grad: Array, exp_avg: Array, exp_inf: Array, *, step: float, lr: Any, beta1: float, beta2: float, eps: float,
    weight_decay: float, maximize: bool,
) -> None:  # fmt: skip
    if maximize:
        grad = -grad
    if weight_decay != 0:
        grad = grad + param * weight_decay
    exp_avg += (grad - exp_avg) * (1 - beta1)
    exp_inf[...] = largest = np.maximum(exp_inf * beta2, np.abs(grad) + eps)
    param -= exp_avg / largest * (lr / (1 - beta1**step))
