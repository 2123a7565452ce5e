"""PyTorch's `torch.autograd.profiler`: see `adjoint.profiler`."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("profile", "record_function"):
        return getattr(import_module("adjoint.profiler"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
