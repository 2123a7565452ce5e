"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar

from ..ops._compiled import update
from ._checks import check_at_least_zero, check_implementation, check_lr
from ._elementwise import Array, Elementwise
from .optimizer import Group, Params


class SGD(Elementwise):
    """Stochastic gradient descent, with momentum if wanted.

    >>> import adjoint as ad
    >>> w = ad.nn.Parameter(ad.ones(2))
    >>> optimizer = ad.optim.SGD([w], lr=0.1)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.9000, 0.9000])
    """

    scalars: ClassVar[dict[str, float]] = {}

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_at_least_zero("momentum value", momentum)
        check_at_least_zero("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_implementation(foreach, fused, differentiable)
        defaults = dict(
            lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov, maximize=maximize,
            foreach=foreach, differentiable=differentiable, fused=fused,
        )  # fmt: skip
        super().__init__(params, defaults)

    def buffers(self, group: Group) -> dict[str, float]:
        return {"momentum_buffer": 0.0} if group["momentum"] else {}

    def update(self, group: Group, numbers: dict[str, float], fresh: bool, param: Array, grad: Array, *buffers: Array) -> None:
        sgd(
            param, grad, *buffers, fresh=fresh, lr=group["lr"], momentum=group["momentum"], dampening=group["dampening"],
            weight_decay=group["weight_decay"], nesterov=group["nesterov"], maximize=group["maximize"],
        )  # fmt: skip


def sgd(
    param: Array, grad: Array, momentum_buffer: Array = None, *, fresh: bool, lr: Any, momentum: float, dampening: float,
    weight_decay: Any, nesterov: bool, maximize: bool,
) -> None:  # fmt: skip
    if maximize:
        grad = -grad
    if weight_decay != 0:
        grad = grad + param * weight_decay
    if momentum != 0:
        momentum_buffer *= momentum
        momentum_buffer += grad if fresh else grad * (1 - dampening)  # the first gradient counts in full
        grad = grad + momentum_buffer * momentum if nesterov else momentum_buffer
    descend(param, grad, lr)


@update("TTS")
def descend(param: Array, grad: Array, lr: Any) -> Array:
    return param - grad * lr
