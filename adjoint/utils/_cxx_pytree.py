"""PyTorch's `torch.utils._cxx_pytree`, which is its `_pytree` written in C++. Here it is the same."""

from typing import Any

from . import _pytree


def __getattr__(name: str) -> Any:
    return getattr(_pytree, name)


def __dir__() -> list[str]:
    return dir(_pytree)
