"""PyTorch's `torch.utils.dlpack`."""

from .._dlpack import from_dlpack
from .._interop import to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
