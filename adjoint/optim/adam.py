"""Adam: step sizes from running averages of the gradient and its square."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ..ops._compiled import update
from ._checks import check_at_least_zero, check_betas, check_implementation, check_lr
from ._elementwise import Array, Elementwise
from .optimizer import Group, Params


class Adam(Elementwise):
    """Adam, with weight decay added to the gradient, or to the parameter if it is decoupled (AdamW).

    >>> import adjoint as ad
    >>> w = ad.nn.Parameter(ad.ones(2))
    >>> optimizer = ad.optim.Adam([w], lr=0.1)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.9000, 0.9000])
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_lr(lr)
        check_at_least_zero("epsilon value", eps)
        check_betas(betas)
        check_at_least_zero("weight_decay value", weight_decay)
        check_implementation(foreach, fused, differentiable)
        defaults = dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize, foreach=foreach,
            capturable=capturable, differentiable=differentiable, fused=fused, decoupled_weight_decay=decoupled_weight_decay,
        )  # fmt: skip
        super().__init__(params, defaults)

    def buffers(self, group: Group) -> dict[str, float]:
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")
        return dict.fromkeys(names, 0.0)

    def update(self, group: Group, numbers: dict[str, float], fresh: bool, param: Array, grad: Array, *buffers: Array) -> None:
        beta1, beta2 = group["betas"]
        adam(
            param, grad, *buffers, step=numbers["step"], lr=group["lr"], beta1=beta1, beta2=beta2, eps=group["eps"],
            weight_decay=group["weight_decay"], maximize=group["maximize"], decoupled=group["decoupled_weight_decay"],
        )  # fmt: skip


def adam(
    param: Array, grad: Array, exp_avg: Array, exp_avg_sq: Array, max_exp_avg_sq: Array = None, *, step: float, lr: Any, beta1: Any,
    beta2: Any, eps: float, weight_decay: float, maximize: bool, decoupled: bool,
) -> None:  # fmt: skip
    if maximize:
        grad = -grad
    if weight_decay != 0:
        if decoupled:
            param *= 1 - lr * weight_decay
        else:
            grad = grad + param * weight_decay
    average(exp_avg, grad, 1 - beta1)
    average_squares(exp_avg_sq, grad, beta2, 1 - beta2)
    squares = exp_avg_sq
    if max_exp_avg_sq is not None:
        # A copy, because the derivative of the maximum looks at what is overwritten here.
        max_exp_avg_sq[...] = squares = np.maximum(np.copy(max_exp_avg_sq), exp_avg_sq)
    # Both averages begin at zero; the corrections make up for that.
    descend(param, exp_avg, squares, sqrt(1 - beta2**step), eps, lr / (1 - beta1**step))


@update("TTS")
def average(mean: Array, value: Array, share: Any) -> Array:
    return mean + (value - mean) * share


@update("TTSS")
def average_squares(mean: Array, value: Array, keep: Any, share: Any) -> Array:
    return mean * keep + value * value * share


@update("TTTSSS")
def descend(param: Array, mean: Array, squares: Array, correction: Any, eps: Any, rate: Any) -> Array:
    return param - mean / (np.sqrt(squares) / correction + eps) * rate
