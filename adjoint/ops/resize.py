"""Changes of a tensor itself: its shape, its memory. The elements stay where they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._site import here
from .._state import recording
from .._tensor import Tensor
from ..autograd.node import INFERENCE_TENSOR
from ..autograd.views import View, check_writable, counter_of
from ._general import array_to_write
from ._registry import Op, composite
from .memory import owner_of
from .shape import spread_arguments, squeeze, swapaxes, t, transpose, unsqueeze
from .strides import as_strided


def _become(self: Tensor, view: Tensor) -> Tensor:
    """Take over the shape and the history of one's own view."""
    if self._fn is None and self._vc is not INFERENCE_TENSOR:
        self._data = view._data
        return self._written()
    check_writable(self, recording() and view.requires_grad, one_value=True)  # (its elements stay as they are)
    self._data = view._data
    if isinstance(self._fn, View):
        self._fn = view._fn
    elif isinstance(view._fn, View) and view._fn.node is not None:
        self._fn = view._fn.node
    if self._vc is not INFERENCE_TENSOR:
        counter_of(self).bump(here())
    return self


def _inplace_view(name: str, of: Callable[..., Any]) -> None:
    op: Op | None = getattr(of, "op", None)
    count = len(op.args) - 1 if op else -1

    def changing(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if op and len(args) == count and not kwargs and self._fn is None and (data := array_to_write(self)) is not None:
            self._data = op.impl(data, *args)
            return self._written()
        return _become(self, of(self, *args, **kwargs))

    changing.__name__ = changing.__qualname__ = name
    changing.__doc__ = f"In-place form of `{name[:-1]}`: the tensor takes the new shape itself."
    composite(function=False)(changing)


for _name, _of in {
    "squeeze_": squeeze, "unsqueeze_": unsqueeze, "t_": t, "transpose_": transpose, "swapaxes_": swapaxes, "swapdims_": transpose,
    "as_strided_": as_strided,
}.items():  # fmt: skip
    _inplace_view(_name, _of)


def _resize(input: Tensor, size: tuple[int, ...]) -> Tensor:
    """Give a tensor another size, in place. The elements that there is memory for are kept; new ones are arbitrary."""
    if input.requires_grad:
        raise RuntimeError("cannot resize variables that require grad\n  fix: make a new tensor, or work on x.detach()")
    check_writable(input, False)
    count = math.prod(size)
    data = input._data
    if not isinstance(data, np.ndarray):
        input._data = np.broadcast_to(data.reshape(-1)[:1], size)
        return input
    memory = owner_of(data).ravel(order="K")
    if count > memory.size:
        grown = np.zeros(count, data.dtype)
        grown[: memory.size] = memory
        memory = grown
    input._data = memory[:count].reshape(size)
    if input._vc is not INFERENCE_TENSOR:
        counter_of(input).bump(here())
    return input


resize_ = spread_arguments("resize_", "size", _resize, function=False)


@composite()
def resize_as_(input: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give a tensor the size of another, in place."""
    return _resize(input, tuple(other.shape))


@composite(function=False)
def set_(input: Tensor, source: Tensor | None = None) -> Tensor:
    """Let a tensor share the memory and the shape of another; without one it becomes empty."""
    check_writable(input, recording() and input.requires_grad)
    if source is None:
        input._data = np.empty(0, input._data.dtype)
        return input
    if source.dtype != input.dtype:
        raise RuntimeError(f"Could not set tensor of type {source.dtype} to a tensor of type {input.dtype}")
    input._data = source._data
    input._vc = counter_of(source)
    return input
