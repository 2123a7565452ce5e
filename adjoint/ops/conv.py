"""Convolution in any number of dimensions.

Note [Three convolutions]
A convolution is linear in its input and in its weight, and so are its gradients. Three ops are enough, for they are each other's derivatives:

    convolution(input, weight)                        output
    convolution_input(grad, weight, input_size)       the gradient of the input; also the transposed convolution
    convolution_weight(input, grad, kernel_size)      the gradient of the weight

All three unfold the input into columns, one for each place of the kernel, and multiply matrices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ._registry import MULTILINEAR, Array, op
from ._rules import call

Sizes = tuple[int, ...]


def output_size(size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Sizes:
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
    )


def padded(x: Array, padding: Sizes) -> Array:
    """`x` with zeros around its last dimensions."""
    if not any(padding):
        return x
    lead = len(x.shape) - len(padding)
    shape = x.shape[:lead] + tuple(n + 2 * p for n, p in zip(x.shape[lead:], padding, strict=True))
    out = np.zeros(shape, x.dtype)
    out[(..., *(slice(p, p + n) for n, p in zip(x.shape[lead:], padding, strict=True)))] = x
    return out


def windows(x: Array, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Array:
    """A view of (N, C, spatial...) as (N, C, kernel..., places...)."""
    count = len(kernel)
    places = output_size(x.shape[2:], kernel, stride, (0,) * count, dilation)
    steps = x.strides[2:]
    strides = (
        x.strides[:2]
        + tuple(step * d for step, d in zip(steps, dilation, strict=True))
        + tuple(step * s for step, s in zip(steps, stride, strict=True))
    )
    return as_strided(x, x.shape[:2] + kernel + places, strides, writeable=False)


def columns(x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    """The input unfolded: (N, groups, channels in a group x kernel, places)."""
    batch, channels = x.shape[:2]
    count = len(kernel)
    if math.prod(kernel) == 1 and not any(padding) and set(stride) == {1}:
        return x.reshape(batch, groups, channels // groups, -1)
    view = windows(padded(x, padding), kernel, stride, dilation)
    places = math.prod(view.shape[2 + count :])
    return view.reshape(batch, groups, channels // groups * math.prod(kernel), places)


def folded(cols: Array, size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
    """The reverse of unfolding: columns (N, C, kernel..., places...) added up where they came from, giving (N, C, *size)."""
    count = len(kernel)
    places = cols.shape[2 + count :]
    total = np.zeros(cols.shape[:2] + tuple(n + 2 * p for n, p in zip(size, padding, strict=True)), cols.dtype)
    for place in np.ndindex(*kernel):
        target = tuple(
            slice(k * d, k * d + (o - 1) * s + 1, s) for k, d, o, s in zip(place, dilation, places, stride, strict=True)
        )
        total[(slice(None), slice(None), *target)] += cols[(slice(None), slice(None), *place)]
    inside = tuple(slice(p, p + n) for n, p in zip(size, padding, strict=True))
    return total[(slice(None), slice(None), *inside)]


def check_convolution(input: Array, weight: Array, bias: Array, padding: Sizes, dilation: Sizes, groups: int) -> None:
    """Refuse what does not fit, in PyTorch's words."""
    shape, kernel = list(input.shape), list(weight.shape)
    if len(shape) != len(kernel):
        raise RuntimeError(f"expected {len(kernel)}D input (a batch) or one dimension less, but got input of size {shape}")
    if shape[1] != kernel[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {kernel}, expected input{shape} to have {kernel[1] * groups} channels, but got "
            f"{shape[1]} channels instead"
        )
    if kernel[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size {kernel} instead"
        )
    if bias is not None and list(bias.shape) != [kernel[0]]:
        raise RuntimeError(
            f"Given weight of size {kernel}, expected bias to be 1-dimensional with {kernel[0]} elements, but got bias of size "
            f"{list(bias.shape)} instead"
        )
    for n, k, p, d in zip(shape[2:], kernel[2:], padding, dilation, strict=True):
        if n + 2 * p < d * (k - 1) + 1:
            inside = " x ".join(str(n + 2 * p) for n, p in zip(shape[2:], padding, strict=True))
            needed = " x ".join(str(d * (k - 1) + 1) for k, d in zip(kernel[2:], dilation, strict=True))
            raise RuntimeError(
                f"Calculated padded input size per channel: ({inside}). Kernel size: ({needed}). Kernel size can't be greater than actual "
                "input size"
            )


def check_dtypes(input: Array, weight: Array) -> None:
    if input.dtype != weight.dtype:
        from .._dtype import from_numpy_dtype

        a, b = (from_numpy_dtype(x.dtype).scalar_name for x in (input, weight))
        raise RuntimeError(
            f"Input type ({a}) and weight type ({b}) should be the same\n  fix: model.to(x.dtype), or x.to(model.weight.dtype)"
        )


