"""PyTorch's `torch.utils`: data loading, checkpointing, training curves."""

from importlib import import_module
from typing import Any

from . import data as data

_LAZY = frozenset({"_python_dispatch", "benchmark", "checkpoint", "dlpack", "hooks", "model_zoo", "serialization", "tensorboard"})


def __getattr__(name: str) -> Any:
    if name == "swap_tensors":
        from ._swapping import swap_tensors

        return swap_tensors
    if name in _LAZY:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'adjoint.utils' has no attribute '{name}'")
