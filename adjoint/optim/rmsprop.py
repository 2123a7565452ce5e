"""RMSprop: step sizes from a running average of the squared gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._checks import check_at_least_zero, check_implementation, check_lr
from ._elementwise import Array, Elementwise, decay_of, decayed
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

    def variant(self, group: Group, fresh: bool) -> tuple[Any, ...]:
        return group["maximize"], decay_of(group), group["momentum"] > 0, group["centered"]

    def numbers(self, group: Group, scalars: dict[str, float]) -> tuple[Any, ...]:
        alpha = group["alpha"]
        return group["weight_decay"], alpha, 1 - alpha, group["momentum"], group["eps"], group["lr"]

    @staticmethod
    def formula(variant: tuple[Any, ...], numbers: Any, param: Array, grad: Array, *buffers: Array) -> tuple[Array, ...]:
        maximize, decay_kind, has_momentum, centered = variant
        decay, alpha, share, momentum, eps, lr = numbers
        param, grad = decayed(param, grad, decay, maximize, decay_kind)
        squares = square_avg = buffers[0] * alpha + grad * grad * share
        changed = [square_avg]
        mean = None
        if centered:
            mean = buffers[-1] + (grad - buffers[-1]) * share
            squares = square_avg - mean * mean
        scaled = grad / (np.sqrt(squares) + eps)
        if has_momentum:
            scaled = buffers[1] * momentum + scaled
            changed.append(scaled)
        if centered:
            changed.append(mean)
        return param - scaled * lr, *changed
