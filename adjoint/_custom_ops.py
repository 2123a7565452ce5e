"""PyTorch's `torch._custom_ops`: see `library`."""

from .library import custom_op, get_ctx

__all__ = ["custom_op", "get_ctx"]
