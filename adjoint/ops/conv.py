"""Convolution in any number of dimensions.

Note [Three convolutions]
A convolution is linear in its input and in its weight, and so are its gradients. Three ops are enough: they are each other's derivatives.

    convolution(input, weight)                              output
    convolution_transposed(input, weight, size)             its gradient with respect to the input, and the transposed convolution
    convolution_weight(input, grad, kernel_size)            its gradient with respect to the weight

What they compute on arrays is in `_convolve.py`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from .._errors import spelled
from .._layout import like_images
from . import _convolve
from ._batching import expanded
from ._precision import is_half, wide
from ._registry import MULTILINEAR, Array, op
from ._rules import call, cast, sum_to, zeros_on
from ._windows import Sizes, output_size
from .matmul import C_NAMES

# ---- what does not fit, in PyTorch's words ------------------------------------------------------------------------------------------


def by(sizes: Any) -> str:
    return " x ".join(map(str, sizes))


def to_dtype_of(weight: Array, input: Array) -> str:
    from .._source import called, converted

    scaled = " / 255" if input.dtype == np.uint8 else ""  # the bytes of an image
    return spelled(f"\n  fix: {converted(called(input, 'input'), from_numpy_dtype(weight.dtype))}{scaled}")


def channels_for(input: list[int], channels: int) -> str:
    """What gives an input the channels that a layer takes: those that come last, as in image files, or are left out."""
    if input[-1] == channels:
        order = [0, len(input) - 1, *range(1, len(input) - 1)]
        how = f"movedim(-1, {1 - len(input)})" if input[0] == 1 else f"permute({', '.join(map(str, order))})"
        return f"input.{how}: its channels come last, and belong before height and width"
    if channels == 1 and input[0] == 1:
        return "input.unsqueeze(1), if these are images without a dimension for their one channel"
    if input[1] == 1:
        return f"input.expand(-1, {channels}{', -1' * (len(input) - 2)}) repeats the one channel, or make the layer with in_channels=1"
    from ..nn._owners import layer_here

    return f"make {layer_here() or 'the layer'} with in_channels={input[1]}, or the one before it with out_channels={channels}"


def check_dtypes(input: Array, weight: Array, bias: Array | None, transposed: bool = False) -> None:
    if bias is not None and bias.dtype != input.dtype:
        a, b = (C_NAMES[from_numpy_dtype(x.dtype).name] for x in (input, bias))
        raise RuntimeError(f"Input type ({a}) and bias type ({b}) should be the same{to_dtype_of(weight, input)}")
    if input.dtype != weight.dtype:
        a, b = (from_numpy_dtype(x.dtype).scalar_name for x in (input, weight))
        raise RuntimeError(f"expected scalar type {a} but found {b}: the dtypes of input and weight differ{to_dtype_of(weight, input)}")
    if input.dtype.kind == "b" or (transposed and input.dtype.kind in "iu" and input.dtype.itemsize < 8):
        name = f"slow_conv_transpose{max(2, len(input.shape) - 2)}d_out_cpu" if transposed else "slow_conv2d_cpu"
        if not transposed and len(input.shape) == 5:
            name = "compute_columns3d"
        raise NotImplementedError(f"\"{name}\" not implemented for '{from_numpy_dtype(input.dtype).scalar_name}'\n  fix: x.float()")


def check_numbers(shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> None:
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if 0 in shape[2:]:
        raise RuntimeError(f"kernel size should be greater than zero, but got: {by(shape[2:])}")
    if shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size [{list(shape)}] "
            "instead"
        )
    if shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {list(shape)} instead"
        )


def check_channels(given: str, input: Sizes, channels: int, weight: Sizes, bias: Sizes | None, outputs: int) -> None:
    shape, kernel = list(input), list(weight)
    if shape[1] != channels:
        raise RuntimeError(
            f"Given {given}, weight of size {kernel}, expected input{shape} to have {channels} channels, but got {shape[1]} channels "
            f"instead\n  fix: {channels_for(shape, channels)}"
        )
    if bias is not None and bias != (outputs,):
        given = f"{given}, " if given.startswith("transposed") else ""
        raise RuntimeError(
            f"Given {given}weight of size {kernel}, expected bias to be 1-dimensional with {outputs} elements, but got bias of size "
            f"{list(bias)} instead"
        )


def check_sizes(size: Sizes, kernel: Sizes, padding: Sizes, dilation: Sizes, shape: Sizes) -> None:
    inside = [n + 2 * p for n, p in zip(size, padding, strict=True)]
    needed = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    if any(a < b for a, b in zip(inside, needed, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({by(inside)}). Kernel size: ({by(needed)}). Kernel size can't be greater than "
            "actual input size"
        )
    if 0 in size:
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {list(shape)}")


# ---- the ops ------------------------------------------------------------------------------------------------------------------------


def over_places(g: Array, bias_shape: Sizes) -> Array:
    """The gradient of a bias: one number per channel."""
    (channels,) = bias_shape
    if g.shape[1] != channels:
        return zeros_on(g, bias_shape, g.dtype)
    return np.reshape(sum_to(g, (channels, *(1,) * (len(g.shape) - 2))), (channels,))


def in_format(result: Array, input: Array, other: Array, groups: int) -> Array:
    """See Note [Memory formats]: the weight counts, too. Volumes are convolved with their channels last only where PyTorch has oneDNN do
    it, which takes single precision and refuses small ones."""
    if input.flags.c_contiguous and other.flags.c_contiguous:
        return result
    if len(input.shape) == 5:
        n, kernel = input.shape[0], other.shape[-2:]
        large = groups > 1 or min(kernel) > 3 or n > 1 or n * math.prod(input.shape[1:4]) > SMALL
        if input.dtype.itemsize == 8 or input.dtype == np.float16 or not large:
            return result
    return like_images(result, (input, other))


SMALL = 20480


def cut(x: Array, shape: Sizes) -> Array:
    """The first places only: a transposed convolution with output padding may leave room for more places than its input has."""
    return x if tuple(x.shape) == shape else x[tuple(slice(0, n) for n in shape)]


def with_bias(tangent: Any, bias_t: Any, out: Any) -> Any:
    """A tangent of the result, from those of the products and of the bias."""
    if bias_t is None:
        return tangent
    moved = bias_t.reshape((-1, *(1,) * (len(out.shape) - 2)))
    return moved.expand(out.shape) if tangent is None else tangent + moved


def beside(x: Any, dim: int) -> Any:
    """A batch of tensors with the examples joined along a dimension, one after the other."""
    moved = x.movedim(0, dim)
    return moved.reshape(*moved.shape[:dim], moved.shape[dim] * moved.shape[dim + 1], *moved.shape[dim + 2 :])


def apart(x: Any, dim: int, examples: int) -> Any:
    """The examples that were joined along a dimension, as a batch."""
    return x.reshape(*x.shape[:dim], examples, x.shape[dim] // max(examples, 1), *x.shape[dim + 1 :]).movedim(dim, 0)


def convolved_examples(convolve: Any, input: Any, weight: Any, bias: Any, batched: list[bool], examples: int, groups: int) -> Any:
    """The same kernels for all: the examples are more samples. Else each example is a group of channels with kernels of its own."""
    if not batched[1]:
        input = expanded(input, examples, batched[0])
        samples = input.shape[1]
        result = convolve(input.reshape(examples * samples, *input.shape[2:]), weight, None if batched[2] else bias, groups)
        result = result.reshape(examples, samples, *result.shape[1:])
        return result + bias.reshape(examples, 1, bias.shape[1], *(1,) * (result.ndim - 3)) if batched[2] else result
    channels = beside(expanded(input, examples, batched[0]), 1)
    biases = None if bias is None else expanded(bias, examples, batched[2]).reshape(-1)
    return apart(convolve(channels, beside(weight, 0), biases, groups * examples), 1, examples)


def convolution_jvp(
    input: Any, weight: Any, input_t: Any, weight_t: Any, bias_t: Any, out: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Any:
    pairs = [(x, w) for x, w in ((input_t, weight), (input, weight_t)) if x is not None and w is not None]
    terms = [convolution(x, w, None, stride, padding, dilation, groups) for x, w in pairs]
    return with_bias(sum(terms[1:], terms[0]) if terms else None, bias_t, out)


@lru_cache(maxsize=512)
def convolution_shape(
    input: Sizes, weight: Sizes, bias: Sizes | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Sizes:
    """The shape of the result, after all checks of the others."""
    check_numbers(weight, stride, padding, dilation, groups)
    check_channels(f"groups={groups}", input, weight[1] * groups, weight, bias, weight[0])
    check_sizes(input[2:], weight[2:], padding, dilation, input)
    channels = weight[0] if input[1] else 0  # PyTorch makes nothing of nothing, and forgets the bias
    return (input[0], channels, *output_size(input[2:], weight[2:], stride, padding, dilation))


def input_rule(
    g: Array, weight: Array, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    if not input_shape[1]:
        return zeros_on(g, input_shape, g.dtype)
    return call(convolution_transposed, g, weight, None, input_shape[2:], stride, padding, dilation, groups)


def weight_rule(
    g: Array, input: Array, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    if not weight_shape[1]:
        return zeros_on(g, weight_shape, g.dtype)
    return call(convolution_weight, input, g, weight_shape[2:], stride, padding, dilation, groups)


@op(
    nodes="ConvolutionBackward0", method=False, function=False, holomorphic=True, jvp=convolution_jvp,
    batch=lambda input, weight, bias, stride, padding, dilation, groups, batched, examples: convolved_examples(
        lambda x, w, b, n: convolution(x, w, b, stride, padding, dilation, n), input, weight, bias, batched, examples, groups
    ),
    input=input_rule, weight=weight_rule, bias=over_places,
)  # fmt: skip
def convolution(
    input: Array, weight: Array, bias: Array | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """Cross-correlation of a batch (N, C, spatial...) with kernels (O, C / groups, kernel...)."""
    shape = convolution_shape(input.shape, weight.shape, None if bias is None else bias.shape, stride, padding, dilation, groups)
    check_dtypes(input, weight, bias)
    if not input.shape[1]:
        return np.empty_like(input, order="C", shape=shape)
    if is_half(input.dtype):
        bias = None if bias is None else wide(bias)
        found = cast(_convolve.correlated(wide(input), wide(weight), bias, shape, stride, padding, dilation, groups), input.dtype)
    else:
        found = _convolve.correlated(input, weight, bias, shape, stride, padding, dilation, groups)
    return in_format(found, input, weight, groups)


def transposed_jvp(
    input: Any, weight: Any, input_t: Any, weight_t: Any, bias_t: Any, out: Any,
    size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int,
) -> Any:  # fmt: skip
    pairs = [(x, w) for x, w in ((input_t, weight), (input, weight_t)) if x is not None and w is not None]
    terms = [convolution_transposed(x, w, None, size, stride, padding, dilation, groups) for x, w in pairs]
    return with_bias(sum(terms[1:], terms[0]) if terms else None, bias_t, out)


@op(
    nodes="ConvolutionBackward0", method=False, function=False, holomorphic=True, jvp=transposed_jvp,
    batch=lambda input, weight, bias, size, stride, padding, dilation, groups, batched, examples: convolved_examples(
        lambda x, w, b, n: convolution_transposed(x, w, b, size, stride, padding, dilation, n),
        input, weight, bias, batched, examples, groups,
    ),
    input=lambda g, weight, input_shape, stride, padding, dilation, groups: cut(
        call(convolution, g, weight, None, stride, padding, dilation, groups), input_shape
    ),
    weight=lambda g, input, weight_shape, stride, padding, dilation, groups: call(
        convolution_weight, g, input, weight_shape[2:], stride, padding, dilation, groups
    ),
    bias=over_places,
)  # fmt: skip
def convolution_transposed(
    input: Array, weight: Array, bias: Array | None, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """What a convolution with these kernels (input channels, output channels / groups, kernel...) does to its input's gradient: every
    element of `input` spreads the kernel over a result of the given size."""
    check_numbers(weight.shape, stride, padding, dilation, groups)
    channels = weight.shape[1] * groups
    check_channels("transposed=1", input.shape, weight.shape[0], weight.shape, None if bias is None else bias.shape, channels)
    check_dtypes(input, weight, bias, transposed=True)
    shape = (input.shape[0], channels, *size)
    if is_half(input.dtype):
        bias = None if bias is None else wide(bias)
        found = cast(_convolve.scattered(wide(input), wide(weight), bias, shape, stride, padding, dilation, groups), input.dtype)
    else:
        found = _convolve.scattered(input, weight, bias, shape, stride, padding, dilation, groups)
    return in_format(found, input, weight, groups)


@op(
    nodes="ConvolutionBackward0", method=False, function=False, jvp=MULTILINEAR,
    batch=lambda input, grad, kernel_size, stride, padding, dilation, groups, examples: apart(
        convolution_weight(beside(input, 1), beside(grad, 1), kernel_size, stride, padding, dilation, groups * examples), 0, examples
    ),
    input=lambda g, grad, input_shape, stride, padding, dilation, groups: call(
        convolution_transposed, grad, g, None, input_shape[2:], stride, padding, dilation, groups
    ),
    grad=lambda g, input, grad_shape, stride, padding, dilation, groups: cut(
        call(convolution, input, g, None, stride, padding, dilation, groups), grad_shape
    ),
)  # fmt: skip
def convolution_weight(
    input: Array, grad: Array, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """The gradient of a convolution with respect to its weight."""
    shape = (grad.shape[1], input.shape[1] // groups, *kernel_size)
    if is_half(input.dtype):
        return cast(_convolve.products(wide(input), wide(grad), shape, stride, padding, dilation, groups), input.dtype)
    return in_format(_convolve.products(input, grad, shape, stride, padding, dilation, groups), input, grad, groups)
