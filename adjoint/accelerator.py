"""PyTorch's `torch.accelerator`, as it answers where there is none."""

from __future__ import annotations

from typing import Any, NoReturn

from ._device import device


def is_available() -> bool:
    """False: adjoint computes on the CPU."""
    return False


def device_count() -> int:
    return 0


def current_accelerator(check_available: bool = False) -> device | None:
    return None


def _refuse() -> NoReturn:
    raise RuntimeError("Cannot access accelerator device when none is available: test torch.accelerator.is_available() first")


def current_device_index() -> int:
    _refuse()


def set_device_index(device: Any) -> None:
    _refuse()


def synchronize(device: Any = None) -> None:
    _refuse()


def empty_cache() -> None:
    """Nothing happens: there is no memory on an accelerator."""
