"""PyTorch's `torch.utils.dlpack`."""

from .._interop import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
