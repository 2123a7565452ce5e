"""Pooling layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._tensor import Tensor
from . import functional as F
from .module import Module, TensorModule

Numbers = int | tuple[int, ...]


def _as_tuple(value: Any, count: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, Sequence) else (value,) * count


# ---- maxima -------------------------------------------------------------------------------------------------------------------------


class _MaxPoolNd(Module):
    dims: int

    def __init__(
        self,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[self.dims - 1]
        return pool(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The maximum over windows of the last dimension."""

    dims = 1


class MaxPool2d(_MaxPoolNd):
    """The maximum over windows of the last two dimensions.

    >>> import adjoint as ad
    >>> ad.nn.MaxPool2d(2)(ad.arange(16.0).reshape(1, 4, 4))
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """

    dims = 2


class MaxPool3d(_MaxPoolNd):
    """The maximum over windows of the last three dimensions."""

    dims = 3


class _MaxUnpoolNd(TensorModule):
    dims: int

    def __init__(self, kernel_size: Numbers, stride: Numbers | None = None, padding: Numbers = 0) -> None:
        super().__init__()
        self.kernel_size = _as_tuple(kernel_size, self.dims)
        self.stride = _as_tuple(kernel_size if stride is None else stride, self.dims)
        self.padding = _as_tuple(padding, self.dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        unpool = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)[self.dims - 1]
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """The maxima of `MaxPool1d` put back where they were, with zeros elsewhere."""

    dims = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """The maxima of `MaxPool2d` put back where they were, with zeros elsewhere."""

    dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """The maxima of `MaxPool3d` put back where they were, with zeros elsewhere."""

    dims = 3


class _FractionalMaxPoolNd(Module):
    dims: int

    def __init__(
        self,
        kernel_size: Numbers,
        output_size: Numbers | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        count = self.dims
        if count == 3 and min((kernel_size,) if isinstance(kernel_size, int) else kernel_size) <= 0:  # PyTorch does not look at two
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.kernel_size = _as_tuple(kernel_size, count)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else _as_tuple(output_size, count)
        self.output_ratio = None if output_ratio is None else _as_tuple(output_ratio, count)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        pool = F.fractional_max_pool2d if self.dims == 2 else F.fractional_max_pool3d
        return pool(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, _random_samples=self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The maximum over windows of the last two dimensions that begin at random distances."""

    dims = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The maximum over windows of the last three dimensions that begin at random distances."""

    dims = 3


# ---- means --------------------------------------------------------------------------------------------------------------------------


class AvgPool1d(TensorModule):
    """The mean over windows of the last dimension."""

    def __init__(
        self,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _as_tuple(kernel_size, 1)
        self.stride = _as_tuple(kernel_size if stride is None else stride, 1)
        self.padding = _as_tuple(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolNd(TensorModule):
    dims: int

    def __init__(
        self,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        pool = F.avg_pool2d if self.dims == 2 else F.avg_pool3d
        return pool(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPoolNd):
    """The mean over windows of the last two dimensions."""

    dims = 2


class AvgPool3d(_AvgPoolNd):
    """The mean over windows of the last three dimensions."""

    dims = 3


class _LPPoolNd(TensorModule):
    dims: int

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        pool = (F.lp_pool1d, F.lp_pool2d, F.lp_pool3d)[self.dims - 1]
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPoolNd):
    """The norm of windows of the last dimension."""

    dims = 1


class LPPool2d(_LPPoolNd):
    """The norm of windows of the last two dimensions."""

    dims = 2


class LPPool3d(_LPPoolNd):
    """The norm of windows of the last three dimensions."""

    dims = 3


# ---- adaptive -----------------------------------------------------------------------------------------------------------------------


class _AdaptiveAvgPoolNd(TensorModule):
    dims: int

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[self.dims - 1](input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean over as many windows of the last dimension as are wanted."""

    dims = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean over as many windows of the last two dimensions as are wanted."""

    dims = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The mean over as many windows of the last three dimensions as are wanted."""

    dims = 3


class _AdaptiveMaxPoolNd(Module):
    dims: int

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        pool = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)[self.dims - 1]
        return pool(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The maximum over as many windows of the last dimension as are wanted."""

    dims = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The maximum over as many windows of the last two dimensions as are wanted."""

    dims = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The maximum over as many windows of the last three dimensions as are wanted."""

    dims = 3
