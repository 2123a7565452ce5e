"""PyTorch's `torch.distributed.launch`, the old name of `torch.distributed.run`."""

from .run import main

__all__ = ["main"]
