"""The ops behind normalization layers: one node each, where a composition of smaller ops would make ten.

They are primitives: the kernels (`_fast_norms.py`) leave what they found out on the way in a list that the caller made (`kept`), for the
backward pass. The code below computes it anew.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from ..ops._batching import behind_batch, expanded
from ..ops._precision import wide
from ..ops._primitives import primitive
from ..ops._registry import Array, op
from ..ops._rules import cast, contiguous
from . import _fast_norms as fast
from ._fast_norms import Grads, Kept

Axes = tuple[int, ...]

# ---- what normalizations share ------------------------------------------------------------------------------------------------------


def mean_over(x: Array, axes: Axes) -> Array:
    return np.sum(x, axis=axes, keepdims=True) / max(1, math.prod(x.shape[axis] for axis in axes))


def standardized(x: Array, axes: Axes, eps: float) -> tuple[Array, Array]:
    """`x` with mean 0 and variance 1 over some axes, and what it was multiplied by for that."""
    centered = x - mean_over(x, axes)
    factor = 1 / np.sqrt(mean_over(centered * centered, axes) + eps)
    return centered * factor, factor


def through_standardized(t: Array, normal: Array, factor: Array, axes: Axes) -> Array:
    """The Jacobian of `standardized`, which is symmetric, times a gradient or a tangent."""
    return (t - mean_over(t, axes) - normal * mean_over(t * normal, axes)) * factor


def summed(x: Array, axes: Axes, shape: tuple[int, ...]) -> Array:
    return np.reshape(np.sum(x, axis=axes), shape)


def affine(normal: Array, weight: Array | None, bias: Array | None, shape: tuple[int, ...]) -> Array:
    if weight is not None:
        normal = normal * np.reshape(weight, shape)
    return normal if bias is None else normal + np.reshape(bias, shape)


def affine_tangent(
    normal: Array, normal_t: Array, weight: Array | None, weight_t: Array | None, bias_t: Array | None, shape: tuple[int, ...]
) -> Array:
    tangent = affine(normal_t, weight, bias_t, shape)
    return tangent if weight_t is None else tangent + normal * np.reshape(weight_t, shape)


def check_dtypes(name: str, input: Array, *others: Array | None) -> None:
    if input.dtype.kind in "iubc":
        raise NotImplementedError(f"\"{name}\" not implemented for '{from_numpy_dtype(input.dtype).scalar_name}'\n  fix: x.float()")
    for other in others:
        if other is not None and other.dtype != input.dtype:
            names = from_numpy_dtype(input.dtype).scalar_name, from_numpy_dtype(other.dtype).scalar_name
            raise RuntimeError(
                f"expected scalar type {names[0]} but found {names[1]}: convert the input, or the module with module.to(dtype)"
            )


def channel_shape(input: Array) -> tuple[int, ...]:
    """The shape in which one number per channel broadcasts against the input."""
    return (1, input.shape[1]) + (1,) * (len(input.shape) - 2)


def all_but_channel(input: Array) -> Axes:
    return (0, *range(2, len(input.shape)))


# ---- layer norm ---------------------------------------------------------------------------------------------------------------------


def last_axes(x: Array, normalized_shape: tuple[int, ...]) -> Axes:
    return tuple(range(len(x.shape) - len(normalized_shape), len(x.shape)))


@primitive("norm.layer_back", fast.rows_back)
def layer_norm_grads(
    g: Array, input: Array, weight: Array | None, normalized_shape: tuple[int, ...], eps: float, kept: Kept, needs: tuple[bool, ...]
) -> Grads:
    axes = last_axes(input, normalized_shape)
    others = tuple(range(axes[0]))
    normal, factor = standardized(wide(input), axes, eps)
    wide_g = wide(g)
    back = through_standardized(affine(wide_g, weight, None, normalized_shape), normal, factor, axes) if needs[0] else None
    return (
        None if back is None else cast_like(back, input),
        cast_like(summed(wide_g * normal, others, normalized_shape), input) if needs[1] else None,
        cast_like(summed(wide_g, others, normalized_shape), input) if needs[2] else None,
    )


def layer_norm_jvp(
    input: Array, input_t: Array, weight: Array, weight_t: Array, bias_t: Array, normalized_shape: tuple[int, ...], eps: float
) -> Array:
    axes = last_axes(input, normalized_shape)
    normal, factor = standardized(input, axes, eps)
    normal_t = normal * 0 if input_t is None else through_standardized(input_t, normal, factor, axes)
    return affine_tangent(normal, normal_t, weight, weight_t, bias_t, normalized_shape)


def scaled_examples(normal: Any, weight: Any, bias: Any, batched: list[bool]) -> Any:
    """A batch of normalised inputs times weights plus biases, either of which may differ between examples."""
    if weight is not None:
        normal = normal * (behind_batch(weight, normal.ndim) if batched[1] else weight)
    if bias is not None:
        normal = normal + (behind_batch(bias, normal.ndim) if batched[2] else bias)
    return normal


def layer_norm_batch(
    input: Any, normalized_shape: tuple[int, ...], weight: Any, bias: Any, eps: float, batched: list[bool], examples: int
) -> Any:
    input = expanded(input, examples, batched[0])
    if not batched[1] and not batched[2]:
        return layer_norm(input, normalized_shape, weight, bias, eps, [])
    return scaled_examples(layer_norm(input, normalized_shape, None, None, eps, []), weight, bias, batched)


@op(method=False, function=False, nodes="NativeLayerNormBackward0", joint=layer_norm_grads, jvp=layer_norm_jvp,
    batch=layer_norm_batch)  # fmt: skip
@primitive("norm.layer", fast.rows)
def layer_norm(
    input: Array, normalized_shape: tuple[int, ...], weight: Array | None, bias: Array | None, eps: float, kept: Kept
) -> Array:
    """The input with mean 0 and variance 1 over its last dimensions, times `weight` plus `bias`."""
    check_normalized_shape(input, normalized_shape, weight, bias)
    check_dtypes("LayerNormKernelImpl", input, weight, bias)
    normal, _ = standardized(wide(input), last_axes(input, normalized_shape), eps)
    return contiguous(cast(affine(normal, weight, bias, normalized_shape), input.dtype))


def rms_factor(x: Array, axes: Axes, eps: float) -> Array:
    return 1 / np.sqrt(mean_over(x * x, axes) + eps)


@primitive("norm.rms_back", partial(fast.rows_back, centred=0))
def rms_norm_grads(
    g: Array, input: Array, weight: Array | None, normalized_shape: tuple[int, ...], eps: float, kept: Kept, needs: tuple[bool, ...]
) -> Grads:
    axes, wide_g = last_axes(input, normalized_shape), wide(g)
    factor = rms_factor(wide(input), axes, eps)
    normal = wide(input) * factor
    scaled = affine(wide_g, weight, None, normalized_shape)
    return (
        cast_like((scaled - normal * mean_over(scaled * normal, axes)) * factor, input) if needs[0] else None,
        cast_like(summed(wide_g * normal, tuple(range(axes[0])), normalized_shape), input) if needs[1] else None,
    )


def rms_norm_jvp(
    input: Array, input_t: Array, weight: Array, weight_t: Array, normalized_shape: tuple[int, ...], eps: float
) -> Array:
    axes = last_axes(input, normalized_shape)
    factor = rms_factor(input, axes, eps)
    normal = input * factor
    normal_t = normal * 0 if input_t is None else (input_t - normal * mean_over(input_t * normal, axes)) * factor
    return affine_tangent(normal, normal_t, weight, weight_t, None, normalized_shape)


def rms_norm_batch(input: Any, normalized_shape: tuple[int, ...], weight: Any, eps: float, batched: list[bool], examples: int) -> Any:
    input = expanded(input, examples, batched[0])
    if not batched[1]:
        return rms_norm(input, normalized_shape, weight, eps, [])
    return scaled_examples(rms_norm(input, normalized_shape, None, eps, []), weight, None, [*batched, False])


@op(method=False, function=False, images=("input",), nodes="MulBackward0", joint=rms_norm_grads, jvp=rms_norm_jvp, batch=rms_norm_batch)
@primitive("norm.rms", lambda x, shape, weight, eps, kept: fast.rows(x, shape, weight, None, eps, kept, 0))
def rms_norm(input: Array, normalized_shape: tuple[int, ...], weight: Array | None, eps: float, kept: Kept) -> Array:
    """The input divided by the root of its mean square over the last dimensions, times `weight`."""
    check_dtypes("rms_norm", input, weight)
    x = wide(input)
    normal = x * rms_factor(x, last_axes(input, normalized_shape), eps)
    return contiguous(cast(affine(normal, weight, None, normalized_shape), input.dtype))


def check_normalized_shape(input: Array, normalized_shape: tuple[int, ...], weight: Array | None, bias: Array | None) -> None:
    if input.shape[-len(normalized_shape) :] == normalized_shape and fast.have_shape(normalized_shape, weight, bias):
        return
    given = list(normalized_shape)
    if not given:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []"
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor.shape != normalized_shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(tensor.shape)} and "
                f"normalized_shape = {given}"
            )
    if tuple(input.shape[-len(given) :]) != normalized_shape:
        wanted = ", ".join(map(str, given))
        raise RuntimeError(
            f"Given normalized_shape={given}, expected input with shape [*, {wanted}], but got input of size{list(input.shape)}"
        )


def cast_like(x: Array, like: Array) -> Array:
    """`x` with the dtype of another array or Tensor."""
    dtype = like.dtype
    return cast(x, dtype if isinstance(dtype, np.dtype) else dtype.numpy)


# ---- batch norm ---------------------------------------------------------------------------------------------------------------------


@primitive("norm.batch_back", lambda g, x, weight, eps, kept, needs: fast.channels_back(g, x, weight, *kept[:2]) if kept else None)
def batch_norm_grads(g: Array, input: Array, weight: Array | None, eps: float, kept: Kept, needs: tuple[bool, ...]) -> Grads:
    axes, channels = all_but_channel(input), (input.shape[1],)
    normal, factor = standardized(wide(input), axes, eps)
    wide_g = wide(g)
    scaled = affine(wide_g, weight, None, channel_shape(input))
    return (
        cast_like(through_standardized(scaled, normal, factor, axes), input) if needs[0] else None,
        cast_like(summed(wide_g * normal, axes, channels), input) if needs[1] else None,
        cast_like(summed(wide_g, axes, channels), input) if needs[2] else None,
    )


def batch_norm_jvp(input: Array, input_t: Array, weight: Array, weight_t: Array, bias_t: Array, eps: float) -> Array:
    axes = all_but_channel(input)
    normal, factor = standardized(input, axes, eps)
    normal_t = normal * 0 if input_t is None else through_standardized(input_t, normal, factor, axes)
    return affine_tangent(normal, normal_t, weight, weight_t, bias_t, channel_shape(input))


def with_channels_of(normalize: Any, input: Any, weight: Any, bias: Any) -> Any:
    """The channels of all examples side by side, as those of one input (samples, channels, ...)."""
    channels = input.movedim(0, 1)
    flat = channels.reshape(channels.shape[0], -1, *channels.shape[3:])
    result = normalize(flat, *(None if x is None else x.reshape(-1) for x in (weight, bias)))
    return result.reshape(channels.shape).movedim(1, 0)


@op(wide=True, method=False, function=False, images=("input",), nodes="NativeBatchNormBackward0", joint=batch_norm_grads,
    jvp=batch_norm_jvp, batch=lambda input, weight, bias, eps: with_channels_of(
        lambda x, w, b: batch_norm_training(x, w, b, eps, []), input, weight, bias))  # fmt: skip
@primitive("norm.batch", fast.channels)
def batch_norm_training(input: Array, weight: Array | None, bias: Array | None, eps: float, kept: Kept) -> Array:
    """The input with mean 0 and variance 1 in every channel, times `weight` plus `bias`."""
    check_dtypes("batch_norm", input, weight, bias)
    normal, _ = standardized(wide(input), all_but_channel(input), eps)
    return contiguous(cast(affine(normal, weight, bias, channel_shape(input)), input.dtype))


def inference_normal(input: Array, running_mean: Array, running_var: Array, eps: float) -> Array:
    """The input standardized by given statistics."""
    shape = channel_shape(input)
    return (wide(input) - np.reshape(running_mean, shape)) * np.reshape(1 / np.sqrt(running_var + eps), shape)


@primitive("norm.inference_back", fast.inference_back)
def inference_grads(
    g: Array, input: Array, running_mean: Array, running_var: Array, weight: Array | None, eps: float, needs: tuple[bool, ...]
) -> Grads:
    factor = 1 / np.sqrt(running_var + eps)
    axes, shape, channels = all_but_channel(input), channel_shape(input), (input.shape[1],)
    wide_g = wide(g)
    normal = inference_normal(input, running_mean, running_var, eps)
    return (
        cast_like(affine(wide_g, weight, None, shape) * np.reshape(factor, shape), input) if needs[0] else None,
        None,
        None,
        cast_like(summed(wide_g * normal, axes, channels), input) if needs[3] else None,
        cast_like(summed(wide_g, axes, channels), input) if needs[4] else None,
    )


def inference_jvp(
    input: Array, input_t: Array, running_mean: Array, running_var: Array, weight: Array, weight_t: Array, bias_t: Array, eps: float
) -> Array:
    normal = inference_normal(input, running_mean, running_var, eps)
    factor = np.reshape(1 / np.sqrt(running_var + eps), channel_shape(input))
    normal_t = normal * 0 if input_t is None else input_t * factor
    return affine_tangent(normal, normal_t, weight, weight_t, bias_t, channel_shape(input))


@op(wide=True, method=False, function=False, images=("input",), nodes="NativeBatchNormBackward0", joint=inference_grads,
    jvp=inference_jvp, batch=lambda input, running_mean, running_var, weight, bias, eps: with_channels_of(
        lambda x, w, b: batch_norm_inference(x, running_mean.reshape(-1), running_var.reshape(-1), w, b, eps),
        input, weight, bias))  # fmt: skip
@primitive("norm.inference", lambda x, mean, variance, weight, bias, eps: fast.channels(x, weight, bias, eps, [], (mean, variance)))
def batch_norm_inference(
    input: Array, running_mean: Array, running_var: Array, weight: Array | None, bias: Array | None, eps: float
) -> Array:
    """The same with a mean and a variance that are given."""
    check_dtypes("batch_norm", input, weight, bias)
    normal = inference_normal(input, running_mean, running_var, eps)
    return contiguous(cast(affine(normal, weight, bias, channel_shape(input)), input.dtype))


# ---- group norm ---------------------------------------------------------------------------------------------------------------------


def in_groups(x: Array, groups: int) -> Array:
    return np.reshape(x, (x.shape[0], groups, math.prod(x.shape[1:]) // groups))


@primitive("norm.groups_back", fast.groups_back)
def group_norm_grads(
    g: Array, input: Array, weight: Array | None, num_groups: int, eps: float, kept: Kept, needs: tuple[bool, ...]
) -> Grads:
    axes, channels = all_but_channel(input), (input.shape[1],)
    normal, factor = standardized(in_groups(wide(input), num_groups), (2,), eps)
    wide_g = wide(g)
    scaled = in_groups(affine(wide_g, weight, None, channel_shape(input)), num_groups)
    back = np.reshape(through_standardized(scaled, normal, factor, (2,)), input.shape) if needs[0] else None
    return (
        None if back is None else cast_like(back, input),
        cast_like(summed(wide_g * np.reshape(normal, input.shape), axes, channels), input) if needs[1] else None,
        cast_like(summed(wide_g, axes, channels), input) if needs[2] else None,
    )


def group_norm_jvp(input: Array, input_t: Array, weight: Array, weight_t: Array, bias_t: Array, num_groups: int, eps: float) -> Array:
    normal, factor = standardized(in_groups(input, num_groups), (2,), eps)
    normal_t = normal * 0 if input_t is None else through_standardized(in_groups(input_t, num_groups), normal, factor, (2,))
    normal, normal_t = np.reshape(normal, input.shape), np.reshape(normal_t, input.shape)
    return affine_tangent(normal, normal_t, weight, weight_t, bias_t, channel_shape(input))


def group_norm_batch(input: Any, num_groups: int, weight: Any, bias: Any, eps: float, batched: list[bool], examples: int) -> Any:
    input = expanded(input, examples, batched[0])
    samples = input.reshape(-1, *input.shape[2:])
    if not batched[1] and not batched[2]:
        return group_norm(samples, num_groups, weight, bias, eps, []).reshape(input.shape)
    normal = group_norm(samples, num_groups, None, None, eps, []).reshape(input.shape)
    places = (1,) * (input.ndim - 3)
    weight, bias = (
        None if x is None else x.reshape(*x.shape[:-1], *(1,) * is_batched, x.shape[-1], *places)
        for x, is_batched in zip((weight, bias), batched[1:], strict=True)
    )
    return scaled_examples(normal, weight, bias, batched)


@op(wide=True, method=False, function=False, images=("input",), nodes="NativeGroupNormBackward0", joint=group_norm_grads,
    jvp=group_norm_jvp, batch=group_norm_batch)  # fmt: skip
@primitive("norm.groups", fast.groups)
def group_norm(input: Array, num_groups: int, weight: Array | None, bias: Array | None, eps: float, kept: Kept) -> Array:
    """The input with mean 0 and variance 1 in every group of channels of every sample, times `weight` plus `bias`."""
    shape = list(input.shape)
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if num_groups <= 0 or shape[1] % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {shape} and "
            f"num_groups={num_groups}"
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor.shape != (shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(tensor.shape)} and input of shape {shape}"
            )
    check_dtypes("GroupNormKernelImpl", input, weight, bias)
    normal, _ = standardized(in_groups(wide(input), num_groups), (2,), eps)
    return contiguous(cast(affine(np.reshape(normal, input.shape), weight, bias, channel_shape(input)), input.dtype))
