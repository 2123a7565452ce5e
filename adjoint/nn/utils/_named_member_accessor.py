"""What is used of PyTorch's `torch.nn.utils._named_member_accessor`."""

from __future__ import annotations

from typing import Any

from ..module import Module

_missing: Any = object()


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a tensor in the place of a parameter, buffer or attribute of a module, and give back what was there."""
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    table = next((table for table in (module._parameters, module._buffers) if name in table), None)
    before = table[name] if table is not None else getattr(module, name, _missing)
    if before is _missing:
        if not allow_missing:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    elif table is not None:
        table.pop(name)
    if table is not None and tensor is not _missing:
        table[name] = tensor
    elif tensor is not _missing:
        setattr(module, name, tensor)
    elif table is None and before is not _missing:
        delattr(module, name)
    return before
