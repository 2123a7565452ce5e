"""PyTorch's `torch.utils.hooks`."""

from typing import Any

from .._utils import warn_of_hooks
from ..autograd.hooks import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Any) -> Any:
    """Mark a hook as one that is not meant to be saved with its tensor, so that saving does not warn."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of the hooks that are lost when the tensor is saved."""
    if tensor._hooks is not None:
        warn_of_hooks(tensor._hooks.tensor.get(0, {}))
