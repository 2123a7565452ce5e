"""Sliding windows over the last dimensions of an array: what convolution, pooling and `unfold` see of their input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ._registry import Array

Sizes = tuple[int, ...]


def expanded(value: int | Sequence[int], count: int, name: str, what: str = "convolution") -> Sizes:
    """One number for all spatial dimensions, or one for each."""
    sizes = (value,) * count if isinstance(value, int) else tuple(value)
    if len(sizes) == 1:
        sizes *= count
    if len(sizes) != count:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {count} values to match the {what} dimensions, but got "
            f"{name}={list(sizes)}"
        )
    return sizes


def output_size(size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Sizes:
    """How many places a window has along each dimension."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
    )


def padded(x: Array, before: Sizes, after: Sizes, value: float = 0) -> Array:
    """`x` with a number around its last dimensions."""
    if not any(before) and not any(after):
        return x
    lead = len(x.shape) - len(before)
    sides = list(zip(x.shape[lead:], before, after, strict=True))
    out = np.full_like(x, value, order="C", shape=(*x.shape[:lead], *(b + n + a for n, b, a in sides)))
    inside = tuple(slice(b, b + n) for n, b, _ in sides)
    out[(slice(None),) * lead + inside] = x
    return out


def windows(x: Array, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Array:
    """A view of (N, C, spatial...) as (N, C, kernel..., places...)."""
    places = output_size(x.shape[2:], kernel, stride, (0,) * len(kernel), dilation)
    steps = x.strides[2:]
    strides = (
        x.strides[:2]
        + tuple(step * d for step, d in zip(steps, dilation, strict=True))
        + tuple(step * s for step, s in zip(steps, stride, strict=True))
    )
    return as_strided(x, x.shape[:2] + kernel + places, strides, writeable=False)


def folded(cols: Array, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
    """The reverse of taking windows: (N, C, kernel..., places...) added up where they came from, giving (N, C, *size)."""
    count = len(size)
    kernel, places = cols.shape[2 : 2 + count], cols.shape[2 + count :]
    total = np.zeros(cols.shape[:2] + tuple(n + 2 * p for n, p in zip(size, padding, strict=True)), cols.dtype)
    for tap in np.ndindex(*kernel):
        target = tuple(
            slice(k * d, k * d + (o - 1) * s + 1, s) for k, d, o, s in zip(tap, dilation, places, stride, strict=True)
        )
        total[(slice(None), slice(None), *target)] += cols[(slice(None), slice(None), *tap)]
    return total[(slice(None), slice(None), *(slice(p, p + n) for n, p in zip(size, padding, strict=True)))]
