"""How the weights of convolutions lie in memory."""

from __future__ import annotations

from typing import Any, TypeVar

from ..conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..module import Module

T = TypeVar("T", bound=Module)


def convert_conv2d_weight_memory_format(module: T, memory_format: Any) -> T:
    """Lay out the weights of all convolutions of images in a module, in place."""
    return _converted(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: T, memory_format: Any) -> T:
    """Lay out the weights of all convolutions of volumes in a module, in place."""
    return _converted(module, memory_format, (Conv3d, ConvTranspose3d))


def _converted(module: T, memory_format: Any, kinds: tuple[type[Module], ...]) -> T:
    for layer in module.modules():
        if isinstance(layer, kinds):
            weight: Any = layer.weight
            weight.data = weight.detach().clone().contiguous(memory_format=memory_format)
    return module
