"""Cross entropy and the negative log-likelihood.

`cross_entropy` with class indices is one op: it never holds the log-probabilities of all classes, only the logits it is given, and its
gradient is made in one pass. Kernels leave what the backward pass needs in a list that the caller made (`kept`). The NumPy code, which also
runs on Tensors, works on rows: the classes are moved to the last axis.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from .._quiet import mute, unmute
from ._batching import expanded
from ._loss import finished, reduction_of, refuse_gradient, require_floats
from ._precision import INT64, UINT8, compute_dtype, wide
from ._primitives import loops, primitive
from ._registry import FUNCTIONS, Array, op
from ._rules import call, cast, holds
from .reduce import total
from .softmax import log_softmax, log_softmax_along, softmax

Kept = list[Any]

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
    """The losses, reduced. The mean is over the weights: an ignored target does not count."""
    if reduction == "none":
        return cast(losses, dtype)
    summed = total(losses, None, False)
    weights = class_weights(target, weight, ignore_index, losses.dtype)
    return cast(summed if reduction == "sum" else summed / total(weights, None, False), dtype)


def weighted(losses: Array, weights: Array) -> Array:
    return np.where(weights == 0, 0, losses * weights)  # an ignored infinity is no loss


def row_gradients(g: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, dtype: Any) -> Array:
    """The gradient of the loss of each row, before it is weighted; zero for an ignored one."""
    counted = target != ignore_index
    if reduction == "mean":
        g = g / total(cast(counted, dtype) if weight is None else class_weights(target, weight, ignore_index, dtype), None, False)
    return np.where(counted, g, 0)  # a mean over nothing is NaN, but nothing depends on it


# ---- kernels ------------------------------------------------------------------------------------------------------------------------


def places_of(input: Array, target: Array, weight: Array | None) -> tuple[int, int, int] | None:
    """The number of classes, how many places for targets follow each other within a sample, and how many there are; None where no kernel
    serves."""
    shape = input.shape
    classes = shape[class_axis(input)]
    count = target.size
    if not input.size or target.dtype is not INT64 or count * classes != input.size:
        return None
    if weight is not None and weight.shape != (classes,):
        return None
    return classes, 1 if len(shape) <= 2 else math.prod(shape[2:]), count


def cross_entropy_by_kernel(
    input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, smoothing: float, kept: Kept
) -> Array | None:
    found = places_of(input, target, weight)
    if found is None:
        return None
    classes, inner, count = found
    kernels = loops("loss")
    losses = np.empty(target.shape, input.dtype) if reduction == "none" else None
    out: Array | None
    x, dtype, target = np.ascontiguousarray(input), input.dtype, np.ascontiguousarray(target)
    if inner == 1:
        take = max(1, min(kernels.ROWS, 32768 // classes))
        blocks = -(-count // take)
        out, notes, mean = np.empty((), dtype), np.empty(3 * blocks + 2 * count), int(reduction == "mean")
        done = kernels.cross_entropy_rows.run(
            out, losses, notes, x, target, weight, ignore_index, smoothing, mean, 3 * blocks, classes, count, take, blocks, take * classes
        )
        kept[:] = [notes]
        if done and blocks == 1 and losses is None:
            return None if notes[2] else out
    elif smoothing:
        return None
    else:
        blocks, work = count // inner * -(-inner // kernels.COLUMNS), classes * min(inner, kernels.COLUMNS)
        notes, tops, totals = np.empty(3 * blocks), np.empty(count, dtype), np.empty(count)
        done = kernels.cross_entropy_columns.run(losses, notes, tops, totals, x, target, weight, ignore_index, classes, inner, blocks, work)
        kept[:] = notes, tops, totals
    if not done:
        kept.clear()
        return None
    out = finished(notes, blocks, dtype, reduction == "mean")  # None, for the NumPy code to say why, where a target is wrong
    return out if losses is None or out is None else losses


def cross_entropy_back(
    g: Array, input: Array, input_dtype: Any, target: Array, weight: Array | None, ignore_index: int, reduction: str, smoothing: float,
    kept: Kept,
) -> Array | None:  # fmt: skip
    found = places_of(input, target, weight) if kept else None
    if found is None:
        return None
    classes, inner, count = found
    kernels = loops("loss")
    x, target, grad = np.ascontiguousarray(input), np.ascontiguousarray(target), np.empty(input.shape, input.dtype)
    g, mean, each = np.ascontiguousarray(g), int(reduction == "mean"), int(reduction == "none")
    if inner == 1:
        all_weights = float(classes if weight is None or not smoothing else weight.sum())
        notes = kept[0]
        done = kernels.cross_entropy_rows_back.run(
            grad, g, notes, x, target, weight, ignore_index, smoothing, all_weights, notes.size - 2 * count, mean, each, classes, count,
            classes,
        )  # fmt: skip
    else:
        blocks, work = count // inner * -(-inner // kernels.COLUMNS), classes * min(inner, kernels.COLUMNS)
        done = kernels.cross_entropy_columns_back.run(
            grad, g, *kept, np.empty(count, x.dtype), x, target, weight, ignore_index, mean, each, classes, inner, blocks, work
        )
    return grad if done else None


def nll_by_kernel(input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, kept: Kept) -> Array | None:
    found = places_of(input, target, weight)
    if found is None:
        return None
    classes, inner, count = found
    kernels = loops("loss")
    losses = np.empty(target.shape, input.dtype) if reduction == "none" else None
    x, target, blocks = np.ascontiguousarray(input), np.ascontiguousarray(target), -(-count // kernels.ELEMENTS)
    out: Array | None
    out, notes, mean = np.empty((), input.dtype), np.empty(3 * blocks), int(reduction == "mean")
    work = min(count, kernels.ELEMENTS)
    if not kernels.nll.run(out, losses, notes, x, target, weight, ignore_index, mean, classes, inner, count, blocks, work):
        return None
    kept[:] = [notes]
    if blocks > 1:
        out = finished(notes, blocks, input.dtype, bool(mean))
    elif notes[2]:
        return None
    return out if losses is None or out is None else losses


def nll_back(
    g: Array, shape: tuple[int, ...], dtype: Any, target: Array, weight: Array | None, ignore_index: int, reduction: str, kept: Kept
) -> Array | None:
    if not kept:
        return None
    grad = np.zeros(shape, dtype)
    classes, inner, count = shape[class_axis(grad)], math.prod(shape[2:]), target.size
    g, mean, each = np.ascontiguousarray(g), int(reduction == "mean"), int(reduction == "none")
    target = np.ascontiguousarray(target)
    done = loops("loss").nll_back.run(grad, g, kept[0], target, weight, ignore_index, mean, each, classes, inner, count, 1)
    return grad if done else None


# ---- the ops ------------------------------------------------------------------------------------------------------------------------


@primitive("loss.nll_back", nll_back)
def nll_rule(
    g: Array, input_shape: Any, input_dtype: Any, target: Array, weight: Array | None, ignore_index: int, reduction: str, kept: Kept
) -> Array:
    dtype = compute_dtype(input_dtype)
    each = row_gradients(-g, target, weight, ignore_index, reduction, dtype)
    if weight is not None:
        each = weighted(each, class_weights(target, weight, ignore_index, dtype))
    classes = input_shape[0 if len(input_shape) == 1 else 1]
    return cast(back_from_rows(one_hot_rows(target, each[..., None], classes)), input_dtype)


def nll_tangent(input_t: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str) -> Array:
    return nll_loss_op(input_t, target, weight, ignore_index, reduction, [])


def losses_of_examples(
    loss: Any, input: Any, target: Any, weight: Any, ignore_index: int, reduction: str, batched: list[bool], *more: Any
) -> Any:
    """The loss of every sample of every example, then summed or averaged over those of an example."""
    size = next(x.shape[0] for x, is_batched in zip((input, target, weight), batched, strict=True) if is_batched)
    input = expanded(input, size, batched[0])
    target = expanded(target, size, batched[1])
    if batched[2]:  # each example weighs the classes in its own way
        return FUNCTIONS["stack"]([loss(input[i], target[i], weight[i], ignore_index, reduction, *more, []) for i in range(size)])
    single = target.ndim == 1  # an example is one sample
    samples = input if single else input.reshape(-1, *input.shape[2:])
    labels = target if single else target.reshape(-1, *target.shape[2:])
    losses = loss(samples, labels, weight, ignore_index, "none", *more, []).reshape(target.shape)
    if reduction == "none":
        return losses
    total = losses.reshape(size, -1).sum(1)
    if reduction == "sum":
        return total
    return total / class_weights(target, weight, ignore_index, input._data.dtype).reshape(size, -1).sum(1)


@op("nll_loss", wide=True, method=False, function=False, out=False, input=nll_rule, jvp=nll_tangent,
    batch=lambda input, target, weight, ignore_index, reduction, batched: losses_of_examples(
        nll_loss_op, input, target, weight, ignore_index, reduction, batched))  # fmt: skip
@primitive("loss.nll", nll_by_kernel)
def nll_loss_op(input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, kept: Kept) -> Array:
    check_classes("nll_loss_out_frame", input, target, weight, ignore_index)
    losses = -wide(at_target(rows_of(input), safe_target(target, ignore_index)))[..., 0]
    losses = weighted(losses, class_weights(target, weight, ignore_index, losses.dtype))
    return combined(losses, target, weight, ignore_index, reduction, input.dtype)


@primitive("loss.cross_entropy_back", cross_entropy_back)
def cross_entropy_rule(
    g: Array, input: Array, input_dtype: Any, target: Array, weight: Array | None, ignore_index: int, reduction: str,
    label_smoothing: float, kept: Kept,
) -> Array:  # fmt: skip
    rows, dtype = rows_of(wide(input)), compute_dtype(input_dtype)
    classes = rows.shape[-1]
    each = row_gradients(g, target, weight, ignore_index, reduction, dtype)[..., None]
    own = each if weight is None else weighted(each, class_weights(target, weight, ignore_index, dtype)[..., None])
    if not label_smoothing:
        return cast(back_from_rows(call(softmax, rows, -1) * own - one_hot_rows(target, own, classes)), input_dtype)
    own, even = own * (1 - label_smoothing), each * (label_smoothing / classes)
    by_weight, all_weights = (even, classes) if weight is None else (even * weight, np.sum(weight))
    grad = call(softmax, rows, -1) * (own + even * all_weights) - one_hot_rows(target, own, classes) - by_weight
    return cast(back_from_rows(grad), input_dtype)


def cross_entropy_tangent(
    input: Array, input_t: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, label_smoothing: float
) -> Array:
    axis = class_axis(input)
    logs_t = input_t - np.sum(np.exp(log_softmax(input, axis)) * input_t, axis=axis, keepdims=True)
    tangent = nll_loss_op(logs_t, target, weight, ignore_index, reduction, [])
    if not label_smoothing:
        return tangent
    even = smooth_loss(logs_t, target, weight, ignore_index, reduction)
    return tangent * (1 - label_smoothing) + even * (label_smoothing / input.shape[axis])


@op("cross_entropy", method=False, function=False, out=False, nodes="NllLossBackward0", warns=False,
    input=cross_entropy_rule, jvp=cross_entropy_tangent,
    batch=lambda input, target, weight, ignore_index, reduction, label_smoothing, batched: losses_of_examples(
        cross_entropy_op, input, target, weight, ignore_index, reduction, batched, label_smoothing))  # fmt: skip
@primitive("loss.cross_entropy", cross_entropy_by_kernel)
def cross_entropy_op(
    input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, label_smoothing: float, kept: Kept
) -> Array:
    token = mute()  # only here, for a kernel does not warn
    try:
        return cross_entropy_by_numpy(input, target, weight, ignore_index, reduction, label_smoothing)
    finally:
        unmute(token)


def cross_entropy_by_numpy(
    input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, label_smoothing: float
) -> Array:
    check_classes("log_softmax_lastdim_kernel_impl", input, target, weight, ignore_index)
    logs = log_softmax_along(rows_of(wide(input)), -1)
    losses = -at_target(logs, safe_target(target, ignore_index))[..., 0]
    losses = weighted(losses, class_weights(target, weight, ignore_index, losses.dtype))
    if label_smoothing:
        even = -np.sum(logs if weight is None else logs * weight, axis=-1)
        losses = losses * (1 - label_smoothing) + np.where(target == ignore_index, 0, even) * (label_smoothing / logs.shape[-1])
    return combined(losses, target, weight, ignore_index, reduction, input.dtype)


def check_classes(name: str, input: Array, target: Array, weight: Array | None, ignore_index: int) -> None:
    """Refuse targets and weights that do not go with the input."""
    require_floats(name, input)
    if target.dtype not in (INT64, UINT8):
        from .._source import called

        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {from_numpy_dtype(target.dtype).scalar_name}\n"
            f"  fix: {called(target, 'target')}.long()"
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
    wrong = (target != ignore_index) & ((target < 0) | (target >= classes))
    if holds(np.any(wrong)):
        smallest, largest = target.min(), target.max()
        fix = "target - 1, for classes are counted from 0"
        if smallest < 1 or largest != classes:
            fix = f"give the last layer {largest + 1} outputs" if smallest >= 0 else f"ignore_index={smallest} leaves out what has no class"
        raise IndexError(
            f"Target {target[wrong].flat[0]} is out of bounds.\n  the input has {classes} classes, so targets are 0 to {classes - 1} "
            f"(or ignore_index={ignore_index})\n  fix: {fix}"
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
    if weight is not None:
        refuse_gradient("nll_loss_forward", weight=weight)
    target = fitting_target(target, input._data.shape, target._data.shape)
    return nll_loss_op(input, target, weight, ignore_index, reduction, [])


def fitting_target(target: Array, shape: tuple[int, ...], given: tuple[int, ...]) -> Array:
    """The target, refused if the shape given does not go with the input's."""
    if len(shape) == 2 and given == shape[:1]:
        return target
    if len(shape) == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if len(shape) == 1:
        if len(given) == 1 and given[0] != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {given[0]}")
        return target.reshape(())
    if len(shape) == 2 and len(given) > 1:
        from .._source import called

        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported\n"
            f"  fix: {called(target, 'target')}.squeeze(1), or class probabilities as floats"
        )
    if given[:1] != shape[:1]:
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({given[0] if given else 0}).")
    if given[1:] != shape[2:] and len(shape) != 4:
        last = given == shape[:-1]
        hint = f"\n  fix: input.movedim(-1, 1): the classes are dimension 1 of the input, here {list(shape)}" if last else ""
        raise RuntimeError(f"Expected target size {[shape[0], *shape[2:]]}, got {list(given)}{hint}")
    if len(shape) == 4 and len(given) != 3:
        raise RuntimeError(f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {len(given)}")
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
    if label_smoothing > 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    label_smoothing = max(label_smoothing, 0.0)
    shape, given = input._data.shape, target._data.shape
    axis = 0 if len(shape) == 1 else 1
    if given == shape:
        if not target.is_floating_point():
            raise RuntimeError(f"Expected floating point type for target with class probabilities, got {target.dtype.scalar_name}")
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return cross_entropy_of_probabilities(log_softmax(input, axis), target, weight, reduction, label_smoothing)
    if weight is not None:
        refuse_gradient("nll_loss_forward", weight=weight)
    target = fitting_target(target, shape, given)
    return cross_entropy_op(input, target, weight, ignore_index, reduction, label_smoothing, [])


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
        target = target * (1 - label_smoothing) + label_smoothing / (classes or math.nan)
    weighted = logs * target if weight is None else logs * target * by_class(weight, logs)
    if reduction == "none":
        return -weighted.sum(axis)
    total = -weighted.sum()
    return total if reduction == "sum" else total / (math.prod(logs.shape[:axis] + logs.shape[axis + 1 :]) if classes else math.nan)
