"""ASGD: the average of the parameters over the steps."""

from __future__ import annotations

from typing import Any, ClassVar

from ._checks import check_at_least_zero, check_implementation, check_lr
from ._elementwise import Array, Elementwise, scalar_dtype
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

    def update(self, group: Group, numbers: dict[str, float], fresh: bool, param: Array, grad: Array, *buffers: Array) -> None:
        asgd(
            param, grad, *buffers, eta=numbers["eta"], mu=numbers["mu"], lambd=group["lambd"], weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )  # fmt: skip

    def finish(self, group: Group, scalars: dict[str, Array]) -> None:
        step, lr, rounded = scalars["step"].item(0), float(group["lr"]), scalar_dtype().type
        scalars["eta"][...] = rounded(lr / (1 + group["lambd"] * lr * step) ** group["alpha"])
        scalars["mu"][...] = rounded(1 / max(1, step - group["t0"]))


def asgd(
    param: Array, grad: Array, ax: Array, *, eta: float, mu: float, lambd: float, weight_decay: float, maximize: bool
) -> None:
    if maximize:
        grad = -grad
    if weight_decay != 0:
        grad = grad + param * weight_decay
    param *= 1 - lambd * eta
    param -= grad * eta
    if mu == 1:
        ax[...] = param
    else:
        ax += (param - ax) * mu
