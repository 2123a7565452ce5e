"""Operations that PyTorch names in `torch.ops.aten` only: what its own layers and derivatives are made of."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from . import _native
from ._dtype import uint8
from .nn import functional as F
from .ops._rules import wrap_dim
from .ops.parts import EVERYTHING


def slice(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """A view of every `step`th element along a dimension."""
    return input[(*(EVERYTHING,) * wrap_dim(dim, input.ndim), builtins.slice(start, end, step))]


def index(input: Any, indices: Any) -> Any:
    """The elements at tensors of places; None stands for a whole dimension."""
    return input[tuple(EVERYTHING if item is None else item for item in indices)]


def alias(input: Any) -> Any:
    """A view of all elements."""
    return input[...]


def _batch_norm_with_update(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float, eps: float
) -> tuple[Any, Any, Any, Any]:
    """`native_batch_norm` in training, and a place for what a backend wants to keep, which is empty here."""
    results = _native.native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *results, input.new_empty(0, dtype=uint8)


def _safe_softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """`softmax`, with zeros where all elements are -inf."""
    given = input if dtype is None else input.to(dtype)
    nothing = (given == float("-inf")).all(dim, keepdim=True)
    return F.softmax(given.masked_fill(nothing, 0.0), dim).masked_fill(nothing, 0.0)


def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    """The gradient of `native_dropout`."""
    return grad_output * mask * scale


def max_pool2d_with_indices_backward(
    grad_output: Any, input: Any, kernel_size: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
    ceil_mode: bool, indices: Any,
) -> Any:  # fmt: skip
    """The gradient of `max_pool2d`: each element goes to where the maximum was found."""
    whole = input.new_zeros(input.shape).flatten(-2)
    return whole.scatter_add(-1, indices.flatten(-2), grad_output.flatten(-2)).reshape(input.shape)
