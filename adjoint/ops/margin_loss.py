"""The losses of `torch.nn.functional` that ask for a margin between scores or distances. Those of rows of classes are ops; the others are
written with ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._dtype import float32, float64
from ._batching import Composed
from ._loss import finished, is_mixed, reduced, reduction_of, refuse_gradient
from ._operands import refuse
from ._precision import INT64, wide
from ._primitives import loops, primitive
from ._registry import FUNCTIONS, Array, op
from ._rules import cast, holds
from .activation import logsigmoid, softplus
from .cross_entropy import at_target, one_hot_rows
from .distance import pairwise_distance
from .loss import binary_cross_entropy_with_logits, times


def hinge_embedding_loss(
    input: Array,
    target: Array,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """The distance where the target is 1; what it lacks of the margin where the target is -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    losses = np.where(target != 1, (margin - input).clamp_min(0), 0) + np.where(target != -1, input, 0)
    return reduced(losses, reduction)


def margin_ranking_loss(
    input1: Array,
    input2: Array,
    target: Array,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """How far `input1` is from exceeding `input2` (target 1), or the reverse (target -1), by the margin."""
    reduction = reduction_of(size_average, reduce, reduction)
    if not len(input1.shape) == len(input2.shape) == len(target.shape):
        raise RuntimeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.shape!r}, "
            f"input2: {input2.shape!r}, target: {target.shape!r}"
        )
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


def soft_margin_loss(
    input: Array, target: Array, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Array:
    """`log(1 + exp(-target * input))`, for targets 1 and -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    refuse_gradient("soft_margin_loss", target=target)
    mixed = is_mixed(input, target)
    loss = reduced(softplus(-target * input), reduction)
    return loss.to(input.dtype) if mixed else loss


def refuse_no_classes(shape: tuple[int, ...]) -> None:
    if len(shape) > 2 or (shape and not shape[-1]):
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(shape)}")


def require_kernel(name: str, input: Array) -> None:
    if input.dtype not in (float32, float64):
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.scalar_name}'; write input.float()")


def require_indices(target: Array) -> None:
    if target._data.dtype != INT64:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.scalar_name}; write target.long()")


def by_kernel(name: str, reduction: str, dtype: Any, count: int, size: int, *given: Any) -> Array | None:
    """The loss of rows of classes, reduced by a kernel; None where it does not serve, or a target is wrong."""
    kernels = loops("margin")
    blocks, mean = -(-count // kernels.ROWS), int(reduction == "mean")
    out, notes, losses = np.empty((), dtype), np.empty(3 * blocks), np.empty(count, dtype) if reduction == "none" else None
    if not getattr(kernels, name).run(out, losses, notes, *given, mean, size, count, blocks, size * min(count, kernels.ROWS)):
        return None
    found = finished(notes, blocks, dtype, bool(mean)) if blocks > 1 else None if notes[2] else out
    return found if losses is None or found is None else losses


def for_rows(g: Array, count: int, reduction: str) -> Array:
    """The gradient of each row's loss, as a column or as one number."""
    return g[..., None] if reduction == "none" else g / count if reduction == "mean" else g


def along_rows(slopes: Array, tangent: Array, reduction: str) -> Array:
    """How a loss of rows changes."""
    return np.sum(slopes * tangent, axis=-1) if reduction == "none" else np.sum(slopes * tangent)


# ---- one class ----------------------------------------------------------------------------------------------------------------------


def gaps(input: Array, target: Array, weight: Array | None, p: int, margin: float) -> tuple[Array, Array]:
    """What the target lacks to exceed each other class by the margin, and its slope, or that of its square; both weighted."""
    others = target[..., None] != np.arange(input.shape[-1])
    gap = np.where(others, margin - at_target(input, target) + input, 0)
    gap = np.where(gap > 0, gap, 0)  # at zero it has no slope
    values, slopes = (gap, np.sign(gap)) if p == 1 else (gap * gap, 2 * gap)
    if weight is None:
        return values, slopes
    factor = weight[target][..., None]
    return values * factor, slopes * factor


def multi_margin_back(
    g: Array, input: Array, target: Array, weight: Array | None, p: int, margin: float, reduction: str
) -> Array | None:
    count, classes = input.shape
    if not input.size:
        return None
    grad, scale = np.empty(input.shape, input.dtype), 1 / classes / (count if reduction == "mean" else 1)
    arrays = (None if x is None else np.ascontiguousarray(x) for x in (g, input, target, weight))
    each = int(reduction == "none")
    done = loops("margin").multi_margin_back.run(grad, *arrays, margin, int(p == 2), scale, each, classes, count, classes)
    return grad if done else None


@primitive("margin.one_back", multi_margin_back)
def multi_margin_rule(g: Array, input: Array, target: Array, weight: Array | None, p: int, margin: float, reduction: str) -> Array:
    count, classes = input.shape
    slopes = gaps(input, target, weight, p, margin)[1] * (for_rows(g, count, reduction) / classes)
    return slopes - one_hot_rows(target, np.sum(slopes, axis=-1, keepdims=True), classes)


def multi_margin_by_ops(input: Array, target: Array, weight: Array | None, p: int, margin: float, reduction: str) -> Array:
    return reduced(np.sum(gaps(input, target, weight, p, margin)[0], axis=-1) / input.shape[-1], reduction)


def multi_margin_by_kernel(
    input: Array, target: Array, weight: Array | None, p: int, margin: float, reduction: str
) -> Array | None:
    if not input.size:
        return None
    arrays = (None if x is None else np.ascontiguousarray(x) for x in (input, target, weight))
    return by_kernel("multi_margin", reduction, input.dtype, *input.shape, *arrays, margin, int(p == 2))


@op("multi_margin_loss", method=False, function=False, out=False, input=multi_margin_rule, batch=Composed(multi_margin_by_ops),
    jvp=lambda input, input_t, target, weight, p, margin, reduction, out: along_rows(
        multi_margin_rule(np.ones_like(out), input, target, weight, p, margin, reduction), input_t, reduction))  # fmt: skip
@primitive("margin.one", multi_margin_by_kernel)
def multi_margin_op(input: Array, target: Array, weight: Array | None, p: int, margin: float, reduction: str) -> Array:
    """Of rows of scores."""
    classes = input.shape[1]
    if holds(np.any((target < 0) | (target >= classes))):
        raise RuntimeError(f"target out of range: there are {classes} classes, so targets are 0 to {classes - 1}")
    return cast(multi_margin_by_ops(wide(input), target, weight, p, margin, reduction), input.dtype)


def multi_margin_loss(
    input: Array,
    target: Array,
    p: int = 1,
    margin: float = 1.0,
    weight: Array | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """What the score of the target class lacks to exceed each other class by the margin."""
    reduction = reduction_of(size_average, reduce, reduction)
    shape, given = input._data.shape, target._data.shape
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and len(weight.shape) != 1:
        raise ValueError(f"weight must be one-dimensional, got {list(weight.shape)}")
    refuse_gradient("multi_margin_loss", weight=weight)
    refuse_no_classes(shape)
    require_kernel("multi_margin_loss_cpu_kernel", input)
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.scalar_name} but found {weight.dtype.scalar_name}")
    if given != shape[:-1] and not (len(shape) <= 1 and target.numel() == 1):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size {list(shape[:-1])}, but got {list(given)}. Input has shape {list(shape)}."
        )
    if weight is not None and weight.shape != shape[-1:]:
        raise RuntimeError(f"inconsistent weight size, expected {shape[-1]} but got {list(weight.shape)}")
    require_indices(target)
    if len(shape) == 2:
        return multi_margin_op(input, target, weight, p, float(margin), reduction)
    loss = multi_margin_op(input.reshape(1, -1), target.reshape(1), weight, p, float(margin), reduction)
    return loss.reshape(given) if reduction == "none" else loss


