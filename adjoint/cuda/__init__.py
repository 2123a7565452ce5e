"""PyTorch's `torch.cuda`, as it answers where there is no GPU."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn


def is_available() -> bool:
    """False: adjoint computes on the CPU."""
    return False


def device_count() -> int:
    return 0


def is_initialized() -> bool:
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return False


class OutOfMemoryError(RuntimeError):
    """What PyTorch raises when a GPU has no memory left. Programs name it to catch it."""


def _refuse() -> NoReturn:
    raise AssertionError("Torch not compiled with CUDA enabled: adjoint computes on the CPU; test cuda.is_available() first")


def init() -> None:
    _refuse()


def current_device() -> int:
    _refuse()


def set_device(device: Any) -> None:
    _refuse()


def get_device_name(device: Any = None) -> str:
    _refuse()


def get_device_capability(device: Any = None) -> tuple[int, int]:
    _refuse()


def get_device_properties(device: Any = None) -> Any:
    _refuse()


def get_arch_list() -> list[str]:
    return []


def mem_get_info(device: Any = None) -> tuple[int, int]:
    _refuse()


def current_stream(device: Any = None) -> Any:
    _refuse()


class Event:
    """A mark in the work of a GPU, of which there is none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse()


class Stream:
    """A queue of work for a GPU, of which there is none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse()


def stream(stream: Any) -> AbstractContextManager[None]:
    """Nothing happens for None, which is the only stream there is."""
    if stream is not None:
        _refuse()
    return nullcontext()


def get_rng_state_all() -> list[Any]:
    """The states of no generators."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Nothing happens: there is no generator on a GPU."""


def seed() -> None:
    """Nothing happens: there is no generator on a GPU."""


def seed_all() -> None:
    """Nothing happens: there is no generator on a GPU."""


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


def memory_reserved(device: Any = None) -> int:
    return 0


def max_memory_reserved(device: Any = None) -> int:
    return 0


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    return OrderedDict()


def reset_max_memory_allocated(device: Any = None) -> None:
    """Nothing happens: there is no memory on a GPU."""


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing happens: there is no memory on a GPU."""


def __getattr__(name: str) -> Any:
    if name == "amp":
        from importlib import import_module

        return import_module(".amp", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
