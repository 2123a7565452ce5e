"""PyTorch's `torch.cuda`, as it answers where there is no GPU."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .._absent_device import absent, device, device_of
from .._homes import settle
from .._legacy import TENSOR_TYPES
from .._standing import inert, refused
from . import nvtx as nvtx
from . import profiler as profiler

_without_gpu = refused("Torch not compiled with CUDA enabled: adjoint computes on the CPU; test cuda.is_available() first", AssertionError)

absent(
    globals(),
    "CUDA",
    "current_device current_stream default_stream device_count empty_cache get_arch_list get_device_capability get_device_name "
    "get_device_properties get_rng_state get_rng_state_all init initial_seed ipc_collect is_available is_bf16_supported "
    "is_current_stream_capturing is_initialized manual_seed manual_seed_all max_memory_allocated max_memory_reserved mem_get_info "
    "memory_allocated memory_reserved memory_stats reset_accumulated_memory_stats reset_peak_memory_stats seed seed_all set_device "
    "set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream",
)

default_generators: tuple[Any, ...] = ()
has_half = True


class OutOfMemoryError(RuntimeError):
    """What PyTorch raises when a GPU has no memory left. Programs name it to catch it."""


class CudaError(RuntimeError):
    """What PyTorch raises when a call of CUDA fails."""


@_without_gpu
class Event:
    """A mark in the work of a GPU, of which there is none."""


@_without_gpu
class Stream:
    """A queue of work for a GPU, of which there is none."""


@_without_gpu
class CUDAGraph:
    """Work of a GPU that can be done again, of which there is none."""


@_without_gpu
class graph:
    """A `with` block whose work of a GPU is recorded."""


@_without_gpu
def make_graphed_callables(callables: Any, sample_args: Any, **options: Any) -> Any: ...


@_without_gpu
def graph_pool_handle() -> Any: ...


@_without_gpu
def cudart() -> Any: ...


@_without_gpu
def current_blas_handle() -> Any: ...


@inert("None is the only stream there is")
def stream(stream: Any) -> AbstractContextManager[Any]:
    """Nothing happens for None, which is the only stream there is."""
    if stream is not None:
        Stream()
    return nullcontext()


StreamContext = stream


@refused("Torch not compiled with CUDA enabled: adjoint computes on the CPU, where every operation is done on return", AssertionError)
def synchronize(device: Any = None) -> None: ...


@inert("there is no memory on a GPU")
def reset_max_memory_allocated(device: Any = None) -> None: ...


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    return "There is no memory on a GPU."


def memory_snapshot(mempool_id: Any = None) -> list[Any]:
    return []


_initialized = False  # and never will be


def _absent_type(name: str) -> type:
    """`torch.cuda.FloatTensor` and the like: no tensor is one."""
    reason = f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled: write torch.{name}"
    made = type(name, (), {"__doc__": "Tensors on a GPU, of which there is none.", "__module__": __name__})
    return refused(reason, TypeError)(made)  # type: ignore[no-any-return]


globals().update({name: _absent_type(name) for name in TENSOR_TYPES})

__all__ = ["Event", "OutOfMemoryError", "Stream", "device", "device_of", "stream", "synchronize"]

settle(__name__, dict.fromkeys(("graphs", "memory", "random", "sparse", "streams"), ("",)))


def __getattr__(name: str) -> Any:
    if name == "amp":
        from importlib import import_module

        return import_module(".amp", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
