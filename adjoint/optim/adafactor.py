"""Adafactor: Adam's second moments from row and column means alone, so that the state of a matrix is two vectors."""

from __future__ import annotations

from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from .._dtype import finfo, from_numpy_dtype
from .._tensor import Tensor, wrap
from ..ops._primitives import loops
from ._checks import check_tensor_lr
from ._elementwise import scalar_dtype
from ._whole import Array, Whole
from .optimizer import Group, Params

BAND = 32  # rows that the kernels take as a unit (_kernels/factored_loops.py)


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

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for param in self.state.values():  # whose step is a plain number in old checkpoints
            if "step" in param and not isinstance(param["step"], Tensor):
                param["step"] = wrap(np.full((), param["step"], scalar_dtype()))

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
        tiny = finfo(from_numpy_dtype(param.dtype)).eps if tiny is None else tiny
        share = step ** group["beta2_decay"]
        decay = 1 - group["lr"] * group["weight_decay"]
        moments = Moments(param, grad)
        rate = max(least, moments.size) * min(group["lr"], 1 / sqrt(step))
        if param.ndim > 1:
            rows, columns = state["row_var"]._data, state["col_var"]._data
            rows += (moments.rows - rows) * share
            columns += (moments.columns - columns) * share
            change: Change = Factored(grad, rows, columns, tiny)
        else:
            variance = state["variance"]._data
            variance += (grad * grad - variance) * share
            change = Change(grad, np.sqrt(np.maximum(variance, tiny * tiny)))
        rate /= max(1.0, change.size() / group["d"])
        change.subtract(param, decay, -rate if group["maximize"] else rate)


def root_mean_square(array: Array) -> float:
    return float(np.sqrt(np.mean(array * array)))


class Moments:
    """What a step has to know of a parameter and its gradient: the parameter's size and, of a matrix, the mean squares of the gradient
    along rows and columns."""

    def __init__(self, param: Array, grad: Array) -> None:
        if param.ndim == 2 and param.size and self.by_kernel(param, grad):
            return
        self.size = root_mean_square(param)
        if param.ndim > 1:
            squares = grad * grad
            self.rows, self.columns = np.mean(squares, axis=-1, keepdims=True), np.mean(squares, axis=-2, keepdims=True)

    def by_kernel(self, param: Array, grad: Array) -> bool:
        height, width = param.shape
        bands = -(-height // BAND)
        rows, columns, sizes = np.empty((height, 1), param.dtype), np.empty((bands, width), param.dtype), np.empty(bands)
        if not loops("factored").factored_means.run(rows, columns, sizes, param, grad, height, width, bands, BAND * width):
            return False
        self.rows, self.columns = rows, np.add.reduce(columns, 0, keepdims=True) / height
        self.size = sqrt(np.add.reduce(sizes) / param.size)
        return True


class Change:
    """A gradient divided by the root of its variance."""

    def __init__(self, grad: Array, root: Array) -> None:
        self.change = grad / root

    def size(self) -> float:
        return root_mean_square(self.change)

    def subtract(self, param: Array, decay: float, rate: float) -> None:
        if decay != 1:
            param *= decay
        param -= self.change * rate


class Factored(Change):
    """The same, where the variance of an element is the product of its row's and its column's."""

    def __init__(self, grad: Array, rows: Array, columns: Array, tiny: float) -> None:
        self.grad, self.rows, self.columns, self.least = grad, rows, columns, tiny * tiny
        self.total = np.maximum(np.mean(rows, axis=-2, keepdims=True), tiny)

    @cached_property
    def change(self) -> Array:
        return self.grad / np.sqrt(np.maximum(self.rows @ self.columns / self.total, self.least))

    def size(self) -> float:
        sizes = np.empty(-(-len(self.grad) // BAND))
        done = self.grad.ndim == 2 and self.grad.size and self.run("factored_sizes", sizes)
        return sqrt(np.add.reduce(sizes) / self.grad.size) if done else super().size()

    def subtract(self, param: Array, decay: float, rate: float) -> None:
        apart = self.grad.ndim == 2 and self.grad.size and not np.may_share_memory(param, self.grad)
        if not apart or not self.run("factored_step", param, decay, rate):
            super().subtract(param, decay, rate)

    def run(self, kernel: str, first: Array, *numbers: float) -> bool | None:
        height, width = self.grad.shape
        facts = first, self.grad, self.rows, self.columns, 1 / float(self.total.item()), self.least, *numbers, height, width
        done: bool | None = getattr(loops("factored"), kernel).run(*facts, -(-height // BAND), BAND * width)
        return done
