"""A module that would be copied to several GPUs, of which there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..module import Module


class DataParallel(Module):
    """Calls the module that it wraps. The state dict has its prefix, `module.`."""

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.dim = dim
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """The same for one call."""
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **module_kwargs or {})
