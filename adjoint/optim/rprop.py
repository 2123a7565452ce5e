"""Rprop: steps by the sign of the gradient alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._checks import check_implementation, check_lr
from ._elementwise import Array, Elementwise, decayed
from .optimizer import Group, Params


class Rprop(Elementwise):
    """Resilient backpropagation: a step size per element, which grows while the sign of its gradient stays and shrinks when it changes."""

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        check_implementation(foreach)
        defaults = dict(
            lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize, differentiable=differentiable,
            capturable=capturable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def buffers(self, group: Group) -> dict[str, float]:
        return {"prev": 0.0, "step_size": float(group["lr"])}

    def variant(self, group: Group, fresh: bool) -> tuple[Any, ...]:
        return group["maximize"], None

    def numbers(self, group: Group, scalars: dict[str, float]) -> tuple[Any, ...]:
        return *group["etas"], *map(float, group["step_sizes"])

    @staticmethod
    def formula(variant: tuple[Any, ...], numbers: Any, param: Array, grad: Array, *buffers: Array) -> tuple[Array, ...]:
        shrink, grow, smallest, largest = numbers
        prev, step_size = buffers
        param, grad = decayed(param, grad, 0.0, *variant)
        agreement = grad * prev
        changed = np.where(agreement > 0, step_size * grow, np.where(agreement < 0, step_size * shrink, step_size))
        step_size = np.minimum(np.maximum(changed, smallest), largest)
        grad = np.where(agreement < 0, 0.0, grad)  # after a change of sign the element rests for one step
        return param - np.sign(grad) * step_size, grad, step_size
