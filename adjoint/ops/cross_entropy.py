"""Cross entropy and the negative log-likelihood.

`cross_entropy` with class indices is one op: it never holds the log-probabilities of all classes, only the logits it is given, and its
gradient is made in one pass. Everything here works on rows: the classes are moved to the last axis.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from ._compiled import rowwise
from ._loss import reduction_of, refuse_gradient, refuse_integers
from ._precision import INT64, UINT8, compute_dtype, wide
from ._registry import Array, op
from ._rules import cast
from .reduce import total
from .softmax import log_softmax

# ---- rows of classes ----------------------------------------------------------------------------------------------------------------


def class_axis(input: Array) -> int:
    return 0 if len(input.shape) == 1 else 1


def rows_of(input: Array) -> Array:
    """The classes in the last axis."""
    return input if len(input.shape) <= 2 else np.moveaxis(input, 1, -1)


def back_from_rows(rows: Array) -> Array:
    return rows if len(rows.shape) <= 2 else np.moveaxis(rows, -1, 1)


def safe_target(target: Array, ignore_index: int) -> Array:
    """The target, with a harmless class in place of the ignored ones."""
    return np.where(target == ignore_index, 0, target)


def at_target(rows: Array, target: Array) -> Array:
    """The element of each row that its target names, as a column."""
    if len(rows.shape) == 2:
        return rows[np.arange(rows.shape[0]), target][:, None]
    return np.take_along_axis(rows, target[..., None], axis=-1)


def one_hot_rows(target: Array, values: Array, classes: int) -> Array:
    """Rows of zeros, but for one value at the target. The values are a column."""
    return np.where(target[..., None] == np.arange(classes), values, 0)


def class_weights(target: Array, weight: Array | None, ignore_index: int, dtype: Any) -> Array:
    """The weight of each target; zero for an ignored one."""
    counted = target != ignore_index
    return cast(counted, dtype) if weight is None else np.where(counted, weight[safe_target(target, ignore_index)], 0)


def combined(losses: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, dtype: Any) -> Array:
    """The weighted losses, reduced. The mean is over the weights: an ignored target does not count."""
    weights = class_weights(target, weight, ignore_index, losses.dtype)
    losses = np.where(weights == 0, 0, losses * weights)  # an ignored infinity is no loss
    if reduction == "none":
        return cast(losses, dtype)
    summed = total(losses, None, False)
    return cast(summed if reduction == "sum" else summed / total(weights, None, False), dtype)


def row_gradients(g: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, dtype: Any) -> Array:
    """The gradient of the loss of each row, as a column."""
    weights = class_weights(target, weight, ignore_index, dtype)
    each = (g / total(weights, None, False) if reduction == "mean" else g) * weights
    return np.where(weights == 0, 0, each)[..., None]  # a mean over nothing is NaN, but nothing depends on it


# ---- the ops ------------------------------------------------------------------------------------------------------------------------


def nll_rule(g: Array, input_shape: Any, input_dtype: Any, target: Array, weight: Array | None, ignore_index: int, reduction: str) -> Array:
    each = row_gradients(-g, target, weight, ignore_index, reduction, compute_dtype(input_dtype))
    classes = input_shape[0 if len(input_shape) == 1 else 1]
    return cast(back_from_rows(one_hot_rows(target, each, classes)), input_dtype)


def nll_tangent(input_t: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str) -> Array:
    return nll_loss_op(input_t, target, weight, ignore_index, reduction)


@op("nll_loss", method=False, function=False, out=False, input=nll_rule, jvp=nll_tangent)
def nll_loss_op(input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str) -> Array:
    check_classes("nll_loss_out_frame", input, target, weight, ignore_index)
    losses = -wide(at_target(rows_of(input), safe_target(target, ignore_index)))[..., 0]
    return combined(losses, target, weight, ignore_index, reduction, input.dtype)


@rowwise("TC")
def cross_entropy_rows(x: Array, chosen: Array) -> Array:
    """How far each row's chosen element is from holding all of the probability."""
    top = np.max(x, axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(x - top), axis=-1, keepdims=True)) - (chosen - top)


@rowwise("TC")
def scaled_softmax_rows(x: Array, factor: Array) -> Array:
    powers = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return powers * (factor / np.sum(powers, axis=-1, keepdims=True))