# ---- several classes ----------------------------------------------------------------------------------------------------------------

Kept = list[Any]


def label_gaps(input: Array, target: Array) -> tuple[Array, Array, Array]:
    """Which targets are listed, and where they are; and what each lacks to exceed each other class by one: (..., targets, classes)."""
    listed = np.cumsum(cast(target < 0, INT64), axis=-1) == 0
    places = np.where(listed, target, 0)
    named = (places[..., None] == np.arange(input.shape[-1])) & listed[..., None]
    counted = listed[..., None] & np.logical_not(named.any(-2))[..., None, :]
    gap = 1 - np.take_along_axis(input, places, axis=-1)[..., None] + input[..., None, :]
    return listed, places, np.where(counted & (gap > 0), gap, 0)


def multilabel_margin_back(g: Array, input: Array, target: Array, reduction: str, kept: Kept) -> Array | None:
    if not kept:
        return None
    count, classes = input.shape
    grad, scale = np.empty(input.shape, input.dtype), 1 / classes / (count if reduction == "mean" else 1)
    arrays = (np.ascontiguousarray(x) for x in (g, kept[0], input, target))
    each, work = int(reduction == "none"), classes * classes
    return grad if loops("margin").multilabel_margin_back.run(grad, *arrays, scale, each, classes, count, work) else None


