"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ._checks import check_at_least_zero, check_betas, check_implementation, check_lr
from ._elementwise import Array, Elementwise, decay_number, decay_of, decayed, first
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
        scalars["mu_product"] *= momentum_at(first(scalars["step"]), group["betas"][0], group["momentum_decay"])

    def variant(self, group: Group, fresh: bool) -> tuple[Any, ...]:
        return group["maximize"], decay_of(group)

    def numbers(self, group: Group, scalars: dict[str, float]) -> tuple[Any, ...]:
        (beta1, beta2), lr, step, product = group["betas"], group["lr"], scalars["step"], scalars["mu_product"]
        mu = momentum_at(step, beta1, group["momentum_decay"])
        mu_next = momentum_at(step + 1, beta1, group["momentum_decay"])
        rate, rate_next = lr * (1 - mu) / (1 - product), lr * mu_next / (1 - product * mu_next)
        return decay_number(group), 1 - beta1, beta2, 1 - beta2, 1 - beta2**step, group["eps"], rate, rate_next

    @staticmethod
    def formula(variant: tuple[Any, ...], numbers: Any, param: Array, grad: Array, *buffers: Array) -> tuple[Array, ...]:
        decay, share1, keep2, share2, correction, eps, rate, rate_next = numbers
        exp_avg, exp_avg_sq = buffers
        param, grad = decayed(param, grad, decay, *variant)
        exp_avg = exp_avg + (grad - exp_avg) * share1
        exp_avg_sq = exp_avg_sq * keep2 + grad * grad * share2
        denominator = np.sqrt(exp_avg_sq / correction) + eps
        return param - grad / denominator * rate - exp_avg / denominator * rate_next, exp_avg, exp_avg_sq


def momentum_at(step: float, beta1: float, momentum_decay: float) -> float:
    """The momentum of a step: it grows towards `beta1`."""
    return beta1 * (1.0 - 0.5 * 0.96 ** (step * momentum_decay))  # type: ignore[no-any-return]
