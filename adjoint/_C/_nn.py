"""What is used of PyTorch's `torch._C._nn`."""

from __future__ import annotations

from typing import Any

from .._device import device


def _parse_to(*args: Any, **kwargs: Any) -> tuple[device | None, Any, bool, Any]:
    """The device, dtype, `non_blocking` and memory format that the arguments of `Tensor.to` and `Module.to` name."""
    from ..nn._conversion import _destination

    place, dtype = _destination(*args, **kwargs)
    flags = [value for value in args[1:] if isinstance(value, bool)]
    return place, dtype, bool(kwargs.get("non_blocking", flags[:1] == [True])), kwargs.get("memory_format")


def __getattr__(name: str) -> Any:
    """The functions of `nn.functional` that PyTorch has in C, by the names that graphs show them with."""
    from ..nn import functional

    return getattr(functional, "logsigmoid" if name == "log_sigmoid" else name)
