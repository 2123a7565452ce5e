"""`unfold` takes blocks out of images and `fold` adds blocks up to images; they are each other's transpose."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from .._dtype import from_numpy_dtype
from ._primitives import loops
from ._registry import LEADING, LINEAR, Array, op
from ._rules import call
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
    blocks = blocks_of(input.shape[-2:], kernel_size, dilation, padding, stride)
    check_dtype("im2col_out_cpu", input)
    if input.__class__ is not np.ndarray:
        shape = (*input.shape[:-3], input.shape[-3] * blocks.volume, blocks.count)
        return np.empty_like(input, order="C", shape=shape)
    return blocks.taken(input)


class Blocks:
    """Blocks of images of some size."""

    def __init__(self, size: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> None:
        check_numbers(kernel, dilation, padding, stride)
        self.size, self.kernel, self.dilation, self.padding, self.stride = size, kernel, dilation, padding, stride
        self.places = places = output_size(size, kernel, stride, padding, dilation)
        if min(places) < 1:
            raise RuntimeError(
                f"Given input with spatial size {tuple(size)}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
                f"calculated shape of the array of sliding blocks as {places}, but its components must be at least one."
            )
        self.volume, self.count, self.plane = math.prod(kernel), math.prod(places), math.prod(size)
        self.plan = np.array([*size, *kernel, *places, *stride, *padding, *dilation], np.int64)  # see `_kernels/pixel_loops.py`

    def taken(self, images: Array) -> Array:
        """The blocks as columns."""
        *lead, channels, _, _ = images.shape
        shape = (*lead, channels * self.volume, self.count)
        if images.size:
            out = np.empty(shape, images.dtype)
            if loops("pixel").unfold.run(out, np.ascontiguousarray(images), self.plan, out.size // self.count, self.count):
                return out
        samples = padded(images.reshape(math.prod(lead), channels, *self.size), self.padding, self.padding)
        return np.array(windows(samples, self.kernel, self.stride, self.dilation)).reshape(shape)

    def added_up(self, columns: Array) -> Array:
        """Images, from columns."""
        *lead, rows, _ = columns.shape
        channels = rows // self.volume
        if columns.size:
            out = np.empty((*lead, channels, *self.size), columns.dtype)
            work = max(self.plane, self.volume * self.count)
            if loops("pixel").fold.run(out, np.ascontiguousarray(columns), self.plan, out.size // self.plane, work):
                return out
        cols = columns.reshape(math.prod(lead), channels, *self.kernel, *self.places)
        images = folded(cols, self.size, self.stride, self.padding, self.dilation)
        return np.ascontiguousarray(images).reshape(*lead, channels, *self.size)


blocks_of = lru_cache(maxsize=256)(Blocks)


@op(
    batch=LEADING, method=False, function=False, out=False, jvp=LINEAR, nodes="Col2ImBackward0",
    input=lambda g, kernel_size, dilation, padding, stride: call(im2col, g, kernel_size, dilation, padding, stride),
)  # fmt: skip
def col2im(input: Array, output_size: Sizes, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Array:
    """Columns (N, C * KH * KW, L) as the blocks of images (N, C, H, W), added up where they overlap."""
    check_dtype("col2im_out_cpu", input)
    check_blocks(tuple(input.shape), output_size, kernel_size, dilation, padding, stride)
    shape = (*input.shape[:-2], input.shape[-2] // math.prod(kernel_size), *output_size)
    if input.__class__ is not np.ndarray:
        return np.empty_like(input, order="C", shape=shape)
    if not input.shape[-1]:
        return np.zeros(shape, input.dtype)
    return blocks_of(output_size, kernel_size, dilation, padding, stride).added_up(input)


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