@primitive("margin.several_back", multilabel_margin_back)
def multilabel_margin_rule(g: Array, input: Array, target: Array, reduction: str, kept: Kept) -> Array:
    count, classes = input.shape
    listed, places, gap = label_gaps(input, target)
    slopes = np.sign(gap) * np.expand_dims(for_rows(g, count, reduction) / classes, -1)
    given = np.where(listed, np.sum(slopes, axis=-1), 0)
    named = places[..., None] == np.arange(classes)
    return np.sum(slopes, axis=-2) - np.sum(np.where(named, given[..., None], 0), axis=-2)


def multilabel_margin_by_ops(input: Array, target: Array, reduction: str) -> Array:
    return reduced(np.sum(label_gaps(input, target)[2], axis=(-1, -2)) / input.shape[-1], reduction)


def multilabel_margin_by_kernel(input: Array, target: Array, reduction: str, kept: Kept) -> Array | None:
    """It keeps which classes are no targets."""
    if not input.size:
        return None
    x, others = np.ascontiguousarray(input), np.empty(input.shape, input.dtype)
    out = by_kernel("multilabel_margin", reduction, input.dtype, *input.shape, others, x, np.ascontiguousarray(target))
    kept += [] if out is None else [others]
    return out


@op("multilabel_margin_loss", method=False, function=False, out=False, nodes="MultilabelMarginLossBackward0",
    check=refuse("c", "multilabel_margin_loss_forward_out_frame"), input=multilabel_margin_rule, batch=Composed(multilabel_margin_by_ops),
    jvp=lambda input, input_t, target, reduction, out: along_rows(
        multilabel_margin_rule(np.ones_like(out), input, target, reduction, []), input_t, reduction))  # fmt: skip
@primitive("margin.several", multilabel_margin_by_kernel)
def multilabel_margin_op(input: Array, target: Array, reduction: str, kept: Kept) -> Array:
    """Of rows of scores."""
    classes = input.shape[1]
    if holds(np.any((target < -1) | (target >= classes))):
        raise RuntimeError(f"argument #2 'target' is out of range: there are {classes} classes, so targets are 0 to {classes - 1}, or -1")
    return cast(multilabel_margin_by_ops(wide(input), target, reduction), input.dtype)


def multilabel_margin_loss(
    input: Array, target: Array, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Array:
    """What the scores of the target classes (listed up to the first -1) lack to exceed those of all others by one."""
    reduction = reduction_of(size_average, reduce, reduction)
    shape = input._data.shape
    refuse_no_classes(shape)
    if target._data.shape != shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(shape)}")
    require_indices(target)
    if len(shape) == 2:
        return multilabel_margin_op(input, target, reduction, [])
    loss = multilabel_margin_op(input.reshape(1, -1), target.reshape(1, -1), reduction, [])
    return loss.reshape(()) if reduction == "none" else loss


def multilabel_soft_margin_loss(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """The mean over the classes of binary cross entropy with logits."""
    reduction = reduction_of(size_average, reduce, reduction)
    if target.is_floating_point() and target.shape == input.shape:
        losses = binary_cross_entropy_with_logits(input, target, reduction="none")
    else:
        losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    return reduced(times(losses, weight).sum(-1) / input.size(-1), reduction)


def triplet_margin_loss(
    anchor: Array,
    positive: Array,
    negative: Array,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """How far the negative example is from being farther from the anchor than the positive one by the margin."""
    reduction = reduction_of(size_average, reduce, reduction)
    return triplet(anchor, positive, negative, lambda a, b: pairwise_distance(a, b, p, eps), margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: Array,
    positive: Array,
    negative: Array,
    *,
    distance_function: Callable[[Array, Array], Array] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Array:
    """`triplet_margin_loss` with any distance."""
    reduction = reduction_of(None, None, reduction)
    return triplet(anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction)


def triplet(
    anchor: Array, positive: Array, negative: Array, distance: Callable[[Array, Array], Array], margin: float, swap: bool, reduction: str
) -> Array:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    dims = [len(x.shape) for x in (anchor, positive, negative)]
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = FUNCTIONS["minimum"](far, distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), reduction)


def cosine_embedding_loss(
    input1: Array,
    input2: Array,
    target: Array,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """One minus the cosine where the target is 1; what the cosine exceeds the margin by where it is -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    dims = target.ndim
    if dims > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not input1.ndim == input2.ndim == dims + 1:
        raise RuntimeError(
            f"{dims}D target tensor expects {dims + 1}D input tensors, but found inputs with sizes {list(input1.shape)} and "
            f"{list(input2.shape)}."
        )
    squares = ((input1 * input1).sum(-1) + 1e-12) * ((input2 * input2).sum(-1) + 1e-12)
    cosine = (input1 * input2).sum(-1) / squares.sqrt()
    losses = np.where(target == 1, 1 - cosine, 0) + np.where(target == -1, (cosine - margin).clamp_min(0), 0)
    return reduced(losses, reduction)
