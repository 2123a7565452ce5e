"""AdamW: Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from .adam import Adam
from .optimizer import Params


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters directly, whatever the gradient."""

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        betas: tuple[Any, ...] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # checkpoints from before the two shared their code do not say it
            group["decoupled_weight_decay"] = True
