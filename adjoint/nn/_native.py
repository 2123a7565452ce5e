"""The ops behind normalization layers and embeddings: one node each, where a composition of smaller ops would make ten."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from ..ops._precision import wide
from ..ops._registry import LINEAR, Array, op
from ..ops._rules import call, cast, zeros_on
from ..ops.scatter import index_add

Axes = tuple[int, ...]
Grads = tuple[Array | None, Array | None, Array | None]  # of input, weight and bias

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


def check_dtypes(input: Array, *others: Array | None) -> None:
    if input.dtype.kind in "iubc":
        raise NotImplementedError(f"normalization is not implemented for '{from_numpy_dtype(input.dtype).scalar_name}'; use x.float()")
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


def layer_norm_grads(
    g: Array, input: Array, weight: Array | None, normalized_shape: tuple[int, ...], eps: float, needs: tuple[bool, ...]
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


@op(method=False, function=False, nodes="NativeLayerNormBackward0", joint=layer_norm_grads, jvp=layer_norm_jvp)
def layer_norm(
    input: Array, normalized_shape: tuple[int, ...], weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5
) -> Array:
    """The input with mean 0 and variance 1 over its last dimensions, times `weight` plus `bias`."""
    check_normalized_shape(input, normalized_shape, weight, bias)
    check_dtypes(input, weight, bias)
    normal, _ = standardized(wide(input), last_axes(input, normalized_shape), eps)
    return cast(affine(normal, weight, bias, normalized_shape), input.dtype)


def check_normalized_shape(input: Array, normalized_shape: tuple[int, ...], weight: Array | None, bias: Array | None) -> None:
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


def batch_norm_grads(g: Array, input: Array, weight: Array | None, eps: float, needs: tuple[bool, ...]) -> Grads:
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


@op(method=False, function=False, nodes="NativeBatchNormBackward0", joint=batch_norm_grads, jvp=batch_norm_jvp)
def batch_norm_training(input: Array, weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5) -> Array:
    """The input with mean 0 and variance 1 in every channel, times `weight` plus `bias`."""
    check_dtypes(input, weight, bias)
    normal, _ = standardized(wide(input), all_but_channel(input), eps)
    return cast(affine(normal, weight, bias, channel_shape(input)), input.dtype)


def inference_normal(input: Array, running_mean: Array, running_var: Array, eps: float) -> Array:
    """The input standardized by given statistics."""
    shape = channel_shape(input)
    return (wide(input) - np.reshape(running_mean, shape)) * np.reshape(1 / np.sqrt(running_var + eps), shape)


def inference_input(g: Array, input: Array, running_var: Array, weight: Array | None, eps: float) -> Array:
    shape = channel_shape(input)
    return cast_like(affine(wide(g), weight, None, shape) * np.reshape(1 / np.sqrt(running_var + eps), shape), input)


def inference_weight(g: Array, input: Array, running_mean: Array, running_var: Array, eps: float) -> Array:
    normal = inference_normal(input, running_mean, running_var, eps)
    return cast_like(summed(wide(g) * normal, all_but_channel(input), (input.shape[1],)), input)


def inference_bias(g: Array) -> Array:
    return cast_like(summed(wide(g), all_but_channel(g), (g.shape[1],)), g)


def inference_jvp(
    input: Array, input_t: Array, running_mean: Array, running_var: Array, weight: Array, weight_t: Array, bias_t: Array, eps: float
) -> Array:
    normal = inference_normal(input, running_mean, running_var, eps)
    factor = np.reshape(1 / np.sqrt(running_var + eps), channel_shape(input))
    normal_t = normal * 0 if input_t is None else input_t * factor
    return affine_tangent(normal, normal_t, weight, weight_t, bias_t, channel_shape(input))


@op(method=False, function=False, nodes="NativeBatchNormBackward0", jvp=inference_jvp,
    input=inference_input, weight=inference_weight, bias=inference_bias)  # fmt: skip
def batch_norm_inference(
    input: Array, running_mean: Array, running_var: Array, weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5
) -> Array:
    """The same with a mean and a variance that are given."""
    check_dtypes(input, weight, bias)
    normal = inference_normal(input, running_mean, running_var, eps)
    return cast(affine(normal, weight, bias, channel_shape(input)), input.dtype)


# ---- group norm ---------------------------------------------------------------------------------------------------------------------


def in_groups(x: Array, groups: int) -> Array:
    return np.reshape(x, (x.shape[0], groups, math.prod(x.shape[1:]) // groups))


def group_norm_grads(g: Array, input: Array, weight: Array | None, num_groups: int, eps: float, needs: tuple[bool, ...]) -> Grads:
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


@op(method=False, function=False, nodes="NativeGroupNormBackward0", joint=group_norm_grads, jvp=group_norm_jvp)
def group_norm(input: Array, num_groups: int, weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5) -> Array:
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
    check_dtypes(input, weight, bias)
    normal, _ = standardized(in_groups(wide(input), num_groups), (2,), eps)
    return cast(affine(np.reshape(normal, input.shape), weight, bias, channel_shape(input)), input.dtype)


# ---- embedding ----------------------------------------------------------------------------------------------------------------------


def embedding_rule(
    g: Array, indices: Array, weight_shape: tuple[int, ...], weight_dtype: Any, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    rows = np.reshape(g, (math.prod(indices.shape), weight_shape[1]))
    places = np.reshape(indices, (-1,))
    if padding_idx >= 0:
        rows = np.where(np.expand_dims(places != padding_idx, 1), rows, 0)
    if scale_grad_by_freq:
        numbers = getattr(places, "_data", places)  # counting is not differentiated, so the array inside a Tensor will do
        uses = np.bincount(numbers, minlength=weight_shape[0])[numbers]
        rows = rows / np.asarray(uses, weight_dtype)[:, None]
    return call(index_add, zeros_on(g, weight_shape, weight_dtype), 0, places, rows)


@op(method=False, function=False, jvp=LINEAR, warns=False, weight=embedding_rule)
def embedding(weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False) -> Array:
    """The rows of `weight` that the indices name."""
    if len(weight.shape) != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.dtype.name not in ("int64", "int32"):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{from_numpy_dtype(indices.dtype).scalar_name}Tensor instead (while checking arguments for embedding)\n"
            "  fix: indices.long()"
        )
    if indices.__class__ is np.ndarray and indices.size:
        low, high = indices.min(), indices.max()
        if low < 0 or high >= weight.shape[0]:
            wrong = low if low < 0 else high
            raise IndexError(f"index out of range in self: there is an index {wrong}, but the table has {weight.shape[0]} rows")
    return np.take(weight, indices, axis=0)