def cross_entropy_rule(
    g: Array, input: Array, input_dtype: Any, target: Array, weight: Array | None, ignore_index: int, reduction: str
) -> Array:
    rows = rows_of(wide(input))
    each = row_gradients(g, target, weight, ignore_index, reduction, compute_dtype(input_dtype))
    grad = scaled_softmax_rows(rows, each)
    if grad.__class__ is np.ndarray and grad.ndim == 2:
        grad[np.arange(grad.shape[0]), safe_target(target, ignore_index)] -= each[:, 0]
    else:
        grad = grad - one_hot_rows(target, each, rows.shape[-1])
    return cast(back_from_rows(grad), input_dtype)


def cross_entropy_tangent(
    input: Array, input_t: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str
) -> Array:
    axis = class_axis(input)
    mean = np.sum(np.exp(log_softmax(input, axis)) * input_t, axis=axis, keepdims=True)
    return nll_loss_op(input_t - mean, target, weight, ignore_index, reduction)


@op("cross_entropy", method=False, function=False, out=False, nodes="NllLossBackward0", input=cross_entropy_rule, jvp=cross_entropy_tangent)
def cross_entropy_op(input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str) -> Array:
    plain = check_classes("log_softmax_lastdim_kernel_impl", input, target, weight, ignore_index)
    rows = rows_of(wide(input))
    losses = cross_entropy_rows(rows, at_target(rows, target if plain else safe_target(target, ignore_index)))[..., 0]
    if plain and reduction == "mean":  # the usual case, without the detour over weights of one
        return cast(total(losses, None, False) / losses.size, input.dtype)
    return combined(losses, target, weight, ignore_index, reduction, input.dtype)


def check_classes(name: str, input: Array, target: Array, weight: Array | None, ignore_index: int) -> bool:
    """Refuse targets and weights that do not go with the input. Whether all targets count the same."""
    refuse_integers(name, input)
    if target.dtype not in (INT64, UINT8):
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
    if target.__class__ is not np.ndarray or not target.size:
        return False
    if target.min() >= 0 and target.max() < classes:
        return weight is None and not 0 <= ignore_index < classes
    wrong = (target != ignore_index) & ((target < 0) | (target >= classes))
    if wrong.any():
        raise IndexError(
            f"Target {target[wrong].flat[0]} is out of bounds.\n  the input has {classes} classes, so targets are 0 to {classes - 1} "
            f"(or ignore_index={ignore_index})"
        )
    return False


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
    target = fitting_target(target, input.shape, target.shape)
    return nll_loss_op(input, target, weight, ignore_index, reduction)


def fitting_target(target: Array, shape: tuple[int, ...], given: tuple[int, ...]) -> Array:
    """The target, refused if the shape given does not go with the input's."""
    if len(shape) == 0:
        raise RuntimeError("input tensor should be 1D or 2D, or have more dimensions after the classes")
    if len(shape) == 1:
        if len(given) == 1 and given[0] != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {given[0]}")
        return target.reshape(())
    if len(shape) == 2 and len(given) > 1:
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported\n  fix: target.squeeze(1), or class probabilities as floats"
        )
    if given[:1] != shape[:1]:
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({given[0] if given else 0}).")
    if given[1:] != shape[2:]:
        raise RuntimeError(f"size mismatch (got input: {list(shape)} , target: {list(given)})")
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
    shape, given = input.shape, target.shape
    axis = 0 if len(shape) == 1 else 1
    if given == shape:
        if not target.is_floating_point():
            raise RuntimeError(f"Expected floating point type for target with class probabilities, got {target.dtype.scalar_name}")
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return cross_entropy_of_probabilities(log_softmax(input, axis), target, weight, reduction, label_smoothing)
    refuse_gradient("nll_loss_forward", weight=weight)
    target = fitting_target(target, shape, given)
    if label_smoothing == 0:
        return cross_entropy_op(input, target, weight, ignore_index, reduction)
    logs = log_softmax(input, axis)
    likely = nll_loss_op(logs, target, weight, ignore_index, reduction)
    return likely * (1 - label_smoothing) + smooth_loss(logs, target, weight, ignore_index, reduction) * (
        label_smoothing / shape[axis]
    )


def by_class(weight: Array, logs: Array) -> Array:
    """Class weights in a shape that multiplies the classes of `logs`."""
    return weight if len(logs.shape) == 1 else weight.reshape((1, -1) + (1,) * (len(logs.shape) - 2))


def smooth_loss(logs: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str) -> Array:
    """The part of a smoothed label that is spread evenly over all classes."""
    axis = class_axis(logs)
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
