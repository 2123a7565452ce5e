"""PyTorch's `torch.functional`: functions that are in `torch` too."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(import_module("adjoint"), name)
