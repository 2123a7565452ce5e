"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ._checks import check_at_least_zero, check_betas, check_implementation, check_lr
from ._elementwise import Array, Elementwise
from .optimizer import Group, Params


class NAdam(Elementwise):
    """NAdam: the momentum of the next step is used in this one."""

    scalars: ClassVar[dict[str, float]] = {"step": 0.0, "mu_product": 1.0}

    def __init__(
        self,
        params: Params,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_at_least_zero("momentum_decay value", momentum_decay)
        check_implementation(foreach)
        defaults = dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach, capturable=capturable,
            differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def buffers(self, group: Group) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def advance(self, group: Group, scalars: dict[str, Array]) -> None:
        super().advance(group, scalars)
        scalars["mu_product"] *= momentum_at(scalars["step"].item(0), group["betas"][0], group["momentum_decay"])

    def update(self, group: Group, numbers: dict[str, float], fresh: bool, param: Array, grad: Array, *buffers: Array) -> None:
        beta1, beta2 = group["betas"]
        nadam(
            param, grad, *buffers, step=numbers["step"], mu_product=numbers["mu_product"], lr=group["lr"], beta1=beta1, beta2=beta2,
            eps=group["eps"], weight_decay=group["weight_decay"], momentum_decay=group["momentum_decay"], maximize=group["maximize"],
            decoupled=group["decoupled_weight_decay"],
        )  # fmt: skip


def momentum_at(step: float, beta1: float, momentum_decay: float) -> float:
    """The momentum of a step: it grows towards `beta1`."""
    return beta1 * (1.0 - 0.5 * 0.96 ** (step * momentum_decay))  # type: ignore[no-any-return]


def nadam(
    param: Array, grad: Array, exp_avg: Array, exp_avg_sq: Array, *, step: float, mu_product: float, lr: Any, beta1: float, beta2: float,
    eps: float, weight_decay: float, momentum_decay: float, maximize: bool, decoupled: bool,
) -> None:  # fmt: skip
    if maximize:
        grad = -grad
    if weight_decay != 0:
        if decoupled:
            param *= 1 - lr * weight_decay
        else:
            grad = grad + param * weight_decay
    mu = momentum_at(step, beta1, momentum_decay)
    mu_next = momentum_at(step + 1, beta1, momentum_decay)
    exp_avg += (grad - exp_avg) * (1 - beta1)
    exp_avg_sq *= beta2
    exp_avg_sq += grad * grad * (1 - beta2)
    denominator = np.sqrt(exp_avg_sq / (1 - beta2**step)) + eps
    param -= grad / denominator * (lr * (1 - mu) / (1 - mu_product))
    param -= exp_avg / denominator * (lr * mu_next / (1 - mu_product * mu_next))
