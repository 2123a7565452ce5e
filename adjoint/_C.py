"""The few names of PyTorch's compiled module that programs use: how `__torch_function__` is turned off."""

from __future__ import annotations

from ._overriding import DisableTorchFunction, DisableTorchFunctionSubclass, _disabled, modes
from ._state import GRAD, swap_bits
from ._tensor import Tensor
from ._tensor import disabled_torch_function as _disabled_torch_function_impl

TensorBase = Tensor


def _is_torch_function_enabled() -> bool:
    """Whether classes derived from Tensor are asked."""
    return not _disabled.get()


def _is_torch_function_mode_enabled() -> bool:
    return bool(modes())


def _set_grad_enabled(mode: bool) -> None:
    swap_bits(GRAD, GRAD if mode else 0)


__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "TensorBase", "_disabled_torch_function_impl", "_set_grad_enabled"]
