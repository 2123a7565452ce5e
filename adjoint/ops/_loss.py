"""What the losses share: their reductions, and the checks of their arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype, get_default_dtype
from .._methods import OpMethods
from .._site import warn
from ._primitives import loops
from ._registry import FUNCTIONS, Array

REDUCTIONS = ("none", "mean", "sum")  # in the order of PyTorch's numbers for them


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that is asked for in the old way."""
    average, reduces = (given is None or bool(given) for given in (size_average, reduce))
    reduction = "none" if not reduces else "mean" if average else "sum"
    if emit_warning:
        warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    return reduction


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction, also when it is asked for in the old way."""
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction; use 'mean', 'sum' or 'none'")
    return reduction


def is_mixed(input: Array, target: Array) -> bool:
    """Whether a loss that has the dtype of its input is computed in another one; refused where that cannot become the input's."""
    kind = input._data.dtype.kind
    if target._data.dtype is input._data.dtype:
        return False
    common = FUNCTIONS["result_type"](input, target)
    common = common if common.is_floating_point or common.is_complex else get_default_dtype()
    if (common.is_complex and kind != "c") or kind in "iub":
        raise RuntimeError(
            f"result type {common.scalar_name} can't be cast to the desired output type {input.dtype.scalar_name}\n"
            f"  fix: input.to({common})"
        )
    return True


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


def finished(notes: Array, blocks: int, dtype: Any, mean: bool) -> Array | None:
    """The reduced loss, of what a kernel noted for each block; None where some of what it was given is wrong."""
    out = np.empty((), dtype)
    if not loops("loss").finish.run(out, notes, int(mean), blocks, 1, blocks):
        notes[:3] = notes[: 3 * blocks].reshape(blocks, 3).sum(0)
        with np.errstate(all="ignore"):
            out[...] = notes[0] / notes[1] if mean else notes[0]
    return None if notes[2] else out


def alike(like: Array, *others: Array) -> list[Array] | None:
    """Arrays as kernels read them, in the shape of the first; None where they cannot be."""
    if not like.size:
        return None
    shape = like.shape
    try:
        return [np.ascontiguousarray(x if x.shape == shape else np.broadcast_to(x, shape)) for x in (like, *others)]
    except ValueError:
        return None


def reduced_by_kernel(name: str, input: Array, target: Array, reduction: str, p: float = 0.0, weight: Array | None = None) -> Array | None:
    """A loss of elements, computed and reduced in one pass; None where no kernel serves."""
    if not input.size or target.shape != input.shape:
        return None
    if weight is not None:
        both = alike(input, weight)
        if both is None:
            return None
        weight = both[1]
    count, kernels = input.size, loops("element_loss")
    blocks = -(-count // kernels.ELEMENTS)
    notes = np.empty(3 * blocks)
    x, t, work = np.ascontiguousarray(input), np.ascontiguousarray(target), min(count, kernels.ELEMENTS)
    if reduction == "none":
        if name not in kernels.VALUES:
            return None
        out, bad = np.empty(input.shape, x.dtype), notes[:blocks]
        return out if kernels.VALUES[name].run(out, bad, x, t, weight, p, count, blocks, work) and not bad.any() else None
    if not kernels.SUMS[name].run(notes, x, t, weight, p, count, blocks, work):
        return None
    return finished(notes, blocks, input.dtype, reduction == "mean")


def slope_by_kernel(
    name: str, g: Array, input: Array, target: Array, reduction: str, sign: float = 1.0, p: float = 0.0, weight: Array | None = None
) -> Array | None:
    """The gradient of a loss by its input, times `sign`."""
    if not input.size or target.shape != input.shape:
        return None
    if weight is not None:
        both = alike(input, weight)
        if both is None:
            return None
        weight = both[1]
    grad, count, scale = np.empty(input.shape, input.dtype), input.size, sign / input.size if reduction == "mean" else sign
    g, x, t = np.ascontiguousarray(g), np.ascontiguousarray(input), np.ascontiguousarray(target)
    kernel, each = loops("element_loss").SLOPES[name], int(reduction == "none")
    return grad if kernel.run(grad, g, x, t, weight, p, scale, each, count, 1) else None


def positive_by_kernel(input: Array, target: Array, pos_weight: Array, reduction: str) -> Array | None:
    """Binary cross entropy of logits with weights for the positive class."""
    arrays = alike(input, target, pos_weight)
    if arrays is None:
        return None
    kernels, count = loops("element_loss"), input.size
    if reduction == "none":
        out = np.empty(input.shape, input.dtype)
        return out if kernels.positive_values.run(out, *arrays, count, 1) else None
    blocks = -(-count // kernels.ELEMENTS)
    notes = np.empty(3 * blocks)
    done = kernels.positive_sums.run(notes, *arrays, count, blocks, min(count, kernels.ELEMENTS))
    return finished(notes, blocks, input.dtype, reduction == "mean") if done else None


def positive_slope_by_kernel(g: Array, input: Array, target: Array, pos_weight: Array, reduction: str) -> Array | None:
    arrays = alike(input, target, pos_weight)
    if arrays is None:
        return None
    grad, scale, each = np.empty(input.shape, input.dtype), 1 / input.size if reduction == "mean" else 1.0, int(reduction == "none")
    done = loops("element_loss").positive_slopes.run(grad, np.ascontiguousarray(g), *arrays, scale, each, input.size, 1)
    return grad if done else None


LOGITS = "binary_cross_entropy_with_logits"


def logits_by_kernel(input: Array, target: Array, pos_weight: Array | None, weight: Array | None, reduction: str) -> Array | None:
    if pos_weight is None:
        return reduced_by_kernel(LOGITS, input, target, reduction, 0.0, weight)
    return positive_by_kernel(input, target, pos_weight, reduction) if weight is None else None


def logits_slope_by_kernel(
    g: Array, input: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: str
) -> Array | None:
    if pos_weight is None:
        return slope_by_kernel(LOGITS, g, input, target, reduction, 1.0, 0.0, weight)
    return positive_slope_by_kernel(g, input, target, pos_weight, reduction) if weight is None else None


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


def require_floats(name: str, input: Array) -> None:
    if input.dtype.kind in "iubc":
        raise NotImplementedError(f"\"{name}\" not implemented for '{from_numpy_dtype(input.dtype).scalar_name}'\n  fix: x.float()")
