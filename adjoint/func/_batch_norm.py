"""Batch normalisation and `vmap`: running statistics are one thing for all examples, so they cannot be updated by each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._layer import Layer
from .._tensor import Tensor

if TYPE_CHECKING:
    from ..nn.module import Module


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let every batch norm below `root` use the statistics of its batch only, in place: then `vmap` can run it."""
    from ..nn.normalization import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """What a tensor inside a transform holds: for looking at, not for computing with."""
    if not isinstance(tensor._data, Layer):
        return tensor
    value: Any = tensor._data.value
    return debug_unwrap(value) if recurse else value
