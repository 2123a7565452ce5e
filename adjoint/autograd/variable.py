"""PyTorch's `torch.autograd.variable`: every Tensor is a Variable, and making one takes a tensor out of its history."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._dtype import default_numpy
from .._tensor import Tensor, wrap
from . import engine

__all__ = ["Variable"]


class _EveryTensor(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_EveryTensor):
    """`Variable(tensor, requires_grad=True)`, as programs from before PyTorch 0.4 write: the same values, as a new leaf."""

    _execution_engine = engine  # whose `queue_callback` is in use

    def __new__(  # type: ignore[misc]
        cls, data: Tensor | None = None, requires_grad: bool = False, volatile: bool = False, **unused: Any
    ) -> Tensor:
        if data is None:
            data = wrap(np.empty(0, default_numpy()))
        if volatile:
            warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=2)
            if requires_grad:
                raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}; write torch.tensor(data)")
        return data.detach().requires_grad_(requires_grad)
