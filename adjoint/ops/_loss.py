"""What the losses share: their reductions, and the checks of their arguments."""

from __future__ import annotations

import math

import numpy as np

from .._dtype import from_numpy_dtype
from .._methods import OpMethods
from .._site import warn
from ._registry import FUNCTIONS, Array

REDUCTIONS = ("none", "mean", "sum")


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction, also when it is asked for in the old way."""
    if size_average is not None or reduce is not None:
        average, reduces = size_average is not False, reduce is not False
        reduction = "none" if not reduces else "mean" if average else "sum"
        warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction; use 'mean', 'sum' or 'none'")
    return reduction


def reduced(values: Array, reduction: str) -> Array:
    """The reduction inside an op, or of a tensor."""
    if reduction == "none":
        return values
    if reduction == "sum":
        return np.sum(values)
    return np.sum(values) / (values.size or math.nan) if values.__class__ is np.ndarray else np.mean(values)


def unreduced(g: Array, like: Array, reduction: str) -> Array:
    """The gradient of each element's loss; it broadcasts against them."""
    return g / (math.prod(like.shape) or 1) if reduction == "mean" else g


def check_sizes(input: Array, target: Array) -> tuple[Array, Array]:
    """Both in their common shape, with a warning that it was not the same."""
    if input.shape == target.shape:
        return input, target
    if math.prod(input.shape) == math.prod(target.shape):
        fix = "target.reshape(input.shape)"
    else:
        fix = "target = target.expand_as(input) if the broadcast is meant"
    warn(
        f"Using a target size ({target.shape!r}) that is different to the input size ({input.shape!r}). This will likely lead to incorrect "
        f"results due to broadcasting. Please ensure they have the same size.\n  fix: {fix}"
    )
    return tuple(FUNCTIONS["broadcast_tensors"](input, target))


def refuse_gradient(name: str, **constants: Array | None) -> None:
    """These arguments are taken as constants: refuse one that wants a gradient."""
    for argument, value in constants.items():
        if isinstance(value, OpMethods) and value.requires_grad:  # type: ignore[attr-defined]
            raise RuntimeError(
                f"The function '{name}' is not differentiable with respect to argument '{argument}'. "
                f"This input cannot have requires_grad True.\n  fix: {argument}.detach()"
            )


def refuse_integers(name: str, input: Array) -> None:
    if input.dtype.kind in "iub":
        raise NotImplementedError(f"\"{name}\" not implemented for '{from_numpy_dtype(input.dtype).scalar_name}'\n  fix: x.float()")
