"""Adafactor: Adam's second moments from row and column means alone, so that the state of a matrix is two vectors."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from .._tensor import Tensor, wrap
from ._checks import check_tensor_lr
from ._elementwise import scalar_dtype
from ._whole import Array, Whole
from .optimizer import Group, Params


class Adafactor(Whole):
    """Adafactor: step sizes relative to the size of the parameter, with a factored second moment.

    >>> import adjoint as ad
    >>> w = ad.nn.Parameter(ad.ones(2, 3))
    >>> optimizer = ad.optim.Adafactor([w])
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> sorted(optimizer.state[w])
    ['col_var', 'row_var', 'step']
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_tensor_lr(lr)
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = dict(
            lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, foreach=foreach, maximize=maximize
        )
        super().__init__(params, defaults)

    def begin(self, param: Tensor) -> dict[str, Tensor]:
        data = param._data
        state = {"step": wrap(np.zeros((), scalar_dtype()))}
        if data.ndim > 1:
            state["row_var"] = wrap(np.zeros((*data.shape[:-1], 1), data.dtype))
            state["col_var"] = wrap(np.zeros((*data.shape[:-2], 1, data.shape[-1]), data.dtype))
        else:
            state["variance"] = wrap(np.zeros_like(data))
        return state

    def update(self, group: Group, state: dict[str, Tensor], param: Array, grad: Array) -> None:
        state["step"]._data += 1
        step = state["step"].item()
        tiny, least = group["eps"]
        tiny = float(np.finfo(param.dtype).eps) if tiny is None else tiny
        share = step ** group["beta2_decay"]
        rate = max(least, root_mean_square(param)) * min(group["lr"], 1 / sqrt(step))
        if group["maximize"]:
            grad = -grad
        if group["weight_decay"] != 0:
            param *= 1 - group["lr"] * group["weight_decay"]
        if param.ndim > 1:
            rows, columns = state["row_var"]._data, state["col_var"]._data
            rows += (np.mean(grad * grad, axis=-1, keepdims=True) - rows) * share
            columns += (np.mean(grad * grad, axis=-2, keepdims=True) - columns) * share
            variance = rows @ columns / np.maximum(np.mean(rows, axis=-2, keepdims=True), tiny)
        else:
            variance = state["variance"]._data
            variance += (grad * grad - variance) * share
        change = grad / np.sqrt(np.maximum(variance, tiny * tiny))
        param -= change * (rate / max(1.0, root_mean_square(change) / group["d"]))


def root_mean_square(array: Array) -> float:
    return float(np.sqrt(np.mean(array * array)))
