"""Pooling: means and maxima over windows, and maxima put back where they were.

The functions with PyTorch's arguments are in `nn/_pooling.py`; here a window is described by `_pool_windows.py`. As for other selected
elements (Note [Selected elements] in reduce.py), a maximum is a search and a look-up.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from ._pool_windows import INDEX, Windows, divisors, maxima, means_directly, put_directly, spread, spread_directly, sums
from ._precision import wide
from ._registry import LEADING, LINEAR, Array, op
from ._rules import call, cast, zeros_on
from .scatter import gather, scatter_add

Lines = tuple[Windows, ...]  # the windows along each of the last dimensions


def out_shape(input: Array, windows: Lines) -> tuple[int, ...]:
    return (*input.shape[: len(input.shape) - len(windows)], *(len(line.starts) for line in windows))


def refuse(name: str, input: Array) -> None:
    raise NotImplementedError(f"\"{name}\" not implemented for '{from_numpy_dtype(input.dtype).scalar_name}'\n  fix: x.float()")


# ---- means --------------------------------------------------------------------------------------------------------------------------


def means(input: Array, windows: Lines, divisor: int | None) -> Array:
    x = wide(input)
    if (found := means_directly(x, windows, divisor)) is not None:
        return cast(found, input.dtype)
    for axis, line in enumerate(windows, x.ndim - len(windows)):
        x = sums(x, axis, line)
    by = divisors(windows, divisor, x.dtype)
    return cast(np.trunc(x / by).astype(x.dtype) if x.dtype.kind == "i" else x / by, input.dtype)


def shares(grad: Array, windows: Lines, divisor: int | None) -> Array:
    """The transpose of `means`."""
    g = wide(grad)
    g = np.ascontiguousarray(g / divisors(windows, divisor, g.dtype))
    found = spread_directly(g, windows) if g.size else None
    if found is None:
        for axis, line in enumerate(windows, g.ndim - len(windows)):
            g = spread(g, axis, line)
        found = np.ascontiguousarray(g)
    return cast(found, grad.dtype)


def mean_op(name: str, node: str, kinds: str) -> Any:
    """An op that takes means, with the op that is its transpose; they are each other's derivative."""

    @op(f"{name}_backward", nodes=f"{node}BackwardBackward0", method=False, function=False, out=False, jvp=LINEAR, batch=LEADING,
        grad=lambda g, windows, divisor: call(forward, g, windows, divisor))  # fmt: skip
    def backward(grad: Array, windows: Lines, divisor: int | None) -> Array:
        if grad.__class__ is not np.ndarray:
            lead = len(grad.shape) - len(windows)
            return np.empty_like(grad, order="C", shape=(*grad.shape[:lead], *(line.size for line in windows)))
        return shares(grad, windows, divisor)

    @op(name, nodes=f"{node}Backward0", method=False, function=False, out=False, jvp=LINEAR, batch=LEADING,
        input=lambda g, windows, divisor: call(backward, g, windows, divisor))  # fmt: skip
    def forward(input: Array, windows: Lines, divisor: int | None) -> Array:
        if input.dtype.kind in "biuc" and input.dtype.name not in kinds:
            refuse(name, input)
        if input.__class__ is not np.ndarray:
            return np.empty_like(input, order="C", shape=out_shape(input, windows))
        return means(input, windows, divisor)

    return forward


avg_pool2d = mean_op("avg_pool2d", "AvgPool2D", "int64")
avg_pool3d = mean_op("avg_pool3d", "AvgPool3D", "int64")
adaptive_avg_pool2d = mean_op("adaptive_avg_pool2d", "AdaptiveAvgPool2D", "")
adaptive_avg_pool3d = mean_op("adaptive_avg_pool3d", "AdaptiveAvgPool3D", "")


# ---- maxima -------------------------------------------------------------------------------------------------------------------------


