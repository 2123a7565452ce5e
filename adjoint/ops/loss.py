"""Losses of `torch.nn.functional`, under its names and with its arguments. `nn/functional.py` exports them.

A loss that PyTorch records as one node is one op here, with the reduction inside; the others are written with ops. Forward mode of the
former is derived too: their gradient for ones is the weight of each element's tangent (REDUCTION).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from .._errors import spelled
from .._site import warn
from ._loss import (
    REDUCTIONS,
    check_sizes,
    is_mixed,
    logits_by_kernel,
    logits_slope_by_kernel,
    reduced,
    reduced_by_kernel,
    reduction_of,
    refuse_gradient,
    require_floats,
    slope_by_kernel,
    unreduced,
)
from ._precision import wide
from ._primitives import primitive
from ._registry import COMMON, FUNCTIONS, REDUCED, REDUCTION, Array, op
from ._rules import call, cast, holds
from .activation import logsigmoid
from .transcendental import sigmoid

# ---- regression ---------------------------------------------------------------------------------------------------------------------


@primitive("element_loss.mse_slope", partial(slope_by_kernel, "mse_loss"))
def mse_slope(g: Array, input: Array, target: Array, reduction: str, sign: float) -> Array:
    return unreduced(g * (2 * sign), input, reduction) * (input - target)


def mse_rule(g: Array, input: Array, target: Array, reduction: str) -> Array:
    return mse_slope(g, input, target, reduction, 1.0)


@op("mse_loss", batch=REDUCED, like=("input", "target"), method=False, function=False, promote=COMMON, wide=False, jvp=REDUCTION,
    input=mse_rule,
    target=lambda g, input, target, reduction: mse_slope(g, input, target, reduction, -1.0))  # fmt: skip
@primitive("element_loss.mse", partial(reduced_by_kernel, "mse_loss"))
def mse_loss_op(input: Array, target: Array, reduction: str) -> Array:
    require_floats("mse_cpu", input)
    difference = wide(input - target)
    return cast(reduced(difference * difference, reduction), input.dtype)


def mse_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Array | None = None,
) -> Array:
    """The squares of the errors."""
    reduction = reduction_of(size_average, reduce, reduction)
    input, target = check_sizes(input, target)
    if weight is None:
        return mse_loss_op(input, target, reduction)
    return weighted_mean((input - target) ** 2, weight, reduction)


def weighted(losses: Array, weight: Array) -> Array:
    if weight.shape != losses.shape:
        raise ValueError(f"Weights and input must have the same size, got {list(weight.shape)} and {list(losses.shape)}.")
    return losses * weight


def weighted_mean(losses: Array, weight: Array, reduction: str) -> Array:
    losses = weighted(losses, weight)
    return losses.sum() / weight.sum() if reduction == "mean" else reduced(losses, reduction)


@primitive("element_loss.l1_slope", partial(slope_by_kernel, "l1_loss"))
def l1_slope(g: Array, input: Array, target: Array, reduction: str, sign: float) -> Array:
    error = input - target
    return unreduced(g * sign, input, reduction) * np.sign(np.where(np.isnan(error), 0, error))  # the sign of NaN is 0


def l1_rule(g: Array, input: Array, input_dtype: Any, target: Array, reduction: str) -> Array:
    return cast(l1_slope(g, input, target, reduction, 1.0), input_dtype)


@op("l1_loss", batch=REDUCED, method=False, function=False, nodes="MeanBackward0", wide=False, jvp=REDUCTION,
    input=l1_rule,
    target=lambda g, input, target, target_dtype, reduction: cast(l1_slope(g, input, target, reduction, -1.0), target_dtype))  # fmt: skip
@primitive("element_loss.l1", partial(reduced_by_kernel, "l1_loss"))
def l1_loss_op(input: Array, target: Array, reduction: str) -> Array:
    return cast(reduced(np.abs(wide(input - target)), reduction), input.dtype)


def same_floats(input: Array, target: Array) -> bool:
    """Whether both are real numbers of one dtype."""
    return input._data.dtype is target._data.dtype and input.dtype.is_floating_point


def l1_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Array | None = None,
) -> Array:
    """The sizes of the errors."""
    reduction = reduction_of(size_average, reduce, reduction)
    input, target = check_sizes(input, target)
    if weight is None and reduction != "none" and same_floats(input, target):
        return l1_loss_op(input, target, reduction)
    losses = (input - target).abs()
    return reduced(losses, reduction) if weight is None else weighted_mean(losses, weight, reduction)


@primitive("element_loss.smooth_l1_slope", partial(slope_by_kernel, "smooth_l1_loss"))
def smooth_l1_slope(g: Array, input: Array, target: Array, reduction: str, sign: float, beta: float) -> Array:
    error = input - target
    slope = np.sign(error) if beta == 0 else np.clip(error / beta, -1, 1)
    return unreduced(g * sign, input, reduction) * slope


def smooth_l1_rule(g: Array, input: Array, target: Array, reduction: str, beta: float) -> Array:
    return smooth_l1_slope(g, input, target, reduction, 1.0, beta)


@op("smooth_l1_loss", batch=REDUCED, like=("input", "target"), method=False, function=False, nodes="SmoothL1LossBackward0",
    promote=COMMON, wide=False, jvp=REDUCTION, input=smooth_l1_rule,
    target=lambda g, input, target, reduction, beta: smooth_l1_slope(g, input, target, reduction, -1.0, beta))  # fmt: skip
@primitive("element_loss.smooth_l1", partial(reduced_by_kernel, "smooth_l1_loss"))
def smooth_l1_loss_op(input: Array, target: Array, reduction: str, beta: float) -> Array:
    require_floats("smooth_l1_cpu", input)
    size = np.abs(wide(input - target))
    losses = np.where(size < beta, 0.5 * size * size / beta, size - 0.5 * beta) if beta else size
    return cast(reduced(losses, reduction), input.dtype)


def smooth_l1_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Array:
    """The square of a small error, the size of a large one; they meet at `beta`."""
    reduction = reduction_of(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    input, target = check_sizes(input, target)
    return smooth_l1_loss_op(input, target, reduction, beta)


@primitive("element_loss.huber_slope", partial(slope_by_kernel, "huber_loss"))
def huber_slope(g: Array, input: Array, target: Array, reduction: str, sign: float, delta: float) -> Array:
    return unreduced(g * sign, input, reduction) * np.clip(input - target, -delta, delta)


def huber_rule(g: Array, input: Array, target: Array, reduction: str, delta: float) -> Array:
    return huber_slope(g, input, target, reduction, 1.0, delta)


@op("huber_loss", batch=REDUCED, like=("input", "target"), method=False, function=False, promote=COMMON, wide=False, jvp=REDUCTION,
    input=huber_rule,
    target=lambda g, input, target, reduction, delta: huber_slope(g, input, target, reduction, -1.0, delta))  # fmt: skip
@primitive("element_loss.huber", partial(reduced_by_kernel, "huber_loss"))
def huber_loss_op(input: Array, target: Array, reduction: str, delta: float) -> Array:
    require_floats("huber_cpu", input)
    size = np.abs(wide(input - target))
    losses = np.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta))
    return cast(reduced(losses, reduction), input.dtype)


def huber_loss(
    input: Array, target: Array, reduction: str = "mean", delta: float = 1.0, weight: Array | None = None
) -> Array:
    """Half the square of a small error; a large one counts `delta` times its size."""
    reduction = reduction_of(None, None, reduction)
    if not isinstance(delta, float | int):
        raise TypeError(f"delta must be a float or int, got: {type(delta)}")
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    input, target = check_sizes(input, target)
    if weight is None:
        mixed = is_mixed(input, target)
        loss = huber_loss_op(input, target, reduction, delta)
        return loss.to(input.dtype) if mixed else loss
    return reduced(weighted(huber_loss_op(input, target, "none", delta), weight), reduction)


def poisson_nll_loss(
    input: Array,
    target: Array,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """The negative log-likelihood of counts whose expectation is `exp(input)` (or `input`)."""
    reduction = reduction_of(size_average, reduce, reduction)
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        losses = losses + stirling.masked_fill(target <= 1, 0)
    return reduced(losses, reduction)


def gaussian_nll_loss(
    input: Array, target: Array, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Array:
    """The negative log-likelihood of a normal distribution with mean `input` and variance `var`."""
    from ..autograd.grad_mode import no_grad

    if isinstance(var, int | float):
        var = FUNCTIONS["mul"](input.detach(), 0) + var
    if var.shape != input.shape:
        if var.shape == input.shape[:-1]:
            var = var.unsqueeze(-1)
        elif var.ndim != input.ndim or [size for size, of in zip(var.shape, input.shape, strict=True) if size != of] != [1]:
            raise ValueError(f"var is of incorrect size: {list(var.shape)}; it must be that of the input, {list(input.shape)}")
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid as a reduction; use 'mean', 'sum' or 'none'")
    if holds((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    var = var.clone()
    with no_grad():  # a variance below eps still gets its gradient
        var.clamp_(min=eps)
    losses = 0.5 * (var.log() + (input - target) ** 2 / var)
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


# ---- probabilities ------------------------------------------------------------------------------------------------------------------


@primitive("element_loss.entropy_slope", lambda g, input, input_dtype, target, weight, reduction: slope_by_kernel(
    "binary_cross_entropy", g, input, target, reduction, 1.0, 0.0, weight))  # fmt: skip
def bce_input(g: Array, input: Array, input_dtype: Any, target: Array, weight: Array | None, reduction: str) -> Array:
    slope = (input - target) / np.clip((1 - input) * input, 1e-12, None)
    return cast(unreduced(g, input, reduction) * (slope if weight is None else slope * weight), input_dtype)


def bce_target(g: Array, input: Array, weight: Array | None, reduction: str) -> Array:
    slope = np.log1p(-input) - np.log(input)
    return unreduced(g, input, reduction) * (slope if weight is None else slope * weight)


@op("binary_cross_entropy", batch=REDUCED, method=False, function=False, wide=False, jvp=REDUCTION, input=bce_input, target=bce_target)
@primitive("element_loss.entropy", lambda input, target, weight, reduction: reduced_by_kernel(
    "binary_cross_entropy", input, target, reduction, 0.0, weight))  # fmt: skip
def binary_cross_entropy_op(input: Array, target: Array, weight: Array | None, reduction: str) -> Array:
    require_floats("binary_cross_entropy", input)
    for other in (target, weight):
        if other is not None and other.dtype != input.dtype:
            found, expected = from_numpy_dtype(other.dtype), from_numpy_dtype(input.dtype)
            from .._source import called, converted

            fix = converted(called(other, "target" if other is target else "weight"), expected)
            raise RuntimeError(spelled(f"Found dtype {found.scalar_name} but expected {expected.scalar_name}\n  fix: {fix}"))
    if holds(np.any(np.logical_not((input >= 0) & (input <= 1)))):
        raise RuntimeError(
            spelled(
                "all elements of input should be between 0 and 1\n  fix: binary_cross_entropy_with_logits takes any numbers, "
                "or apply torch.sigmoid first"
            )
        )
    p = wide(input)
    losses = (target - 1) * np.maximum(np.log1p(-p), -100) - target * np.maximum(np.log(p), -100)
    return cast(reduced(losses if weight is None else losses * weight, reduction), input.dtype)


def binary_cross_entropy(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """How badly the probabilities in `input` predict `target`. Logarithms are kept above -100."""
    reduction = reduction_of(size_average, reduce, reduction)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape!r}) that is different to the input size ({input.shape!r}) is deprecated. "
            "Please ensure they have the same size.\n  fix: target.reshape(input.shape), or target.expand_as(input)"
        )
    refuse_gradient("binary_cross_entropy", weight=weight)
    if weight is not None:
        weight = weight.expand(input.shape)
    return binary_cross_entropy_op(input, target, weight, reduction)


def times(x: Array, factor: Array | None) -> Array:
    return x if factor is None else x * factor


@primitive("element_loss.logits_slope", logits_slope_by_kernel)
def logits_input(g: Array, input: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: str) -> Array:
    positive = times(target, pos_weight)
    return unreduced(g, input, reduction) * times((positive + 1 - target) * call(sigmoid, input) - positive, weight)


def logits_target(g: Array, input: Array, weight: Array | None, pos_weight: Array | None, reduction: str) -> Array:
    slope = -input if pos_weight is None else call(logsigmoid, -input) - pos_weight * call(logsigmoid, input)
    return unreduced(g, input, reduction) * times(slope, weight)


@op("binary_cross_entropy_with_logits", batch=REDUCED, like=("target", "input"), method=False, function=False, promote=COMMON,
    wide=False, jvp=REDUCTION, input=logits_input, target=logits_target)  # fmt: skip
@primitive("element_loss.logits", logits_by_kernel)
def binary_cross_entropy_with_logits_op(
    input: Array, target: Array, pos_weight: Array | None, weight: Array | None, reduction: str
) -> Array:
    require_floats("binary_cross_entropy_with_logits", input)
    x = wide(input)
    weights = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    losses = (1 - target) * x - weights * call(logsigmoid, x)
    return cast(reduced(times(losses, weight), reduction), input.dtype)


def binary_cross_entropy_with_logits(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Array | None = None,
) -> Array:
    """How badly `sigmoid(input)` predicts `target`, computed without overflow."""
    reduction = reduction_of(size_average, reduce, reduction)
    if input.shape != target.shape:
        raise ValueError(
            f"Target size ({target.shape!r}) must be the same as input size ({input.shape!r})\n"
            "  fix: target.reshape(input.shape), or target.expand_as(input)"
        )
    refuse_gradient("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    if not input.is_floating_point():
        raise NotImplementedError(f"\"log_sigmoid_cpu\" not implemented for '{input.dtype.scalar_name}'\n  fix: input.float()")
    if not target.is_floating_point():
        from .._source import called, converted

        words = f"result type {input.dtype.scalar_name} can't be cast to the desired output type {target.dtype.scalar_name}"
        raise RuntimeError(spelled(f"{words}\n  fix: {converted(called(target, 'target'), input.dtype)}"))
    return binary_cross_entropy_with_logits_op(input, target, pos_weight, weight, reduction)


@primitive("element_loss.divergence_slope", lambda g, input, target, reduction, log_target: slope_by_kernel(
    "log_kl_div" if log_target else "kl_div", g, input, target, reduction))  # fmt: skip
def kl_div_input(g: Array, input: Array, target: Array, reduction: str, log_target: bool) -> Array:
    return unreduced(-g, input, reduction) * (np.exp(target) if log_target else target)


def kl_div_target(g: Array, input: Array, target: Array, reduction: str, log_target: bool) -> Array:
    # The quotient is 1, but NaN where the target is 0: there the derivative of t log(t) is not defined.
    slope = np.exp(target) * (target - input + 1) if log_target else np.log(target) + target / target - input
    return unreduced(g, input, reduction) * slope


@op("kl_div", batch=REDUCED, method=False, function=False, nodes="SumBackward0", wide=False, jvp=REDUCTION,
    input=kl_div_input, target=kl_div_target)  # fmt: skip
@primitive("element_loss.divergence", lambda input, target, reduction, log_target: reduced_by_kernel(
    "log_kl_div" if log_target else "kl_div", input, target, reduction))  # fmt: skip
def kl_div_op(input: Array, target: Array, reduction: str, log_target: bool) -> Array:
    x, t = wide(input), wide(target)
    losses = np.exp(t) * (t - x) if log_target else np.where(t == 0, 0, t * np.log(t)) - t * x
    return cast(reduced(losses, reduction), input.dtype)


def kl_div(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Array:
    """The Kullback-Leibler divergence of `target` from the distribution whose logarithm is `input`."""
    if reduction == "mean" and size_average is None and reduce is None:
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. "
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition. "
            "'mean' will be changed to behave the same as 'batchmean' in the next major release."
        )
    for given in (input, target):
        if not given.is_floating_point():
            raise RuntimeError(f"kl_div: {'Complex' if given.is_complex() else 'Integral'} inputs not supported.")
    batchmean = reduction == "batchmean"
    reduction = reduction_of(size_average, reduce, "sum" if batchmean else reduction)
    if reduction != "none" and input._data.shape == target._data.shape and same_floats(input, target):
        total = kl_div_op(input, target, reduction, log_target)
        return total / input.shape[0] if batchmean and input.shape else total
    losses = target.exp() * (target - input) if log_target else FUNCTIONS["xlogy"](target, target) - target * input
    total = reduced(losses, reduction)
    return total / input.shape[0] if batchmean and input.shape else total
