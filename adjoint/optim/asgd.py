"""ASGD: the average of the parameters over the steps."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ._checks import check_at_least_zero, check_implementation, check_lr
from ._elementwise import Array, Elementwise, decay_of, decayed, first, scalar_dtype
from .optimizer import Group, Params


class ASGD(Elementwise):
    """Averaged stochastic gradient descent; the average is in the state under `ax`."""

    scalars: ClassVar[dict[str, float]] = {"step": 0.0, "eta": 0.0, "mu": 1.0}

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_at_least_zero("weight_decay value", weight_decay)
        check_implementation(foreach)
        defaults = dict(
            lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def initial_scalars(self, group: Group) -> dict[str, float]:
        return {**self.scalars, "eta": float(group["lr"])}

    def buffers(self, group: Group) -> dict[str, float]:
        return {"ax": 0.0}

    def variant(self, group: Group, fresh: bool) -> tuple[Any, ...]:
        return group["maximize"], decay_of(group)

    def numbers(self, group: Group, scalars: dict[str, float]) -> tuple[Any, ...]:
        return group["weight_decay"], 1 - group["lambd"] * scalars["eta"], scalars["eta"], scalars["mu"]

    @staticmethod
    def formula(variant: tuple[Any, ...], numbers: Any, param: Array, grad: Array, *buffers: Array) -> tuple[Array, ...]:
        decay, keep, eta, mu = numbers
        (ax,) = buffers
        shrunk, grad = decayed(param, grad, decay, *variant)
        moved = shrunk * keep - grad * eta
        # Where mu is 1 the average is the parameter itself, to the last bit.
        return moved, np.where(mu == 1, moved, ax + (moved - ax) * mu)

    def finish(self, group: Group, scalars: dict[str, Array]) -> None:
        step, lr, rounded = first(scalars["step"]), float(group["lr"]), scalar_dtype().type
        scalars["eta"][...] = rounded(lr / (1 + group["lambd"] * lr * step) ** group["alpha"])
        scalars["mu"][...] = rounded(1 / max(1, step - group["t0"]))
