"""Rprop: steps by the sign of the gradient alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._checks import check_implementation, check_lr
from ._elementwise import Array, Elementwise
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

    def update(self, group: Group, numbers: dict[str, float], fresh: bool, param: Array, grad: Array, *buffers: Array) -> None:
        rprop(param, grad, *buffers, etas=group["etas"], step_sizes=group["step_sizes"], maximize=group["maximize"])


def rprop(
    param: Array, grad: Array, prev: Array, step_size: Array, *, etas: tuple[float, float], step_sizes: tuple[float, float], maximize: bool
) -> None:
    if maximize:
        grad = -grad
    agreement = grad * prev
    changed = np.where(agreement > 0, step_size * etas[1], np.where(agreement < 0, step_size * etas[0], step_size))
    step_size[...] = np.clip(changed, *step_sizes)
    grad = np.where(agreement < 0, np.zeros_like(grad), grad)  # after a change of sign the element rests for one step
    param -= np.sign(grad) * step_size
    prev[...] = grad
