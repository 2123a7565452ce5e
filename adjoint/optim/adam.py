"""Adam: step sizes from running averages of the gradient and its square."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor import Tensor
from ._checks import check_at_least_zero, check_betas, check_betas_alike, check_implementation, check_lr, check_tensor_for_foreach
from ._elementwise import Array, Elementwise, decay_number, decay_of, decayed, root
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
        betas: tuple[Any, ...] = (0.9, 0.999),
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
        check_tensor_for_foreach("lr", lr, foreach, capturable)
        check_lr(lr)
        check_at_least_zero("epsilon value", eps)
        check_betas(betas)
        check_at_least_zero("weight_decay value", weight_decay)
        check_betas_alike(betas)
        for place, beta in enumerate(betas):
            check_tensor_for_foreach(f"betas[{place}]", beta, foreach, capturable)
        betas = tuple(beta.reshape(()) if isinstance(beta, Tensor) else beta for beta in betas)
        check_implementation(foreach, fused, differentiable)
        defaults = dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize, foreach=foreach,
            capturable=capturable, differentiable=differentiable, fused=fused, decoupled_weight_decay=decoupled_weight_decay,
        )  # fmt: skip
        super().__init__(params, defaults)

    def buffers(self, group: Group) -> dict[str, float]:
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")
        return dict.fromkeys(names, 0.0)

    def variant(self, group: Group, fresh: bool) -> tuple[Any, ...]:
        return group["maximize"], decay_of(group)

    def numbers(self, group: Group, scalars: dict[str, float]) -> tuple[Any, ...]:
        (beta1, beta2), step, lr = group["betas"], scalars["step"], group["lr"]
        # Both averages begin at zero; the corrections make up for that.
        correction, rate = root(1 - beta2**step), lr / (1 - beta1**step)
        return decay_number(group), 1 - beta1, beta2, 1 - beta2, correction, group["eps"], rate

    @staticmethod
    def formula(variant: tuple[Any, ...], numbers: Any, param: Array, grad: Array, *buffers: Array) -> tuple[Array, ...]:
        decay, share1, keep2, share2, correction, eps, rate = numbers
        exp_avg, exp_avg_sq, *largest = buffers
        param, grad = decayed(param, grad, decay, *variant)
        exp_avg = exp_avg + (grad - exp_avg) * share1
        squares = exp_avg_sq = exp_avg_sq * keep2 + grad * grad * share2
        if largest:  # amsgrad
            squares = np.maximum(largest[0], exp_avg_sq)
            largest = [squares]
        return param - exp_avg / (np.sqrt(squares) / correction + eps) * rate, exp_avg, exp_avg_sq, *largest
