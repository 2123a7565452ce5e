"""PyTorch's `torch.cuda`, as it answers where there is no GPU."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .._standing import inert, refused


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


_without_gpu = refused("Torch not compiled with CUDA enabled: adjoint computes on the CPU; test cuda.is_available() first", AssertionError)
_no_generator = inert("there is no generator on a GPU")
_no_memory = inert("there is no memory on a GPU")


@_without_gpu
def init() -> None: ...


@_without_gpu
def current_device() -> Any: ...


@_without_gpu
def set_device(device: Any) -> None: ...


@_without_gpu
def get_device_name(device: Any = None) -> Any: ...


@_without_gpu
def get_device_capability(device: Any = None) -> Any: ...


@_without_gpu
def get_device_properties(device: Any = None) -> Any: ...


def get_arch_list() -> list[str]:
    return []


@_without_gpu
def mem_get_info(device: Any = None) -> Any: ...


@_without_gpu
def current_stream(device: Any = None) -> Any: ...


@_without_gpu
class Event:
    """A mark in the work of a GPU, of which there is none."""


@_without_gpu
class Stream:
    """A queue of work for a GPU, of which there is none."""


@_without_gpu
class CUDAGraph:
    """Work of a GPU that is recorded to be done again. There is none."""


@_without_gpu
def graph_pool_handle() -> Any: ...


@_without_gpu
class graph:
    """Records the work of a GPU. There is none."""


@_without_gpu
def make_graphed_callables(callables: Any, sample_args: Any) -> Any: ...


@inert("None is the only stream there is")
def stream(stream: Any) -> AbstractContextManager[None]:
    """Nothing happens for None, which is the only stream there is."""
    if stream is not None:
        Stream()
    return nullcontext()


def get_rng_state_all() -> list[Any]:
    """The states of no generators."""
    return []


@_no_generator
def set_rng_state_all(new_states: Any) -> None: ...


@_no_generator
def seed() -> None: ...


@_no_generator
def seed_all() -> None: ...


@_no_generator
def manual_seed(seed: int) -> None: ...


@_no_generator
def manual_seed_all(seed: int) -> None: ...


@_no_memory
def empty_cache() -> None: ...


@refused("Torch not compiled with CUDA enabled: adjoint computes on the CPU, where every operation is done on return", AssertionError)
def synchronize(device: Any = None) -> None: ...


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


@_no_memory
def reset_max_memory_allocated(device: Any = None) -> None: ...


@_no_memory
def reset_peak_memory_stats(device: Any = None) -> None: ...


def __getattr__(name: str) -> Any:
    if name == "amp":
        from importlib import import_module

        return import_module(".amp", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
