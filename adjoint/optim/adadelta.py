"""Adadelta: step sizes from running averages of the squared gradient and of the squared step."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._checks import check_at_least_zero, check_implementation, check_lr
from ._elementwise import Array, Elementwise, decay_of, decayed
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

    def variant(self, group: Group, fresh: bool) -> tuple[Any, ...]:
        return group["maximize"], decay_of(group)

    def numbers(self, group: Group, scalars: dict[str, float]) -> tuple[Any, ...]:
        return group["weight_decay"], group["rho"], 1 - group["rho"], group["eps"], group["lr"]

    @staticmethod
    def formula(variant: tuple[Any, ...], numbers: Any, param: Array, grad: Array, *buffers: Array) -> tuple[Array, ...]:
        decay, rho, share, eps, lr = numbers
        square_avg, acc_delta = buffers
        param, grad = decayed(param, grad, decay, *variant)
        square_avg = square_avg * rho + grad * grad * share
        delta = np.sqrt(acc_delta + eps) / np.sqrt(square_avg + eps) * grad
        return param - delta * lr, square_avg, acc_delta * rho + delta * delta * share
