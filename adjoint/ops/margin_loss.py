"""The losses of `torch.nn.functional` that ask for a margin between scores or distances, written with ops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._loss import reduced, reduction_of, refuse_gradient
from ._registry import FUNCTIONS, Array
from ._rules import holds
from .activation import softplus
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
    losses = np.where(target != 1, (margin - input).clamp(min=0), 0) + np.where(target != -1, input, 0)
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
    return reduced((-target * (input1 - input2) + margin).clamp(min=0), reduction)


def soft_margin_loss(
    input: Array, target: Array, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Array:
    """`log(1 + exp(-target * input))`, for targets 1 and -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    refuse_gradient("soft_margin_loss", target=target)
    return reduced(softplus(-target * input), reduction)


def one_hot(target: Array, classes: int) -> Array:
    """Whether each class is the target."""
    from .._ranges import arange

    return target.unsqueeze(-1) == arange(classes, device=target.device)


def above_zero(x: Array) -> Array:
    """The positive part; at zero it has no slope."""
    return np.where(x > 0, x, 0)


def refuse_no_classes(input: Array) -> None:
    if input.ndim and not input.shape[-1]:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}")


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
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and len(weight.shape) != 1:
        raise ValueError(f"weight must be one-dimensional, got {list(weight.shape)}")
    refuse_gradient("multi_margin_loss", weight=weight)
    refuse_no_classes(input)
    if target.shape != input.shape[:-1] and not (len(input.shape) <= 1 and target.numel() == 1):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size {list(input.shape[:-1])}, but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    shape = target.shape
    if weight is not None and weight.shape != input.shape[-1:]:
        raise RuntimeError(f"inconsistent weight size, expected {input.shape[-1]} but got {list(weight.shape)}")
    if target.dtype.name != "int64":
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.scalar_name}; write target.long()")
    input = input.reshape(1) if input.ndim == 0 else input
    target = target.reshape(input.shape[:-1])
    classes = input.shape[-1]
    if holds(((target < 0) | (target >= classes)).any()):
        raise RuntimeError(f"target out of range: there are {classes} classes, so targets are 0 to {classes - 1}")
    hinge = above_zero(margin - input.gather(-1, target.unsqueeze(-1)) + input) ** p
    if weight is not None:
        hinge = hinge * weight[target].unsqueeze(-1)
    losses = hinge.masked_fill(one_hot(target, classes), 0).sum(-1) / classes
    return reduced(losses.reshape(shape), reduction)


def multilabel_margin_loss(
    input: Array, target: Array, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Array:
    """What the scores of the target classes (listed up to the first -1) lack to exceed those of all others by one."""
    reduction = reduction_of(size_average, reduce, reduction)
    refuse_no_classes(input)
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    if input.ndim == 0:
        input, target = input.reshape(1), target.reshape(1)
    classes = input.shape[-1]
    listed = (target < 0).cumsum(-1) == 0
    places = target.masked_fill(listed.logical_not(), 0)
    wanted = (one_hot(places, classes) & listed.unsqueeze(-1)).any(-2)
    gaps = above_zero(1 - input.gather(-1, places).unsqueeze(-1) + input.unsqueeze(-2))
    counted = listed.unsqueeze(-1) & wanted.logical_not().unsqueeze(-2)
    return reduced(np.where(counted, gaps, 0).sum((-1, -2)) / classes, reduction)


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
    losses = times(binary_cross_entropy_with_logits(input, target, reduction="none"), weight)
    return reduced(losses.sum(-1) / input.shape[-1], reduction)


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
    return reduced((margin + near - far).clamp(min=0), reduction)


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
    squares = ((input1 * input1).sum(-1) + 1e-12) * ((input2 * input2).sum(-1) + 1e-12)
    cosine = (input1 * input2).sum(-1) / squares.sqrt()
    losses = np.where(target == 1, 1 - cosine, 0) + np.where(target == -1, (cosine - margin).clamp(min=0), 0)
    return reduced(losses, reduction)
