"""Parameters and buffers: the tensors that a module owns."""

from __future__ import annotations

from typing import Any

from .._tensor import Parameter, Tensor, wrap
from ..autograd.views import counter_of

__all__ = ["Buffer", "Parameter"]


class _BufferMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(metaclass=_BufferMeta):
    """A tensor that, assigned to an attribute of a module, becomes a buffer of it: saved and moved with it, but not trained.

    The result is an ordinary Tensor that carries a mark.
    """

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        given = Tensor() if data is None else data
        buffer: Any = wrap(given._data)
        buffer._vc = counter_of(given)
        buffer._is_buffer = True
        buffer.persistent = persistent
        return buffer


def zero_gradient(tensor: Tensor) -> None:
    """Set the gradient of a tensor to zero. One with a history is replaced, so that the history can go."""
    gradient = tensor._grad
    if gradient is not None:
        tensor._grad = gradient.zero_() if gradient._fn is None else gradient.detach().clone().zero_()
