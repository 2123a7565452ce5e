"""RAdam: Adam that trusts its second moment only when enough steps have been seen."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ._checks import check_at_least_zero, check_betas, check_implementation, check_lr
from ._elementwise import Array, Elementwise
from .optimizer import Group, Params


class RAdam(Elementwise):
    """RAdam: the variance of the adaptive step size is rectified in the first steps."""

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_at_least_zero("epsilon value", eps)
        check_betas(betas)
        check_at_least_zero("weight_decay value", weight_decay)
        check_implementation(foreach)
        defaults = dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach, capturable=capturable,
            decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def buffers(self, group: Group) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def update(self, group: Group, numbers: dict[str, float], fresh: bool, param: Array, grad: Array, *buffers: Array) -> None:
        beta1, beta2 = group["betas"]
        radam(
            param, grad, *buffers, step=numbers["step"], lr=group["lr"], beta1=beta1, beta2=beta2, eps=group["eps"],
            weight_decay=group["weight_decay"], maximize=group["maximize"], decoupled=group["decoupled_weight_decay"],
        )  # fmt: skip


def rectification(step: float, beta2: float) -> float | None:
    """The factor that makes up for the variance of the step size; None in the steps where that variance is not finite."""
    limit = 2 / (1 - beta2) - 1  # the length of the average in the long run
    length = limit - 2 * step * beta2**step / (1 - beta2**step)
    if length <= 5:
        return None
    return sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length))


def radam(
    param: Array, grad: Array, exp_avg: Array, exp_avg_sq: Array, *, step: float, lr: Any, beta1: float, beta2: float, eps: float,
    weight_decay: float, maximize: bool, decoupled: bool,
) -> None:  # fmt: skip
    if maximize:
        grad = -grad
    if weight_decay != 0:
        if decoupled:
            param *= 1 - lr * weight_decay
        else:
            grad = grad + param * weight_decay
    exp_avg += (grad - exp_avg) * (1 - beta1)
    exp_avg_sq *= beta2
    exp_avg_sq += grad * grad * (1 - beta2)
    step_size = lr / (1 - beta1**step)
    factor = rectification(step, beta2)
    if factor is None:
        param -= exp_avg * step_size
    else:
        param -= exp_avg / (np.sqrt(exp_avg_sq) + eps) * (step_size * factor * sqrt(1 - beta2**step))
