"""PyTorch's `torch.utils._device`: a default device for the body of a function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._device import device as _device

__all__ = ["DeviceContext", "device_decorator", "set_device"]


class DeviceContext:
    """`with DeviceContext(device):` is `with torch.device(device):`."""

    def __init__(self, device: Any) -> None:
        self.device = _device(device)

    def __enter__(self) -> DeviceContext:
        self.device.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.device.__exit__(*error)


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    if isinstance(func, type):
        raise RuntimeError(f"Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should be: {func}")

    @functools.wraps(func)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with _device(device):
            return func(*args, **kwargs)

    return inside


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function so that tensors are made on a device while it runs, unless they say otherwise."""
    return lambda func: device_decorator(_device(device), func)
