"""`unfold` takes blocks out of images and `fold` adds blocks up to images; they are each other's transpose."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from .._dtype import from_numpy_dtype
from ._registry import LEADING, LINEAR, Array, op
from ._rules import call, loops
from ._windows import Sizes, folded, output_size, padded, windows


def named(prefix: str, values: Sizes) -> str:
    return " ".join(f"{prefix}_{name}: {value}" for name, value in zip(("height", "width"), values, strict=True))


def check_numbers(kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> None:
    for what, prefix, values in (("kernel size", "kernel", kernel), ("dilation", "dilation", dilation), ("stride", "stride", stride)):
        if min(values) <= 0:
            raise RuntimeError(f"{what} should be greater than zero, but got {named(prefix, values)}")
    if min(padding) < 0:
        raise RuntimeError(f"padding should be non-negative, but got {named('pad', padding)}")


def check_dtype(name: str, input: Array) -> None:
    if input.dtype.kind in "iu":
        raise NotImplementedError(f"\"{name}\" not implemented for '{from_numpy_dtype(input.dtype).scalar_name}'\n  fix: x.float()")


@op(
    batch=LEADING, method=False, function=False, out=False, jvp=LINEAR, nodes="Im2ColBackward0",
    input=lambda g, input_shape, kernel_size, dilation, padding, stride: call(
        col2im, g, input_shape[-2:], kernel_size, dilation, padding, stride
    ),
)  # fmt: skip
def im2col(input: Array, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Array:
    """The blocks of images (N, C, H, W) as columns (N, C * KH * KW, L)."""
    places, plan = blocks_of(input.shape[-2:], kernel_size, dilation, padding, stride)
    check_dtype("im2col_out_cpu", input)
    lead, channels = input.shape[:-3], input.shape[-3]
    shape = (*lead, channels * math.prod(kernel_size), math.prod(places))
    if input.__class__ is not np.ndarray:
        return np.empty_like(input, order="C", shape=shape)
    if input.size:
        out = np.empty(shape, input.dtype)
        if loops("pixel").unfold.run(out, np.ascontiguousarray(input), plan, out.size // places[1], places[1]):
            return out
    images = padded(input.reshape(math.prod(lead), channels, *input.shape[-2:]), padding, padding)
    return np.array(windows(images, kernel_size, stride, dilation)).reshape(shape)


@lru_cache(maxsize=256)
def blocks_of(size: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> tuple[Sizes, Array]:
    """How many blocks images of a size have in each dimension, and what compiled code is told (see `_kernels/pixel_loops.py`)."""
    check_numbers(kernel, dilation, padding, stride)
    places = output_size(size, kernel, stride, padding, dilation)
    if min(places) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(size)}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
            f"calculated shape of the array of sliding blocks as {places}, but its components must be at least one."
        )
    return places, np.array([*size, *kernel, *places, *stride, *padding, *dilation], np.int64)


@op(
    batch=LEADING, method=False, function=False, out=False, jvp=LINEAR, nodes="Col2ImBackward0",
    input=lambda g, kernel_size, dilation, padding, stride: call(im2col, g, kernel_size, dilation, padding, stride),
)  # fmt: skip
def col2im(input: Array, output_size: Sizes, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Array:
    """Columns (N, C * KH * KW, L) as the blocks of images (N, C, H, W), added up where they overlap."""
    check_dtype("col2im_out_cpu", input)
    check_blocks(tuple(input.shape), output_size, kernel_size, dilation, padding, stride)
    lead, rows = input.shape[:-2], input.shape[-2]
    channels = rows // math.prod(kernel_size)
    if input.__class__ is not np.ndarray:
        return np.empty_like(input, order="C", shape=(*lead, channels, *output_size))
    if input.size:
        places, plan = blocks_of(output_size, kernel_size, dilation, padding, stride)
        out = np.empty((*lead, channels, *output_size), input.dtype)
        plane, taps = math.prod(output_size), math.prod(kernel_size)
        if loops("pixel").fold.run(out, np.ascontiguousarray(input), plan, out.size // plane, max(plane, taps * math.prod(places))):
            return out
    places = block_counts(output_size, kernel_size, dilation, padding, stride)
    cols = input.reshape(math.prod(lead), channels, *kernel_size, *places)
    images = folded(cols, output_size, stride, padding, dilation)
    return np.ascontiguousarray(images).reshape(*lead, channels, *output_size)


def block_counts(size: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Sizes:
    return tuple(max(0, n) for n in output_size(size, kernel, stride, padding, dilation))


@lru_cache(maxsize=256)
def check_blocks(shape: Sizes, size: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> None:
    check_numbers(kernel, dilation, padding, stride)
    rows, columns = shape[-2:]
    place = len(shape) - 2
    if rows % math.prod(kernel):
        raise RuntimeError(
            f"Expected size of input's dimension {place} to be divisible by the product of kernel_size, but got input.size({place})={rows} "
            f"and kernel_size={kernel}."
        )
    counts = block_counts(size, kernel, dilation, padding, stride)
    if math.prod(counts) != columns:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, expected size of "
            f"input's dimension {place + 1} to match the calculated number of sliding blocks {counts[0]} * {counts[1]} = "
            f"{math.prod(counts)}, but got input.size({place + 1})={columns}."
        )
