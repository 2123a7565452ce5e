"""PyTorch's `torch.cuda`, as it answers where there is no GPU."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """False: adjoint computes on the CPU."""
    return False


def device_count() -> int:
    return 0


def is_initialized() -> bool:
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return False


def current_device() -> int:
    raise AssertionError("Torch not compiled with CUDA enabled: adjoint computes on the CPU; test cuda.is_available() first")


def get_device_name(device: Any = None) -> str:
    raise AssertionError("Torch not compiled with CUDA enabled: adjoint computes on the CPU; test cuda.is_available() first")


def manual_seed(seed: int) -> None:
    """Nothing happens: there is no generator on a GPU."""


def manual_seed_all(seed: int) -> None:
    """Nothing happens: there is no generator on a GPU."""


def empty_cache() -> None:
    """Nothing happens: there is no memory on a GPU."""


def synchronize(device: Any = None) -> None:
    raise AssertionError("Torch not compiled with CUDA enabled: adjoint computes on the CPU, where every operation is done on return")


def memory_allocated(device: Any = None) -> int:
    return 0


def max_memory_allocated(device: Any = None) -> int:
    return 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing happens: there is no memory on a GPU."""


def __getattr__(name: str) -> Any:
    if name == "amp":
        from importlib import import_module

        return import_module(".amp", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
