"""The kernels of the primitives in `_norms.py`: normalization of arrays. Each function returns None where no kernel serves.

The forward ones put what they found out on the way, means and factors, into the list `kept`; the backward ones need it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._kernels import norm_loops as loops
from .._kernels.pool import get_num_threads
from .._layout import as_images, by_pixels, suggests_channels_last
from ..ops._precision import compute_dtype
from ..ops._rules import cast

LEAST = 64  # channels that are worth a block of their own
Array = Any
Kept = list[Any]
Grads = tuple[Array | None, ...]  # of input, weight and bias


def ones_unless(weight: Array | None, size: int, dtype: np.dtype[Any]) -> Array:
    return np.ones(size, dtype) if weight is None else weight


def zeros_unless(bias: Array | None, size: int, dtype: np.dtype[Any]) -> Array:
    return np.zeros(size, dtype) if bias is None else bias


def have_shape(shape: tuple[int, ...], weight: Array | None, bias: Array | None) -> bool:
    return (weight is None or weight.shape == shape) and (bias is None or bias.shape == shape)


def totalled(parts: Array, shape: tuple[int, ...]) -> Array:
    """The sum of parts, which lie along the first axis."""
    return (parts[0] if len(parts) == 1 else np.add.reduce(parts, 0)).reshape(shape)


# ---- rows ---------------------------------------------------------------------------------------------------------------------------


def rows(
    x: Array, shape: tuple[int, ...], weight: Array | None, bias: Array | None, eps: float, kept: Kept, centred: int = 1
) -> Array | None:
    """Layer norm over the last axes, which have this shape; not `centred`, rms norm."""
    if not x.size or x.shape[-len(shape) :] != shape or not have_shape(shape, weight, bias):
        return None
    x, dtype, size = np.ascontiguousarray(x), x.dtype, math.prod(shape)
    count = x.size // size
    out, stats = np.empty(x.shape, dtype), np.empty(2 * count, compute_dtype(dtype))
    if bias is not None:
        weight = ones_unless(weight, size, dtype)
    if not loops.norm_rows.run(out, stats, x, weight, bias, eps, centred, size, count, size):
        return None
    kept.append(stats)
    return out


def rows_back(
    g: Array, x: Array, weight: Array | None, shape: tuple[int, ...], eps: float, kept: Kept, needs: tuple[bool, ...], centred: int = 1
) -> Grads | None:
    if not kept:
        return None
    g, x, dtype, size, affine = np.ascontiguousarray(g), np.ascontiguousarray(x), x.dtype, math.prod(shape), any(needs[1:])
    stats = kept[0]
    count = stats.size // 2
    blocks = -(-count // loops.ROWS)
    grad, sums = np.empty(x.shape, dtype), [np.empty((blocks, size), stats.dtype) for _ in range(2)] if affine else [None, None]
    weight = ones_unless(weight, size, dtype)
    work = size * min(count, loops.ROWS)
    if not loops.norm_rows_back.run(grad, *sums, g, x, weight, stats, centred, size, count, blocks, work):
        return None
    return (grad, *(cast(totalled(parts, shape), dtype) for parts in sums)) if affine else (grad, None, None)


# ---- groups of channels -------------------------------------------------------------------------------------------------------------


def groups(x: Array, count: int, weight: Array | None, bias: Array | None, eps: float, kept: Kept) -> Array | None:
    if x.ndim < 2 or not x.size or count <= 0 or x.shape[1] % count or not have_shape(x.shape[1:2], weight, bias):
        return None
    x, dtype, (samples, channels) = np.ascontiguousarray(x), x.dtype, x.shape[:2]
    plane, units = x.size // (samples * channels), samples * count
    out, stats = np.empty(x.shape, dtype), np.empty(2 * units, dtype)
    weight, bias = ones_unless(weight, channels, dtype), zeros_unless(bias, channels, dtype)
    per = channels // count
    if not loops.norm_groups.run(out, stats, x, weight, bias, eps, count, per, plane, units, per * plane):
        return None
    kept.append(stats)
    return out


def groups_back(
    g: Array, x: Array, weight: Array | None, count: int, eps: float, kept: Kept, needs: tuple[bool, ...]
) -> Grads | None:
    if not kept:
        return None
    g, x, dtype, (samples, channels) = np.ascontiguousarray(g), np.ascontiguousarray(x), x.dtype, x.shape[:2]
    plane, per = x.size // (samples * channels), channels // count
    grad, sums = np.empty(x.shape, dtype), (np.empty((samples, channels), dtype), np.empty((samples, channels), dtype))
    weight = ones_unless(weight, channels, dtype)
    if not loops.norm_groups_back.run(grad, *sums, g, x, weight, kept[0], count, per, plane, samples * count, per * plane):
        return None
    return grad, totalled(sums[0], (channels,)), totalled(sums[1], (channels,))


# ---- channels -----------------------------------------------------------------------------------------------------------------------


def channels(
    x: Array, weight: Array | None, bias: Array | None, eps: float, kept: Kept, given: tuple[Array, Array] | None = None
) -> Array | None:
    """Batch norm, by the statistics of the batch or by a mean and a variance for each channel that are given."""
    if not x.size:
        return None
    if not x.flags.c_contiguous and suggests_channels_last(x):  # every pixel is a sample
        pixels = by_pixels(x)
        normal = channels(pixels.reshape(-1, x.shape[1]), weight, bias, eps, kept, given)
        return None if normal is None else as_images(normal.reshape(pixels.shape))
    x, dtype, (samples, count) = np.ascontiguousarray(x), x.dtype, x.shape[:2]
    plane, out, factors = x.size // (samples * count), np.empty(x.shape, dtype), np.empty(count, dtype)
    means, variances = given or (np.empty(count, dtype), np.empty(count, dtype))
    numbers = out, means, variances, factors, x, weight, bias, eps, int(given is not None), samples, count
    if plane == 1:
        done = loops.norm_columns.run(*numbers, *blocks_of_columns(samples, count))
    else:
        done = loops.norm_channels.run(*numbers, plane, count, samples * plane)
    if not done:
        return None
    kept[:] = means, factors, variances
    return out


def channels_back(
    g: Array, x: Array, weight: Array | None, means: Array, factors: Array, eps: float = 0.0, given: int = 0
) -> Grads | None:
    """If statistics were `given`, variances stand for `factors`."""
    if not g.size:
        return None
    if not x.flags.c_contiguous and suggests_channels_last(x):
        pixels = by_pixels(x)
        rows = pixels.reshape(-1, x.shape[1])
        found: Any = channels_back(by_pixels(g).reshape(rows.shape), rows, weight, means, factors, eps, given)
        return None if found is None else (as_images(found[0].reshape(pixels.shape)), *found[1:])
    g, x, dtype, (samples, count) = np.ascontiguousarray(g), np.ascontiguousarray(x), x.dtype, x.shape[:2]
    plane, grad = x.size // (samples * count), np.empty(x.shape, dtype)
    weight_grad, bias_grad = np.empty(count, dtype), np.empty(count, dtype)
    numbers = grad, weight_grad, bias_grad, g, x, weight, means, factors, eps, given, samples, count
    if plane == 1:
        done = loops.norm_columns_back.run(*numbers, *blocks_of_columns(samples, count))
    else:
        done = loops.norm_channels_back.run(*numbers, plane, count, samples * plane)
    return (grad, weight_grad, bias_grad) if done else None


def inference_back(
    g: Array, x: Array, mean: Array, variance: Array, weight: Array | None, eps: float, needs: tuple[bool, ...]
) -> Grads | None:
    found: Any = channels_back(g, x, weight, mean, variance, eps, 1)
    return None if found is None else (found[0], None, None, *found[1:])


def blocks_of_columns(samples: int, count: int) -> tuple[int, int, int]:
    """How many channels a block has, how many blocks there are, and the elements of one. Few and wide ones are read faster; no number
    depends on it."""
    width = count
    if count > LEAST:
        width = min(loops.COLUMNS, -(-count // (get_num_threads() * LEAST)) * LEAST)
    return width, -(-count // width), samples * width


def move_statistics(mean: Array, variance: Array, kept: Kept, momentum: float, unbiased: float) -> bool:
    """Let the running statistics follow those that `channels` left; False where that is up to the caller."""
    if not kept:
        return False
    means, _, variances = kept
    return bool(loops.move_statistics.run(mean, variance, means, variances, momentum, unbiased, means.size, 1))
