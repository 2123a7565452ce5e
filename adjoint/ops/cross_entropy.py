"""Cross entropy and the negative log-likelihood."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from ._loss import reduction_of, refuse_gradient, refuse_integers
from ._precision import wide
from ._registry import Array, op
from ._rules import cast
from .softmax import log_softmax


def class_axis(input: Array) -> int:
    return 0 if len(input.shape) == 1 else 1


def class_weights(target: Array, weight: Array | None, ignore_index: int, dtype: Any) -> Array:
    """The weight of each target; zero for an ignored one."""
    counted = target != ignore_index
    if weight is None:
        return cast(counted, dtype)
    return np.where(counted, weight[np.where(counted, target, 0)], cast(counted, dtype))


def nll_rule(g: Array, input_shape: Any, input_dtype: Any, target: Array, weight: Array | None, ignore_index: int, reduction: str) -> Array:
    axis = 0 if len(input_shape) == 1 else 1
    weights = class_weights(target, weight, ignore_index, input_dtype)
    each = -g * (weights / np.sum(weights) if reduction == "mean" else weights)
    classes = np.reshape(np.arange(input_shape[axis]), (-1,) + (1,) * (len(input_shape) - 1 - axis))
    return cast(np.where(np.expand_dims(target, axis) == classes, np.expand_dims(each, axis), 0), input_dtype)


def nll_tangent(input_t: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str) -> Array:
    return nll_loss_op(input_t, target, weight, ignore_index, reduction)


@op("nll_loss", method=False, function=False, out=False, input=nll_rule, jvp=nll_tangent)
def nll_loss_op(input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str) -> Array:
    check_classes(input, target, weight, ignore_index)
    axis = class_axis(input)
    target = target.astype(np.int64) if target.dtype != np.int64 else target
    weights = class_weights(target, weight, ignore_index, input.dtype)
    safe = np.where(target == ignore_index, 0, target)
    picked = np.squeeze(np.take_along_axis(input, np.expand_dims(safe, axis), axis=axis), axis=axis)
    losses = np.where(weights == 0, weights, -picked * weights)  # an ignored infinity is no loss
    if reduction == "none":
        return losses
    total = np.sum(wide(losses))
    return cast(total if reduction == "sum" else total / np.sum(wide(weights)), input.dtype)


def check_classes(input: Array, target: Array, weight: Array | None, ignore_index: int) -> None:
    refuse_integers("nll_loss_out_frame", input)
    if target.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {from_numpy_dtype(target.dtype).scalar_name}\n  fix: target.long()"
        )
    classes = input.shape[class_axis(input)]
    if weight is not None:
        if weight.shape != (classes,):
            raise RuntimeError(
                f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: "
                f"{list(weight.shape)}"
            )
        if weight.dtype != input.dtype:
            ours, theirs = from_numpy_dtype(input.dtype), from_numpy_dtype(weight.dtype)
            raise RuntimeError(f"expected scalar type {ours.scalar_name} but found {theirs.scalar_name}\n  fix: weight.to({ours})")
    if target.__class__ is np.ndarray:
        wrong = (target != ignore_index) & ((target < 0) | (target >= classes))
        if wrong.any():
            raise IndexError(
                f"Target {target[wrong].flat[0]} is out of bounds.\n  the input has {classes} classes, so targets are 0 to {classes - 1} "
                f"(or ignore_index={ignore_index})"
            )


def nll_loss(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """The negative of the log-probability that `input` gives to each target class."""
    reduction = reduction_of(size_average, reduce, reduction)
    refuse_gradient("nll_loss_forward", weight=weight)
    target = fitting_target(input, target)
    return nll_loss_op(input, target, weight, ignore_index, reduction)


def fitting_target(input: Array, target: Array) -> Array:
    """The target, refused if its shape does not go with the input's."""
    dims = len(input.shape)
    if dims == 0:
        raise RuntimeError("input tensor should be 1D or 2D, or have more dimensions after the classes")
    if dims == 1:
        if len(target.shape) == 1 and target.shape[0] != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
        return target.reshape(())
    if dims == 2 and len(target.shape) > 1:
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported\n  fix: target.squeeze(1), or class probabilities as floats"
        )
    if target.shape[:1] != input.shape[:1]:
        given = target.shape[0] if target.shape else 0
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({given}).")
    if target.shape[1:] != input.shape[2:]:
        raise RuntimeError(f"size mismatch (got input: {list(input.shape)} , target: {list(target.shape)})")
    return target


def cross_entropy(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Array:
    """How badly the logits in `input` predict `target`: class indices, or the probability of each class."""
    reduction = reduction_of(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    axis = class_axis(input)
    if target.shape == input.shape:
        if not target.is_floating_point():
            raise RuntimeError(f"Expected floating point type for target with class probabilities, got {target.dtype.scalar_name}")
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return cross_entropy_of_probabilities(log_softmax(input, axis), target, weight, reduction, label_smoothing)
    logs = log_softmax(input, axis)
    likely = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    if label_smoothing == 0:
        return likely
    return likely * (1 - label_smoothing) + smooth_loss(logs, target, weight, ignore_index, reduction) * (
        label_smoothing / input.shape[axis]
    )


def by_class(weight: Array, logs: Array) -> Array:
    """Class weights in a shape that multiplies the classes of `logs`."""
    return weight if len(logs.shape) == 1 else weight.reshape((1, -1) + (1,) * (len(logs.shape) - 2))


def smooth_loss(logs: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str) -> Array:
    """The part of a smoothed label that is spread evenly over all classes."""
    axis = class_axis(logs)
    target = fitting_target(logs, target)
    losses = -(logs if weight is None else logs * by_class(weight, logs)).sum(axis)
    losses = losses.masked_fill(target == ignore_index, 0.0)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    return losses.sum() / class_weights(target, weight, ignore_index, logs._data.dtype).sum()


def cross_entropy_of_probabilities(
    logs: Array, target: Array, weight: Array | None, reduction: str, label_smoothing: float
) -> Array:
    axis = class_axis(logs)
    classes = logs.shape[axis]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    weighted = logs * target if weight is None else logs * target * by_class(weight, logs)
    if reduction == "none":
        return -weighted.sum(axis)
    total = -weighted.sum()
    return total if reduction == "sum" else total / (math.prod(logs.shape) / classes)
