"""Adamax: Adam with the largest gradient in place of the mean square."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._checks import check_at_least_zero, check_betas, check_implementation, check_lr
from ._elementwise import Array, Elementwise, decay_of, decayed
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

    def variant(self, group: Group, fresh: bool) -> tuple[Any, ...]:
        return group["maximize"], decay_of(group)

    def numbers(self, group: Group, scalars: dict[str, float]) -> tuple[Any, ...]:
        beta1, beta2 = group["betas"]
        return group["weight_decay"], 1 - beta1, beta2, group["eps"], group["lr"] / (1 - beta1 ** scalars["step"])

    @staticmethod
    def formula(variant: tuple[Any, ...], numbers: Any, param: Array, grad: Array, *buffers: Array) -> tuple[Array, ...]:
        decay, share1, beta2, eps, rate = numbers
        exp_avg, exp_inf = buffers
        param, grad = decayed(param, grad, decay, *variant)
        exp_avg = exp_avg + (grad - exp_avg) * share1
        exp_inf = np.maximum(exp_inf * beta2, np.abs(grad) + eps)
        return param - exp_avg / exp_inf * rate, exp_avg, exp_inf
