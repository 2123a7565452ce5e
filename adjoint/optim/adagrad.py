"""Adagrad: step sizes from the sum of all squared gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._checks import check_at_least_zero, check_implementation, check_lr
from ._elementwise import Array, Elementwise, decay_of, decayed
from .optimizer import Group, Params


class Adagrad(Elementwise):
    """Adagrad: elements with large gradients so far take small steps."""

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_at_least_zero("lr_decay value", lr_decay)
        check_at_least_zero("weight_decay value", weight_decay)
        check_at_least_zero("initial_accumulator_value value", initial_accumulator_value)
        check_at_least_zero("epsilon value", eps)
        check_implementation(foreach, fused, differentiable)
        defaults = dict(
            lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value,
            foreach=foreach, maximize=maximize, differentiable=differentiable, fused=fused,
        )  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:  # as in PyTorch, the state is there before the first step
            for param in group["params"]:
                param.numel()  # a lazy one refuses: it has no shape for the state yet
                self.prepare(param, group)

    def buffers(self, group: Group) -> dict[str, float]:
        return {"sum": group["initial_accumulator_value"]}

    def variant(self, group: Group, fresh: bool) -> tuple[Any, ...]:
        return group["maximize"], decay_of(group)

    def numbers(self, group: Group, scalars: dict[str, float]) -> tuple[Any, ...]:
        rate = group["lr"] / (1 + (scalars["step"] - 1) * group["lr_decay"])
        return group["weight_decay"], group["eps"], rate

    def takes_sparse(self, group: Group) -> bool:
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients\n  fix: weight_decay=0")
        return True

    @staticmethod
    def formula(variant: tuple[Any, ...], numbers: Any, param: Array, grad: Array, *buffers: Array) -> tuple[Array, ...]:
        decay, eps, rate = numbers
        (total,) = buffers
        param, grad = decayed(param, grad, decay, *variant)
        total = total + grad * grad
        return param - grad / (np.sqrt(total) + eps) * rate, total
