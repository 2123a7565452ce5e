"""RAdam: Adam that trusts its second moment only when enough steps have been seen."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ._checks import check_at_least_zero, check_betas, check_implementation, check_lr
from ._elementwise import Array, Elementwise, decay_number, decay_of, decayed
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

    def variant(self, group: Group, fresh: bool) -> tuple[Any, ...]:
        return group["maximize"], decay_of(group)

    def numbers(self, group: Group, scalars: dict[str, float]) -> tuple[Any, ...]:
        (beta1, beta2), step = group["betas"], scalars["step"]
        rate = group["lr"] / (1 - beta1**step)
        factor = rectification(step, beta2)
        # In the steps where there is no factor, the second moment is left out: its root is taken as 0, and 1 added to it.
        second = (0.0, 1.0, rate) if factor is None else (1.0, group["eps"], rate * factor * sqrt(1 - beta2**step))
        return decay_number(group), 1 - beta1, beta2, 1 - beta2, *second

    @staticmethod
    def formula(variant: tuple[Any, ...], numbers: Any, param: Array, grad: Array, *buffers: Array) -> tuple[Array, ...]:
        decay, share1, keep2, share2, second, eps, rate = numbers
        exp_avg, exp_avg_sq = buffers
        param, grad = decayed(param, grad, decay, *variant)
        exp_avg = exp_avg + (grad - exp_avg) * share1
        exp_avg_sq = exp_avg_sq * keep2 + grad * grad * share2
        return param - exp_avg / (np.sqrt(exp_avg_sq) * second + eps) * rate, exp_avg, exp_avg_sq


def rectification(step: float, beta2: float) -> float | None:
    """The factor that makes up for the variance of the step size; None in the steps where that variance is not finite."""
    limit = 2 / (1 - beta2) - 1  # the length of the average in the long run
    length = limit - 2 * step * beta2**step / (1 - beta2**step)
    if length <= 5:
        return None
    return sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length))
