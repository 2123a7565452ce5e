"""PyTorch's `torch.accelerator`, as it answers where there is none."""

from __future__ import annotations

from typing import Any

from ._device import device
from ._standing import inert, refused


def is_available() -> bool:
    """False: adjoint computes on the CPU."""
    return False


def device_count() -> int:
    return 0


def current_accelerator(check_available: bool = False) -> device | None:
    return None


_absent = refused("Cannot access accelerator device when none is available: test torch.accelerator.is_available() first", RuntimeError)


@_absent
def current_device_index() -> Any: ...


@_absent
def set_device_index(device: Any) -> None: ...


@_absent
def synchronize(device: Any = None) -> None: ...


def memory_allocated(device: Any = None) -> int:
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


@_absent
def get_memory_info(device: Any = None) -> Any: ...


@inert("there is no memory on an accelerator")
def reset_peak_memory_stats(device: Any = None) -> None: ...


@inert("there is no memory on an accelerator")
def empty_cache() -> None: ...
