"""Adadelta: step sizes from running averages of the squared gradient and of the squared step."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._checks import check_at_least_zero, check_implementation, check_lr
from ._elementwise import Array, Elementwise
from .optimizer import Group, Params


class Adadelta(Elementwise):
    """Adadelta: the sizes of earlier steps take the place of a learning rate."""

    def __init__(
        self,
        params: Params,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_at_least_zero("epsilon value", eps)
        check_at_least_zero("weight_decay value", weight_decay)
        check_implementation(foreach)
        defaults = dict(
            lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize, capturable=capturable, foreach=foreach,
            differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def buffers(self, group: Group) -> dict[str, float]:
        return {"square_avg": 0.0, "acc_delta": 0.0}

    def update(self, group: Group, numbers: dict[str, float], fresh: bool, param: Array, grad: Array, *buffers: Array) -> None:
        adadelta(
            param, grad, *buffers, lr=group["lr"], rho=group["rho"], eps=group["eps"], weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )  # fmt: skip


def adadelta(
    param: Array, grad: Array, square_avg: Array, acc_delta: Array, *, lr: Any, rho: float, eps: float, weight_decay: float,
    maximize: bool,
) -> None:  # fmt: skip
    if maximize:
        grad = -grad
    if weight_decay != 0:
        grad = grad + param * weight_decay
    square_avg *= rho
    square_avg += grad * grad * (1 - rho)
    delta = np.sqrt(acc_delta + eps) / np.sqrt(square_avg + eps) * grad
    acc_delta *= rho
    acc_delta += delta * delta * (1 - rho)
    param -= delta * lr
