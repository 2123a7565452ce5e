"""PyTorch's wrapper for training in several processes, of which there is one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...distributed import get_rank
from ..module import Module


class DistributedDataParallel(Module):
    """Calls the module that it wraps: gradients of one process need no averaging. The state dict has its prefix, `module.`."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0, **options: Any) -> None:
        get_rank()  # an error where there is no group
        super().__init__()
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.")
        self.module = module
        self.dim = dim
        self.device_ids = None
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """As nothing is averaged, nothing changes."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before
