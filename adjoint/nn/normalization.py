"""Normalization layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._creation import empty, ones, zeros
from .._dtype import bfloat16, float16, int64
from .._site import warn
from .._tensor import Parameter, Tensor, wrap
from ..autograd.grad_mode import no_grad
from ..ops.join import cat, stack
from . import functional as F
from . import init
from .module import Module as AnyModule
from .module import TensorModule as Module


class _Affine(Module):
    """A weight that begins as ones, and a bias that begins as zeros; either may be left out."""

    weight: Parameter | None
    bias: Parameter | None

    def _make_affine(self, shape: tuple[int, ...], weight: bool, bias: bool, device: Any, dtype: Any) -> None:
        self.register_parameter("weight", Parameter(empty(shape, device=device, dtype=dtype)) if weight else None)
        self.register_parameter("bias", Parameter(empty(shape, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Ones and zeros again."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


# ---- over features ------------------------------------------------------------------------------------------------------------------


class LayerNorm(_Affine):
    """Mean 0 and variance 1 over the last dimensions of every sample, then an affine map of each element."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._make_affine(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Root mean square 1 over the last dimensions of every sample, then a factor for each element."""

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        given = Parameter(empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", given)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Ones again."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """Mean 0 and variance 1 in every group of channels of every sample, then an affine map of each channel."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._make_affine((num_channels,), affine, affine and bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class LocalResponseNorm(Module):
    """The input divided by a power of the mean square over neighbouring channels."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """The same with a window that reaches equally far to both sides."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.ndim}D instead.")
        window = self.size - 1 + self.size % 2  # an even size has no middle, and counts for one less, but as a divisor
        return F.local_response_norm(input, window, self.alpha * window / self.size, self.beta, self.k)


def _as_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


# ---- with running statistics --------------------------------------------------------------------------------------------------------


class _NormBase(_Affine):
    """What batch and instance normalization have in common: one statistic per channel, with running averages if wanted."""

    _version = 2
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    dims: tuple[int, ...]  # the numbers of dimensions that the input may have

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", ones(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", zeros((), device=device, dtype=int64) if tracked else None)
        self._make_affine((num_features,), affine, affine and bias, device, dtype)

    def reset_running_stats(self) -> None:
        """Forget what has been seen."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Begin anew."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self.dims:
            expected = " or ".join(f"{n}D" for n in self.dims)
            raise ValueError(f"expected {expected} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        key = f"{prefix}num_batches_tracked"
        if local_metadata.get("version", 1) < 2 and self.num_batches_tracked is not None and key not in state_dict:
            state_dict[key] = wrap(np.zeros((), np.int64))  # what was saved before there was such a number
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)


class _BatchNorm(_NormBase):
    def _count_batch(self) -> float:
        """Count a batch that is trained on. Returns its weight in the running statistics."""
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # a plain average of all batches
                momentum = 1.0 / self.num_batches_tracked.item()
        return momentum

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = self._count_batch()
        use_running = not self.training or self.track_running_stats
        mean, var = (self.running_mean, self.running_var) if use_running else (None, None)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        return F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Mean 0 and variance 1 in every channel of a batch (N, C) or (N, C, L), then an affine map of each channel."""

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Mean 0 and variance 1 in every channel of a batch (N, C, H, W), then an affine map of each channel."""

    dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Mean 0 and variance 1 in every channel of a batch (N, C, D, H, W), then an affine map of each channel."""

    dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization of any input. When training, the statistics are those of the batches of all processes of a group."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")

    def forward(self, input: Tensor) -> Tensor:
        from ..distributed import is_initialized, require

        by_batch = self.training or self.running_mean is None
        group = require(self.process_group) if by_batch and is_initialized() else None
        if group is None or group.size() == 1:
            return super().forward(input)
        self._check_input_dim(input)
        momentum = self._count_batch()
        mean, var, count = _moments_everywhere(input, group)
        if self.training and self.running_mean is not None and self.running_var is not None:
            with no_grad():
                self.running_mean.lerp_(mean.to(self.running_mean.dtype), momentum)
                self.running_var.lerp_((var * (count / (count - 1))).to(self.running_var.dtype), momentum)
        factor = (var + self.eps).rsqrt()
        factor = factor if self.weight is None else factor * self.weight
        shift = -mean * factor if self.bias is None else self.bias - mean * factor
        shape = (1, -1) + (1,) * (input.ndim - 2)
        return (input * factor.view(shape) + shift.view(shape)).to(input.dtype)

    @classmethod
    def convert_sync_batchnorm(cls, module: AnyModule, process_group: Any = None) -> AnyModule:
        """The module with every batch normalization in it replaced by one of this class, with the same parameters and buffers."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group,
                bias=module.bias is not None,
            )  # fmt: skip
            converted.weight, converted.bias = module.weight, module.bias
            for name, buffer in module.named_buffers(recurse=False):
                setattr(converted, name, buffer)
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


def _moments_everywhere(input: Tensor, group: Any) -> tuple[Tensor, Tensor, float]:
    """The mean and the variance of each channel over the batches of all processes, and how many elements a channel has. Each process sends
    those of its own batch, and gradients come back the same way; differences of means are small, so nothing cancels."""
    from ..distributed.nn import all_gather

    dims = [0, *range(2, input.ndim)]
    own = input.numel() // input.shape[1]
    wide = input.float() if input.dtype in (float16, bfloat16) else input
    mean = wide.sum(dims) / max(own, 1)
    var = (wide - mean.view((1, -1) + (1,) * (input.ndim - 2))).square().sum(dims) / max(own, 1)
    rows = stack(all_gather(cat([mean, var, mean.new_full((1,), own)]), group))
    counts = rows[:, -1:].detach()
    means, variances = rows[:, :-1].chunk(2, 1)
    count = float(counts.sum())
    mean = (counts * means).sum(0) / count
    return mean, (counts * (variances + (means - mean).square())).sum(0) / count, count


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        unbatched = input.ndim == self.dims[0]
        self._check_channels(input, 0 if unbatched else 1)
        batch = input.unsqueeze(0) if unbatched else input
        use_input = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        result = F.instance_norm(
            batch, self.running_mean, self.running_var, self.weight, self.bias, use_input, momentum, self.eps
        )
        return result.squeeze(0) if unbatched else result

    def _check_channels(self, input: Tensor, dim: int) -> None:
        if input.shape[dim] == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {input.shape[dim]}."
            )
        warn(
            f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing in num_features, "
            "which is not used because affine=False"
        )


class InstanceNorm1d(_InstanceNorm):
    """Mean 0 and variance 1 in every channel of every sample (C, L)."""

    dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Mean 0 and variance 1 in every channel of every sample (C, H, W)."""

    dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Mean 0 and variance 1 in every channel of every sample (C, D, H, W)."""

    dims = (4, 5)
