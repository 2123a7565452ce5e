"""`unfold` takes blocks out of images and `fold` adds blocks up to images; they are each other's transpose."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from .._dtype import from_numpy_dtype
from ._primitives import loops, primitive
from ._registry import LEADING, LINEAR, Array, op
from ._rules import call, contiguous, in_order
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
    return unfolded(input, blocks)


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

    def unfolded(self, images: Array) -> Sizes:
        """The shape of the columns of images."""
        return (*images.shape[:-3], images.shape[-3] * self.volume, self.count)

    def folded(self, columns: Array) -> Sizes:
        """The shape of the images that columns are of."""
        return (*columns.shape[:-2], columns.shape[-2] // self.volume, *self.size)


blocks_of = lru_cache(maxsize=256)(Blocks)


def unfolded_by_kernel(images: Array, blocks: Blocks) -> Array | None:
    out = np.empty(blocks.unfolded(images), images.dtype)
    units = out.size // blocks.count
    return out if units and loops("pixel").unfold.run(out, np.ascontiguousarray(images), blocks.plan, units, blocks.count) else None


@primitive("pixel.unfolded", unfolded_by_kernel, meta=lambda x, blocks: np.empty_like(x, order="C", shape=blocks.unfolded(x)))
def unfolded(images: Array, blocks: Blocks) -> Array:
    """The blocks of images as columns."""
    samples = images.reshape(math.prod(images.shape[:-3]), images.shape[-3], *blocks.size)
    view = windows(padded(samples, blocks.padding, blocks.padding), blocks.kernel, blocks.stride, blocks.dilation)
    return in_order(view).reshape(blocks.unfolded(images))


def added_up_by_kernel(columns: Array, blocks: Blocks) -> Array | None:
    out, work = np.empty(blocks.folded(columns), columns.dtype), max(blocks.plane, blocks.volume * blocks.count)
    done = columns.size and loops("pixel").fold.run(out, np.ascontiguousarray(columns), blocks.plan, out.size // blocks.plane, work)
    return out if done else None


@primitive("pixel.added_up", added_up_by_kernel, meta=lambda x, blocks: np.empty_like(x, order="C", shape=blocks.folded(x)))
def added_up(columns: Array, blocks: Blocks) -> Array:
    """Images, from columns."""
    *lead, channels, _, _ = shape = blocks.folded(columns)
    cols = columns.reshape(math.prod(lead), channels, *blocks.kernel, *blocks.places)
    return contiguous(folded(cols, blocks.size, blocks.stride, blocks.padding, blocks.dilation)).reshape(shape)


@op(
    batch=LEADING, method=False, function=False, out=False, jvp=LINEAR, nodes="Col2ImBackward0",
    input=lambda g, kernel_size, dilation, padding, stride: call(im2col, g, kernel_size, dilation, padding, stride),
)  # fmt: skip
def col2im(input: Array, output_size: Sizes, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Array:
    """Columns (N, C * KH * KW, L) as the blocks of images (N, C, H, W), added up where they overlap."""
    check_dtype("col2im_out_cpu", input)
    check_blocks(tuple(input.shape), output_size, kernel_size, dilation, padding, stride)
    if not input.shape[-1]:
        return np.zeros_like(input, order="C", shape=(*input.shape[:-2], input.shape[-2] // math.prod(kernel_size), *output_size))
    return added_up(input, blocks_of(output_size, kernel_size, dilation, padding, stride))


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
