"""Pooling: means and maxima over windows, and maxima put back where they were.

The functions with PyTorch's arguments are in `nn/_pooling.py`; here a window is described by `_pool_windows.py`. As for other selected
elements (Note [Selected elements] in reduce.py), a maximum is a search and a look-up.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from .._layer import Pending
from ._pool_windows import Plan, maxima, means_directly, put_directly, set_directly, spread, spread_directly, sums, take_directly
from ._precision import is_half, wide
from ._primitives import primitive
from ._registry import LEADING, LINEAR, Array, Held, camel, op
from ._rules import call, cast, contiguous, holds, zeros_on
from .scatter import gather, scatter_add


def shape_of(input: Array, plan: Plan, last: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the input with others for the last dimensions."""
    return (*input.shape[: len(input.shape) - plan.dims], *last)


def refuse(name: str, input: Array) -> None:
    raise NotImplementedError(f"\"{name}\" not implemented for '{from_numpy_dtype(input.dtype).scalar_name}'\n  fix: x.float()")


def refuse_empty(name: str, grad: Array) -> None:
    """PyTorch has no backward pass for adaptive pooling to nothing."""
    if 0 in grad.shape[1:] and name.startswith("adaptive"):
        empty = grad.shape.index(0, 1)
        raise RuntimeError(
            f"{name}_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output has sizes "
            f"{list(grad.shape)} with dimension {empty} being empty"
        )


# ---- means --------------------------------------------------------------------------------------------------------------------------


def means_by_kernel(input: Array, plan: Plan) -> Array | None:
    if (found := means_directly(input, plan)) is not None:
        return found
    found = means_directly(np.ascontiguousarray(wide(input)), plan)
    return None if found is None else cast(found, input.dtype)


@primitive("pool.means", means_by_kernel, meta=lambda x, plan: np.empty_like(x, order="C", shape=shape_of(x, plan, plan.shape)))
def means(input: Array, plan: Held) -> Array:
    x = contiguous(wide(input))
    for axis, line in enumerate(plan.windows, x.ndim - plan.dims):
        x = sums(x, axis, line)
    by = plan.by.astype(x.dtype)
    return cast(np.trunc(x / by).astype(x.dtype) if x.dtype.kind == "i" else x / by, input.dtype)


def shares_by_kernel(grad: Array, plan: Plan) -> Array | None:
    found = spread_directly(wide(grad), plan)
    return None if found is None else cast(found, grad.dtype)


@primitive("pool.shares", shares_by_kernel, meta=lambda g, plan: np.empty_like(g, order="C", shape=shape_of(g, plan, plan.sizes)))
def shares(grad: Array, plan: Plan) -> Array:
    """The transpose of `means`."""
    g = wide(grad)
    g = g / plan.by.astype(g.dtype)
    for axis, line in enumerate(plan.windows, g.ndim - plan.dims):
        g = spread(g, axis, line)
    return cast(contiguous(g), grad.dtype)


def mean_op(name: str, kinds: str, images: bool = True, called: str = "", half: bool = True) -> Any:
    """An op that takes means, with the op that is its transpose; they are each other's derivative."""

    @op(f"{name}_backward", nodes=f"{camel(name)}BackwardBackward0", method=False, function=False, out=False, jvp=LINEAR, batch=LEADING,
        images=("grad",) * images, grad=lambda g, plan: call(forward, g, plan))  # fmt: skip
    def backward(grad: Array, plan: Plan) -> Array:
        refuse_empty(name, grad)
        return shares(grad, plan)

    def check(input: Array) -> None:
        if (input.dtype.kind in "biuc" and input.dtype.name not in kinds) or (not half and is_half(input.dtype)):
            refuse(called or name, input)

    forward: Any = op(name, nodes=f"{camel(name)}Backward0", method=False, function=False, out=False, jvp=LINEAR, batch=LEADING,
                      check=check, images=("input",) * images, input=lambda g, plan: call(backward, g, plan))(means)  # fmt: skip
    return forward


# PyTorch forgets the memory format of volumes here, and keeps that of images.
avg_pool2d = mean_op("avg_pool2d", "int64")
avg_pool3d = mean_op("avg_pool3d", "int64", images=False, called="avg_pool3d_out_frame", half=False)
adaptive_avg_pool2d = mean_op("adaptive_avg_pool2d", "")
adaptive_avg_pool3d = mean_op("adaptive_avg_pool3d", "", images=False, called="adaptive_avg_pool3d_cpu")


# ---- maxima -------------------------------------------------------------------------------------------------------------------------


