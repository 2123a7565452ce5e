"""What is used of PyTorch's `torch._subclasses.functional_tensor`: tensors whose writes its compiler takes apart. There are none here."""

from __future__ import annotations

from typing import Any

from .._standing import refused
from .._tensor import Tensor


class FunctionalTensor(Tensor):
    """A tensor whose writes are taken apart. No tensor is one."""

    @refused("adjoint compiles nothing, so writes are not taken apart; use the tensor itself")
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...


def mb_unwrap_functional_tensor(tensor: Any) -> Any:
    """The tensor itself."""
    return tensor
