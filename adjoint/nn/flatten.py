"""Layers that change shapes."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor
from . import functional as F
from .module import TensorModule as Module


class Flatten(Module):
    """Make several dimensions one; by default all but the first."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Make one dimension several."""

    def __init__(self, dim: int, unflattened_size: tuple[int, ...] | list[int]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, tuple | list):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}")
        for place, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at pos {place}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class PixelShuffle(Module):
    """Channels made into pixels."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Pixels made into channels."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Channels of different groups mixed."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


# ---- padding ------------------------------------------------------------------------------------------------------------------------


class _Pad(Module):
    """Padding of the last `dims` dimensions; one number stands for all sides."""

    dims: int
    mode = "constant"

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__()
        self.padding: tuple[int, ...] = (padding,) * (2 * self.dims) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: int | tuple[int, ...], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _CircularPad(_Pad):
    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (self.dims + 1, self.dims + 2):
            raise ValueError(f"expected {self.dims + 1}D or {self.dims + 2}D input (got {input.ndim}D input)")
        return super().forward(input)


def _family(name: str, base: type[_Pad], doc: str, **members: Any) -> list[Any]:
    """The same layer for one, two and three dimensions."""
    made = []
    for dims in (1, 2, 3):
        text = f"{doc} of the last {f'{dims} dimensions' if dims > 1 else 'dimension'}."
        made.append(type(f"{name}{dims}d", (base,), {"__doc__": text, "__module__": __name__, "dims": dims, **members}))
    return made


ConstantPad1d, ConstantPad2d, ConstantPad3d = _family("ConstantPad", _ConstantPad, "A number at the ends")
ZeroPad1d, ZeroPad2d, ZeroPad3d = _family("ZeroPad", _Pad, "Zeros at the ends")
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = _family("ReflectionPad", _Pad, "A mirror at the ends", mode="reflect")
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = _family(
    "ReplicationPad", _Pad, "The outermost elements repeated at the ends", mode="replicate"
)
CircularPad1d, CircularPad2d, CircularPad3d = _family("CircularPad", _CircularPad, "The other end at the ends", mode="circular")
