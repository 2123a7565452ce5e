"""PyTorch's `torch.utils`: data loading, checkpointing, training curves."""

from importlib import import_module
from typing import Any

from .._standing import refused
from . import data as data

_LAZY = frozenset(
    {"_device", "_cxx_pytree", "_foreach_utils", "_python_dispatch", "_pytree", "benchmark", "checkpoint", "collect_env", "cpp_extension",
     "deterministic",
     "dlpack", "hooks", "model_zoo", "serialization", "tensorboard", "weak"}
)  # fmt: skip


_cpu_only = refused("adjoint computes on the CPU, and has no other backends; leave the registration of one out")


@_cpu_only
def rename_privateuse1_backend(backend_name: str) -> None: ...


@_cpu_only
def generate_methods_for_privateuse1_backend(*args: Any, **kwargs: Any) -> None: ...


def set_module(obj: Any, mod: str) -> None:
    """Set the name of the module that a class or function says it is from."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def __getattr__(name: str) -> Any:
    if name == "swap_tensors":
        from ._swapping import swap_tensors

        return swap_tensors
    if name in _LAZY:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'adjoint.utils' has no attribute '{name}'")