def search(input: Array, windows: Lines, places: bool = True) -> tuple[Array, Array | None]:
    """The maximum over each window, and (if that is asked for) where it is, counted in the last dimensions laid out in one line."""
    if input.dtype.kind in "bc":
        refuse(f"max_pool{len(windows)}d", input)
    if input.__class__ is not np.ndarray:
        shape = out_shape(input, windows)
        return np.empty_like(input, order="C", shape=shape), np.empty_like(input, INDEX, order="C", shape=shape)
    return maxima(input, windows, places)


@op(method=False, function=False, out=False, differentiable=False, batch=LEADING)
def max_pool_places(input: Array, windows: Lines) -> Array:
    """Where the maxima are; for tensors inside a transform, whose arrays cannot be searched at once for places and values."""
    return search(input, windows)[1]


def in_line(x: Array, dims: int) -> Array:
    """The last dimensions as one."""
    lead = x.shape[: len(x.shape) - dims]
    return np.reshape(x, (*lead, math.prod(x.shape[len(lead) :])))


def look_up(input: Array, index: Array, dims: int) -> Array:
    found = call(gather, in_line(input, dims), len(input.shape) - dims, in_line(index, dims))
    return np.reshape(found, index.shape)


def look_up_tangent(input_t: Array, index: Array, dims: int) -> Array:
    return look_up(input_t, index, dims)


def put_back(g: Array, index: Array, dims: int, input_shape: tuple[int, ...], input_dtype: Any) -> Array:
    if g.__class__ is np.ndarray and g.size:
        found = put_directly(g, index, input_shape, dims)
        if found is not None:
            return found
    lead = len(input_shape) - dims
    flat = (*input_shape[:lead], math.prod(input_shape[lead:]))
    put = call(scatter_add, zeros_on(g, flat, input_dtype), lead, in_line(index, dims), in_line(g, dims))
    return np.reshape(put, input_shape)


def selection(name: str, node: str) -> Any:
    """The op for the elements of the last `dims` dimensions that a search has found. Usually it has found their values, too."""

    @op(
        f"{name}_values", nodes=f"{node}Backward0", method=False, function=False, out=False, input=put_back, jvp=look_up_tangent,
        batch=lambda input, index, dims: select(input, index, dims),
    )  # fmt: skip
    def select(input: Array, index: Array, dims: int, values: Any = None) -> Array:
        return look_up(input, index, dims) if values is None else values

    return select


max_pool2d = selection("max_pool2d", "MaxPool2DWithIndices")
max_pool3d = selection("max_pool3d", "MaxPool3DWithIndices")
adaptive_max_pool2d = selection("adaptive_max_pool2d", "AdaptiveMaxPool2D")
adaptive_max_pool3d = selection("adaptive_max_pool3d", "AdaptiveMaxPool3D")
fractional_max_pool2d = selection("fractional_max_pool2d", "FractionalMaxPool2D")
fractional_max_pool3d = selection("fractional_max_pool3d", "FractionalMaxPool3D")


def unpool_op(dims: int) -> Any:
    """The op that puts maxima back: zeros elsewhere, and of several for one place the last."""

    @op(f"max_unpool{dims}d", nodes=f"MaxUnpool{dims}DBackward0", method=False, function=False, out=False, jvp=LINEAR, batch=LEADING,
        input=lambda g, index: look_up(g, index, dims))  # fmt: skip
    def unpool(input: Array, index: Array, size: tuple[int, ...]) -> Array:
        lead = input.shape[: len(input.shape) - dims]
        volume = math.prod(size)
        if index.__class__ is np.ndarray and index.size and not 0 <= index.min() <= index.max() < volume:
            wrong = int(index[(index < 0) | (index >= volume)].flat[0])
            raise RuntimeError(f"Found an invalid max index: {wrong} (output volumes are of size {'x'.join(map(str, size))})")
        out = np.zeros_like(input, order="C", shape=(*lead, volume))
        np.put_along_axis(out, in_line(index, dims), in_line(input, dims), len(lead))
        return np.reshape(out, (*lead, *size))

    return unpool


max_unpool2d = unpool_op(2)
max_unpool3d = unpool_op(3)