def search(input: Array, plan: Plan, places: bool = True) -> tuple[Array, Array | None]:
    """The maximum over each window, and (if that is asked for) where it is, counted in the last dimensions laid out in one line."""
    if input.dtype.kind in "bc":
        refuse(f"max_pool{max(2, plan.dims)}d", input)
    if input.__class__ is Pending:
        input = input.resolved()
    return maxima(input, plan, places)


@op(method=False, function=False, out=False, differentiable=False, batch=LEADING, images=("input",))
def max_pool_places(input: Array, plan: Plan) -> Array:
    """Where the maxima are; for tensors inside a transform, whose arrays cannot be searched at once for places and values."""
    return search(input, plan)[1]


def in_line(x: Array, dims: int) -> Array:
    """The last dimensions as one."""
    lead = x.shape[: len(x.shape) - dims]
    return np.reshape(x, (*lead, math.prod(x.shape[len(lead) :])))


def look_up(input: Array, index: Array, dims: int) -> Array:
    found = call(gather, in_line(input, dims), len(input.shape) - dims, in_line(index, dims))
    return np.reshape(found, index.shape)


def look_up_tangent(input_t: Array, index: Array, dims: int) -> Array:
    return look_up(input_t, index, dims)


@primitive("pool.put_back", put_directly)
def put_back(g: Array, index: Array, dims: int, input_shape: tuple[int, ...], input_dtype: Any) -> Array:
    lead = len(input_shape) - dims
    flat = (*input_shape[:lead], math.prod(input_shape[lead:]))
    put = call(scatter_add, zeros_on(g, flat, input_dtype), lead, in_line(index, dims), in_line(g, dims))
    return np.reshape(put, input_shape)


def selection(name: str, node: str, images: bool = True) -> Any:
    """The op for the elements of the last `dims` dimensions that a search has found. Usually it has found their values, too."""

    def back(g: Array, index: Array, dims: int, input_shape: tuple[int, ...], input_dtype: Any) -> Array:
        refuse_empty(name, g)
        return put_back(g, index, dims, input_shape, input_dtype)

    @op(
        f"{name}_values", nodes=node, method=False, function=False, out=False, warns=False, images=("input",) * images,
        input=back, jvp=look_up_tangent,
        batch=lambda input, index, dims: select(input, index, dims),
    )  # fmt: skip
    def select(input: Array, index: Array, dims: int, values: Any = None) -> Array:
        return look_up(input, index, dims) if values is None else values

    return select


max_pool2d = selection("max_pool2d", "MaxPool2DWithIndicesBackward0")
max_pool3d = selection("max_pool3d", "MaxPool3DWithIndicesBackward0")
adaptive_max_pool2d = selection("adaptive_max_pool2d", "AdaptiveMaxPool2DBackward0")
adaptive_max_pool3d = selection("adaptive_max_pool3d", "AdaptiveMaxPool3DBackward0", images=False)
fractional_max_pool2d = selection("fractional_max_pool2d", "FractionalMaxPool2DBackward0", images=False)
fractional_max_pool3d = selection("fractional_max_pool3d", "FractionalMaxPool3DBackward0", images=False)


@primitive("pool.taken", take_directly)
def taken(g: Array, index: Array, dims: int) -> Array:
    """The gradient at the positions that maxima were put back to."""
    return look_up(g, index, dims)


def unpool_op(dims: int) -> Any:
    """The op that puts maxima back: zeros elsewhere, and of several for one place the last."""

    @op(f"max_unpool{dims}d", nodes=f"MaxUnpool{dims}DBackward0", method=False, function=False, out=False, jvp=LINEAR, batch=LEADING,
        images=("input",) * (dims == 2), input=lambda g, index: taken(g, index, dims))  # fmt: skip
    @primitive(f"pool.unpool{dims}d", set_directly)
    def unpool(input: Array, index: Array, size: tuple[int, ...]) -> Array:
        lead = input.shape[: len(input.shape) - dims]
        volume = math.prod(size)
        if volume:
            outside = (index < 0) | (index >= volume)
            if holds(np.any(outside)):
                wrong = int(index[outside].flat[0])
                raise RuntimeError(f"Found an invalid max index: {wrong} (output volumes are of size {'x'.join(map(str, size))})")
        out = np.zeros_like(input, order="C", shape=(*lead, volume))
        np.put_along_axis(out, in_line(index, dims), in_line(input, dims), len(lead))
        return np.reshape(out, (*lead, *size))

    return unpool


max_unpool2d = unpool_op(2)
max_unpool3d = unpool_op(3)