@op(
    nodes="ConvolutionBackward0", method=False, function=False, jvp=lambda input, weight, bias, input_t, weight_t, bias_t, stride, padding, dilation, groups: (
        _tangent(input, weight, bias, input_t, weight_t, bias_t, (stride, padding, dilation, groups))
    ),
    input=lambda g, weight, input_shape, stride, padding, dilation, groups: call(
        convolution_input, g, weight, input_shape[2:], stride, padding, dilation, groups
    ),
    weight=lambda g, input, weight_shape, stride, padding, dilation, groups: call(
        convolution_weight, input, g, weight_shape[2:], stride, padding, dilation, groups
    ),
    bias=lambda g: np.sum(g, axis=(0, *range(2, len(g.shape)))),
)  # fmt: skip
def convolution(
    input: Array, weight: Array, bias: Array | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """Cross-correlation of a batch (N, C, spatial...) with kernels (O, C / groups, kernel...)."""
    check_convolution(input, weight, bias, padding, dilation, groups)
    check_dtypes(input, weight)
    kernel = weight.shape[2:]
    cols = columns(input, kernel, stride, padding, dilation, groups)
    rows = weight.reshape(groups, weight.shape[0] // groups, -1)
    out = np.matmul(rows, cols)
    size = output_size(input.shape[2:], kernel, stride, padding, dilation)
    out = out.reshape(input.shape[0], weight.shape[0], *size)
    if bias is not None:
        out += bias.reshape(-1, *(1,) * len(size))
    return out


def _tangent(input: Array, weight: Array, bias: Any, input_t: Any, weight_t: Any, bias_t: Any, how: tuple[Any, ...]) -> Any:
    total = None
    for x, w in ((input_t, weight), (input, weight_t)):
        if x is not None and w is not None:
            term = convolution(x, w, None, *how)
            total = term if total is None else total + term
    if bias_t is not None:
        shape = (-1, *(1,) * (len(weight.shape) - 2))
        if total is None:
            total = convolution(input, weight, None, *how) * 0
        total = total + bias_t.reshape(shape)
    return total


@op(
    nodes="ConvolutionBackward0", method=False, function=False, jvp=MULTILINEAR,
    grad=lambda g, weight, stride, padding, dilation, groups: call(convolution, g, weight, None, stride, padding, dilation, groups),
    weight=lambda g, grad, weight_shape, stride, padding, dilation, groups: call(
        convolution_weight, g, grad, weight_shape[2:], stride, padding, dilation, groups
    ),
)  # fmt: skip
def convolution_input(
    grad: Array, weight: Array, input_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """The gradient of a convolution with respect to its input."""
    batch, channels, kernel = grad.shape[0], weight.shape[1] * groups, weight.shape[2:]
    rows = weight.reshape(groups, weight.shape[0] // groups, -1)
    cols = np.matmul(np.swapaxes(rows, -1, -2), grad.reshape(batch, groups, weight.shape[0] // groups, -1))
    return folded(cols.reshape(batch, channels, *kernel, *grad.shape[2:]), tuple(input_size), kernel, stride, padding, dilation)


@op(
    nodes="ConvolutionBackward0", method=False, function=False, jvp=MULTILINEAR,
    input=lambda g, grad, input_shape, stride, padding, dilation, groups: call(
        convolution_input, grad, g, input_shape[2:], stride, padding, dilation, groups
    ),
    grad=lambda g, input, stride, padding, dilation, groups: call(convolution, input, g, None, stride, padding, dilation, groups),
)  # fmt: skip
def convolution_weight(
    input: Array, grad: Array, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """The gradient of a convolution with respect to its weight."""
    batch, outputs = grad.shape[:2]
    cols = columns(input, tuple(kernel_size), stride, padding, dilation, groups)
    given = grad.reshape(batch, groups, outputs // groups, -1)
    # One product per group over batch and places together: the long sum is the matrix product's.
    left = np.moveaxis(given, 0, 2).reshape(groups, outputs // groups, -1)
    right = np.moveaxis(cols, 0, 1).swapaxes(-1, -2).reshape(groups, -1, cols.shape[2])
    return np.matmul(left, right).reshape(outputs, input.shape[1] // groups, *kernel_size)


def expanded(value: int | Sequence[int], count: int, name: str) -> Sizes:
    """One number for all spatial dimensions, or one for each."""
    sizes = (value,) * count if isinstance(value, int) else tuple(int(v) for v in value)
    if len(sizes) == 1:
        sizes *= count
    if len(sizes) != count:
        raise RuntimeError(f"expected {name} to be a single integer value or a list of {count} values to match the convolution dimensions, but got {name}={list(sizes)}")
    return sizes
