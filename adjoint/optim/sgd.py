"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar

from ._checks import check_at_least_zero, check_implementation, check_lr
from ._elementwise import Array, Elementwise, decay_of, decayed
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

    def variant(self, group: Group, fresh: bool) -> tuple[Any, ...]:
        return group["maximize"], decay_of(group), fresh, group["nesterov"]

    def numbers(self, group: Group, scalars: dict[str, float]) -> tuple[Any, ...]:
        return group["weight_decay"], group["momentum"], 1 - group["dampening"], group["lr"]

    def takes_sparse(self, group: Group) -> bool:
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients: it changes all rows\n  fix: weight_decay=0")
        return not group["momentum"]

    @staticmethod
    def formula(variant: tuple[Any, ...], numbers: Any, param: Array, grad: Array, *buffers: Array) -> tuple[Array, ...]:
        maximize, decay_kind, fresh, nesterov = variant
        decay, momentum, share, lr = numbers
        param, grad = decayed(param, grad, decay, maximize, decay_kind)
        if not buffers:
            return (param - grad * lr,)
        (buffer,) = buffers
        buffer = buffer * momentum + (grad if fresh else grad * share)  # the first gradient counts in full
        grad = grad + buffer * momentum if nesterov else buffer
        return param - grad * lr, buffer
