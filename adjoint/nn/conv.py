"""Convolution layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._creation import empty
from .._tensor import Parameter, Tensor
from . import functional as F
from . import init
from .module import TensorModule as Module

Numbers = int | tuple[int, ...]

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _as_tuple(value: Any, count: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, Sequence) else (value,) * count


class _ConvNd(Module):
    """What all convolution layers have in common."""

    padding_mode = "zeros"  # of layers that were pickled before there was a choice
    dims: int
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers,
        padding: Numbers | str,
        output_padding: Numbers,
        dilation: Numbers,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode not in PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {set(PADDING_MODES)}, but got padding_mode='{padding_mode}'")
        count = self.dims
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _as_tuple(kernel_size, count)
        self.stride = _as_tuple(stride, count)
        self.padding: str | tuple[int, ...] = padding if isinstance(padding, str) else _as_tuple(padding, count)
        self.dilation = _as_tuple(dilation, count)
        self.transposed = isinstance(self, _ConvTransposeNd)
        self.output_padding = _as_tuple(output_padding, count)
        self.groups = groups
        self.padding_mode = padding_mode
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string '{padding}', should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        self._reversed_padding_repeated_twice = self._sides()
        self.weight = Parameter(empty(self._weight_shape(), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        return (self.out_channels, self.in_channels // self.groups, *self.kernel_size)

    def _sides(self) -> list[int]:
        """The padding as `pad` takes it: before and after, from the last dimension to the first."""
        if isinstance(self.padding, tuple):
            return [side for p in reversed(self.padding) for side in (p, p)]
        if self.padding == "valid":
            return [0, 0] * self.dims
        totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        return [side for total in reversed(totals) for side in (total // 2, total - total // 2)]

    def reset_parameters(self) -> None:
        """Draw new values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan_in = math.prod(self.weight.shape[1:])
        if self.bias is not None and fan_in > 0:
            bound = 1 / math.sqrt(fan_in)
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        count = self.dims
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * count:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * count:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * count:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Convolution(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers = 1,
        padding: Numbers | str = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, 0, dilation, groups, bias, padding_mode, device, dtype
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        convolve = (F.conv1d, F.conv2d, F.conv3d)[self.dims - 1]
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode)
            return convolve(input, weight, bias, self.stride, 0, self.dilation, self.groups)
        return convolve(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Convolution):
    """Cross-correlation of (N, C, L) or (C, L) with learned kernels.

    >>> import adjoint as ad
    >>> ad.nn.Conv1d(3, 8, kernel_size=5, padding=2)(ad.ones(3, 100)).shape
    torch.Size([8, 100])
    """

    dims = 1


class Conv2d(_Convolution):
    """Cross-correlation of (N, C, H, W) or (C, H, W) with learned kernels."""

    dims = 2


class Conv3d(_Convolution):
    """Cross-correlation of (N, C, D, H, W) or (C, D, H, W) with learned kernels."""

    dims = 3


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers = 1,
        padding: Numbers = 0,
        output_padding: Numbers = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Numbers = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation, groups, bias, padding_mode, device, dtype
        )

    def _weight_shape(self) -> tuple[int, ...]:
        return (self.in_channels, self.out_channels // self.groups, *self.kernel_size)

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """How much to add at the ends for a result of the size wanted: several sizes are possible where the stride is not 1."""
        if output_size is None:
            return self.output_padding
        count = self.dims
        wanted = list(output_size)
        if len(wanted) == input.ndim:
            wanted = wanted[input.ndim - count :]
        if len(wanted) != count:
            raise ValueError(
                f"ConvTranspose{count}D: for {input.ndim}D input, output_size must have {count} or {input.ndim} elements "
                f"(got {len(wanted)})"
            )
        assert isinstance(self.padding, tuple)
        size = input.shape[input.ndim - count :]
        together = zip(size, self.kernel_size, self.stride, self.padding, self.dilation, strict=True)
        smallest = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, k, s, p, d in together]
        largest = [low + s - 1 for low, s in zip(smallest, self.stride, strict=True)]
        if any(not low <= n <= high for low, n, high in zip(smallest, wanted, largest, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {smallest} to {largest} (for an input of {size})"
            )
        return tuple(n - low for n, low in zip(wanted, smallest, strict=True))

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self.dims - 1]
        more = self._output_padding(input, output_size)
        assert isinstance(self.padding, tuple)
        return convolve(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    """Every element of (N, C, L) or (C, L) spreads a learned kernel."""

    dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Every element of (N, C, H, W) or (C, H, W) spreads a learned kernel."""

    dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Every element of (N, C, D, H, W) or (C, D, H, W) spreads a learned kernel."""

    dims = 3
