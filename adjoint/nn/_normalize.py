"""Normalization as functions: checks, running statistics, and the ops of `_norms.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._dtype import bfloat16, float16, float32
from .._errors import spelled
from .._layer import Layer, level_of
from .._site import here
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..autograd.views import check_writable, counter_of
from ..ops._precision import wide
from . import _fast_norms, _norms

EPSILON = float(np.finfo(np.float32).eps)
HALF = float16, bfloat16
EPSILONS = {np.dtype(name): float(np.finfo(name).eps) for name in ("float64", "complex128")}


def in_single(parameter: Tensor | None) -> bool:
    """Whether a weight is in single precision. Then half precision is computed in that too, and the result rounded."""
    return isinstance(parameter, Tensor) and parameter.dtype is float32


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """The input with mean 0 and variance 1 over its last dimensions, times `weight` plus `bias`."""
    if not isinstance(normalized_shape, tuple | list):
        kind = type(normalized_shape).__name__
        raise TypeError(f"layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not {kind}")
    if input.dtype in HALF and in_single(weight):
        return layer_norm(input.float(), normalized_shape, weight, bias, eps).to(input.dtype)
    return _norms.layer_norm(input, tuple(normalized_shape), weight, bias, eps, [])  # type: ignore[no-any-return]


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """The input divided by the root of its mean square over the last dimensions, times `weight`."""
    if input.dtype in HALF and in_single(weight):
        return rms_norm(input.float(), normalized_shape, weight, eps).to(input.dtype)
    shape = tuple(normalized_shape)
    _norms.check_normalized_shape(input, shape, weight, None)
    if not input.is_floating_point() and not input.is_complex():
        raise NotImplementedError(f"\"rms_norm\" not implemented for '{input.dtype.scalar_name}'\n  fix: x.float()")
    if eps is None:
        eps = EPSILONS.get(input._data.dtype, EPSILON)  # half precision is computed in single
    if input._data.dtype.kind != "c" and (weight is None or weight._data.dtype == input._data.dtype):
        return _norms.rms_norm(input, shape, weight, eps, [])  # type: ignore[no-any-return]
    dims = tuple(range(-len(shape), 0))
    normal = input * (input * input).mean(dims, keepdim=True).add(eps).rsqrt()
    return normal if weight is None else normal * weight


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """The input with mean 0 and variance 1 in every group of channels of every sample, times `weight` plus `bias`."""
    if input.ndim >= 2 and num_groups > 0 and input.shape[0] * input.shape[1] // num_groups * math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(input.shape)}")
    if input.dtype in HALF and in_single(weight):
        return group_norm(input.float(), num_groups, weight, bias, eps).to(input.dtype)
    return _norms.group_norm(input, num_groups, weight, bias, eps, [])  # type: ignore[no-any-return]


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """The input with mean 0 and variance 1 in every channel, times `weight` plus `bias`; in evaluation, by the running statistics."""
    if eps <= 0 and (training or eps < 0):
        raise ValueError(f"batch_norm eps must be {'positive during training' if training else 'non-negative'}, but got {eps}")
    if input.dtype in HALF and in_single(weight):
        return batch_norm(input.float(), running_mean, running_var, weight, bias, training, momentum, eps).to(input.dtype)
    if input.numel() == 0:
        return _of_nothing(input, weight, bias)
    if training and math.prod(input.shape) == input.shape[1]:
        from ._owners import layer_here

        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.shape}"
            f"{f' (in {layer})' if (layer := layer_here()) else ''}\n"
            "  fix: DataLoader(..., drop_last=True) leaves out a last batch of one sample; model.eval() if this is no training"
        )
    channels = input.shape[1]
    for name, tensor in dict(running_mean=running_mean, running_var=running_var, weight=weight, bias=bias).items():
        if tensor is not None and tensor.numel() != channels:
            from ._owners import layer_here

            layer = layer_here()
            hint = f"the input {list(input.shape)} has {channels} channels: make {layer} with num_features={channels}"
            raise RuntimeError(f"{name} should contain {channels} elements not {tensor.numel()}" + (f"\n  fix: {hint}" if layer else ""))
    if training:
        kept: _fast_norms.Kept = []
        result = _norms.batch_norm_training(input, weight, bias, eps, kept)
        if running_mean is not None and running_var is not None:
            _update_statistics(input, running_mean, running_var, momentum, kept)
        return result  # type: ignore[no-any-return]
    for name, tensor in dict(running_mean=running_mean, running_var=running_var).items():
        if tensor is None:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    return _norms.batch_norm_inference(input, running_mean, running_var, weight, bias, eps)  # type: ignore[no-any-return]


def _of_nothing(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """What PyTorch makes of an input without elements, of which it does not ask that it has channels."""
    result = input.clone() if weight is None else input * weight[0]
    return result if bias is None else result + bias[0]


def _without_derivatives(input: Tensor, running: Tensor) -> Tensor:
    """The values of an input inside transforms that the running statistics are not part of."""
    input = input.detach()
    while (level := level_of(input)) is not None and not level.hides_dimension and level_of(running) is not level:
        input = input._data.value.detach()
    return input


def _move(running: Tensor, value: Tensor, momentum: float) -> None:
    level = level_of(value)
    if level is not None and level.hides_dimension and level_of(running) is not level:
        raise RuntimeError(
            spelled(
                "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, were not "
                "batched.\n  fix: vmap over the running statistics too (torch.func.stack_module_state), use GroupNorm, or set "
                "track_running_stats=False"
            )
        )
    with no_grad():
        running.mul_(1 - momentum).add_(value, alpha=momentum)


def _update_statistics(
    input: Tensor, running_mean: Tensor, running_var: Tensor, momentum: float, kept: _fast_norms.Kept
) -> None:
    """Move the running statistics towards those of this batch."""
    if input.is_meta:
        return
    if isinstance(input._data, Layer):
        input, kept = _without_derivatives(input, running_mean), []
    data = input._data
    count = data.size // data.shape[1]
    unbiased = count / max(count - 1, 1)
    if isinstance(data, Layer) or isinstance(running_mean._data, Layer) or isinstance(running_var._data, Layer):
        axes = _norms.all_but_channel(data)
        _move(running_mean, input.mean(axes), momentum)
        _move(running_var, input.var(axes, correction=0) * unbiased, momentum)
        return
    for running in (running_mean, running_var):
        check_writable(running, False)
    if not _fast_norms.move_statistics(running_mean._data, running_var._data, kept, momentum, unbiased):
        axes = _norms.all_but_channel(data)
        mean, _, var = kept or (wide(data).mean(axes), None, wide(data).var(axes))
        for running, value in ((running_mean, mean), (running_var, var * unbiased)):
            running._data[...] = running._data * (1 - momentum) + value * momentum
    for running in (running_mean, running_var):
        counter_of(running).bump(here())


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """The input with mean 0 and variance 1 in every channel of every sample, times `weight` plus `bias`."""
    if input.dtype in HALF and in_single(weight):
        return instance_norm(input.float(), running_mean, running_var, weight, bias, use_input_stats, momentum, eps).to(input.dtype)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    result = _norms.group_norm(input.contiguous(), max(1, input.shape[1]), weight, bias, eps, [])
    if running_mean is not None and running_var is not None and not input.is_meta:
        _update_instance_statistics(input, running_mean, running_var, momentum)
    return result  # type: ignore[no-any-return]


def _update_instance_statistics(input: Tensor, running_mean: Tensor, running_var: Tensor, momentum: float) -> None:
    """The same with the statistics of each sample, averaged over the samples."""
    input = _without_derivatives(input, running_mean)
    axes = tuple(range(2, input.ndim))
    count = math.prod(input.shape[2:])
    if isinstance(input._data, Layer):
        _move(running_mean, input.mean(axes).mean(0), momentum)
        _move(running_var, input.var(axes).mean(0), momentum)
        return
    data = wide(input._data)
    means, variances = data.mean(axes), data.var(axes) * (count / (count - 1))
    for running, value in ((running_mean, means), (running_var, variances)):
        check_writable(running, False)
        running._data[...] = running._data * (1 - momentum) + np.mean(value, axis=0) * momentum
        counter_of(running).bump(here())


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """The input divided by a power of the mean square over neighbouring channels."""
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if input.numel() == 0:
        return input
    from .functional import pad

    squares = input * input
    before, after = size // 2, (size - 1) // 2
    padded = pad(squares, (0, 0) * (input.ndim - 2) + (before, after))
    channels = input.shape[1]
    total = padded[:, 0:channels]
    for shift in range(1, size):
        total = total + padded[:, shift : shift + channels]
    mean = total / size if input.is_floating_point() else total // size  # (that of integers is one, as in PyTorch)
    return input / mean.mul(alpha).add(k).pow(beta)
