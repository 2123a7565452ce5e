"""Channels and pixels exchanged: `pixel_shuffle`, its inverse, and `channel_shuffle`."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ._primitives import loops, primitive
from ._registry import FOLDED, LEADING, LINEAR, Array, op
from ._rules import call, copied, in_order


def check_dims(name: str, input: Array) -> None:
    if len(input.shape) < 3:
        raise RuntimeError(f"{name} expects input to have at least 3 dimensions, but got input with {len(input.shape)} dimension(s)")


def moved(name: str, input: Array, shape: tuple[int, ...], r: int, height: int, width: int) -> Array | None:
    """By compiled code, from or to small images of a height and width."""
    if not input.size:
        return None
    out, row = np.empty(shape, input.dtype), r * width
    kernel = getattr(loops("pixel"), name)
    return out if kernel.run(out, np.ascontiguousarray(input), r, height, width, out.size // row, row) else None


@op(batch=LEADING, images=("input",), method=False, out=False, jvp=LINEAR, warns=False,
    input=lambda g, upscale_factor: call(pixel_unshuffle, g, upscale_factor))  # fmt: skip
def pixel_shuffle(input: Array, upscale_factor: int) -> Array:
    """Channels made into pixels: (*, C * r * r, H, W) becomes (*, C, H * r, W * r)."""
    r = upscale_factor
    check_dims("pixel_shuffle", input)
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *batch, channels, height, width = input.shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={channels} is not divisible by {r * r}"
        )
    return shuffled(input, (*batch, channels // (r * r), height * r, width * r), r, height, width)


@primitive("pixel.shuffled", partial(moved, "shuffle"))
def shuffled(input: Array, shape: tuple[int, ...], r: int, height: int, width: int) -> Array:
    *batch, channels, _, _ = input.shape
    parts = np.reshape(input, (*batch, channels // (r * r), r, r, height, width))
    n = len(batch)
    return np.reshape(in_order(np.transpose(parts, (*range(n + 1), n + 3, n + 1, n + 4, n + 2))), shape)


@op(batch=LEADING, images=("input",), method=False, out=False, jvp=LINEAR, warns=False,
    input=lambda g, input_shape, downscale_factor: g if 0 in input_shape else call(pixel_shuffle, g, downscale_factor))  # fmt: skip
def pixel_unshuffle(input: Array, downscale_factor: int) -> Array:
    """Pixels made into channels: the inverse of `pixel_shuffle`."""
    r = downscale_factor
    check_dims("pixel_unshuffle", input)
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *batch, channels, height, width = input.shape
    for what, place, size in (("height", -2, height), ("width", -1, width)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {what} to be divisible by downscale_factor, but input.size({place})={size} is not divisible "
                f"by {r}"
            )
    shape = (*batch, channels * r * r, height // r, width // r)
    if 0 in input.shape:  # of which PyTorch does not change the shape
        return copied(input)
    return unshuffled(input, shape, r, height // r, width // r)


@primitive("pixel.unshuffled", partial(moved, "unshuffle"))
def unshuffled(input: Array, shape: tuple[int, ...], r: int, height: int, width: int) -> Array:
    *batch, channels, _, _ = input.shape
    parts = np.reshape(input, (*batch, channels, height, r, width, r))
    n = len(batch)
    return np.reshape(in_order(np.transpose(parts, (*range(n + 1), n + 2, n + 4, n + 1, n + 3))), shape)


@op(batch=FOLDED, images=("input",), method=False, out=False, jvp=LINEAR, warns=False,
    input=lambda g, input_shape, groups: call(channel_shuffle, g, max(1, input_shape[1] // groups)))  # fmt: skip
def channel_shuffle(input: Array, groups: int) -> Array:
    """Channels of different groups mixed: the first of each group, then the second of each, and so on."""
    if len(input.shape) < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    channels = input.shape[1]
    if channels % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups.")
    return shuffled_channels(input, groups)


def channels_by_kernel(input: Array, groups: int) -> Array | None:
    if not input.size:
        return None
    (batch, channels), out = input.shape[:2], np.empty(input.shape, input.dtype)
    plane, kernel = math.prod(input.shape[2:]), loops("pixel").shuffle_channels
    return out if kernel.run(out, np.ascontiguousarray(input), groups, channels, plane, batch * channels, plane) else None


@primitive("pixel.shuffled_channels", channels_by_kernel)
def shuffled_channels(input: Array, groups: int) -> Array:
    batch, channels, *rest = input.shape
    plane = math.prod(rest)
    parts = np.reshape(input, (batch, groups, channels // groups, plane))
    return np.reshape(in_order(np.swapaxes(parts, 1, 2)), input.shape)
