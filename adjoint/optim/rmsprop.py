"""RMSprop: step sizes from a running average of the squared gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._checks import check_at_least_zero, check_implementation, check_lr
from ._elementwise import Array, Elementwise
from .optimizer import Group, Params


class RMSprop(Elementwise):
    """RMSprop, with momentum if wanted; `centered` divides by the variance of the gradient instead of its mean square."""

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_at_least_zero("epsilon value", eps)
        check_at_least_zero("momentum value", momentum)
        check_at_least_zero("weight_decay value", weight_decay)
        check_at_least_zero("alpha value", alpha)
        check_implementation(foreach)
        defaults = dict(
            lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay, capturable=capturable,
            foreach=foreach, maximize=maximize, differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def buffers(self, group: Group) -> dict[str, float]:
        names = ["square_avg"]
        if group["momentum"] > 0:
            names.append("momentum_buffer")
        if group["centered"]:
            names.append("grad_avg")
        return dict.fromkeys(names, 0.0)

    def update(self, group: Group, numbers: dict[str, float], fresh: bool, param: Array, grad: Array, *buffers: Array) -> None:
        rmsprop(
            param, grad, **dict(zip(self.buffers(group), buffers, strict=True)), lr=group["lr"], alpha=group["alpha"], eps=group["eps"],
            weight_decay=group["weight_decay"], momentum=group["momentum"], maximize=group["maximize"],
        )  # fmt: skip


def rmsprop(
    param: Array, grad: Array, square_avg: Array, momentum_buffer: Array = None, grad_avg: Array = None, *, lr: Any, alpha: float,
    eps: float, weight_decay: float, momentum: float, maximize: bool,
) -> None:  # fmt: skip
    if maximize:
        grad = -grad
    if weight_decay != 0:
        grad = grad + param * weight_decay
    square_avg *= alpha
    square_avg += grad * grad * (1 - alpha)
    squares = square_avg
    if grad_avg is not None:
        grad_avg += (grad - grad_avg) * (1 - alpha)
        squares = square_avg - grad_avg * grad_avg
    scaled = grad / (np.sqrt(squares) + eps)
    if momentum_buffer is not None:
        momentum_buffer *= momentum
        momentum_buffer += scaled
        scaled = momentum_buffer
    param -= scaled * lr
