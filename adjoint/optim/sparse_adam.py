"""SparseAdam: Adam for embeddings, of which each step uses few rows."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from .._errors import spelled
from .._layout import Sparse
from .._tensor import Tensor, wrap
from ._checks import check_betas, check_tensor_lr
from ._whole import Array, Whole
from .optimizer import Group, Params


class SparseAdam(Whole):
    """Adam in which only the rows that have a gradient move, and only their moments change.

    Gradients have to be sparse, as those of `nn.Embedding(sparse=True)` are.

    >>> import adjoint as ad
    >>> table = ad.nn.Embedding(3, 2, sparse=True)
    >>> before = table.weight.clone()
    >>> optimizer = ad.optim.SparseAdam(table.parameters())
    >>> table(ad.tensor([1])).sum().backward()
    >>> optimizer.step()
    >>> (table.weight != before).any(1)
    tensor([False,  True, False])
    """

    def __init__(
        self, params: Params, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False
    ) -> None:
        check_tensor_lr(lr)
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))
        groups = enumerate(self.param_groups)
        wrong = [[number, place] for number, group in groups for place, param in enumerate(group["params"]) if param.is_complex()]
        if wrong:
            raise ValueError(f"Complex params at indices {wrong}: SparseAdam does not support complex parameters")

    def begin(self, param: Tensor) -> dict[str, Any]:
        return {"step": 0, "exp_avg": wrap(np.zeros_like(param._data)), "exp_avg_sq": wrap(np.zeros_like(param._data))}

    def update(self, group: Group, state: dict[str, Any], param: Array, grad: Array) -> None:
        if not isinstance(grad, Sparse):
            raise RuntimeError(
                spelled(
                    "SparseAdam does not support dense gradients, please consider Adam instead\n"
                    "  fix: torch.optim.Adam, or nn.Embedding(sparse=True)"
                )
            )
        from ..sparse._rows import entries

        rows, change = entries(grad)
        state["step"] += 1
        beta1, beta2 = group["betas"]
        change = -change if group["maximize"] else change
        mean, square = state["exp_avg"]._data[rows], state["exp_avg_sq"]._data[rows]
        mean += (change - mean) * (1 - beta1)
        square += (change * change - square) * (1 - beta2)
        state["exp_avg"]._data[rows], state["exp_avg_sq"]._data[rows] = mean, square
        rate = group["lr"] * sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
        param[rows] -= mean / (np.sqrt(square) + group["eps"]) * rate
