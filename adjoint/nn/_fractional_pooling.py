"""Maxima over windows that begin at random distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._sampling import rand
from .._tensor import Tensor
from ..ops import pool as ops
from ..ops._pool_windows import INDEX
from ..ops._primitives import loops
from ..ops._registry import FOLDED, Array, op
from ._pooling import Numbers


def _fractional_starts(size: int, places: int, kernel: int, samples: Any) -> Any:
    """Where windows begin: steps of two sizes in an order that a random number in [0, 1) decides; one row for each of `samples`."""
    if places == 1:
        return np.full((*samples.shape, 1), size - kernel, INDEX)
    alpha = np.asarray((size - kernel) / (places - 1), samples.dtype)
    starts = np.trunc((np.arange(places, dtype=samples.dtype) + samples[..., None]) * alpha) - np.trunc(samples[..., None] * alpha)
    starts[..., -1] = size - kernel
    return starts.astype(INDEX)


def _numbers(name: str, argument: str, value: Numbers, count: int) -> tuple[int, ...]:
    sizes = (value,) * count if isinstance(value, int) else tuple(value)
    if len(sizes) != count:
        raise RuntimeError(f"{name}: {argument} must either be a single Int or tuple of {'three ' * (count == 3)}Ints")
    return sizes


def _check_samples(samples: Tensor, input: Tensor, count: int) -> None:
    """One number in [0, 1) for each dimension of each channel of each sample."""
    if samples.dtype != input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    if samples.shape[0] < input.shape[0]:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != input.shape[1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != count:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {count}; got {samples.shape[2]}.")


def _fractional(
    name: str, select: Any, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, return_indices: bool, samples: Any
) -> Any:
    count, ndim = int(name[-2]), input.ndim
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = _numbers(name, "output_ratio", output_ratio, count) if not isinstance(output_ratio, float) else (output_ratio,) * count
        output_size = tuple(int(n * ratio) for n, ratio in zip(input.shape[ndim - count :], ratios, strict=True))
    if samples is None and ndim < count + 1:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {-count - 1})")
    kernel, places = _numbers(name, "kernel_size", kernel_size, count), _numbers(name, "output_size", output_size, count)
    if ndim not in (count + 1, count + 2):
        raise RuntimeError(f"{name}(): Expected {count + 1}D or {count + 2}D tensor, but got: {list(input.shape)}")
    called, sizes = f"{name}{'_out' * (count == 3)}()", input.shape[ndim - count :]
    if 0 in input.shape[ndim - count - 1 :]:
        empty = input.shape.index(0, ndim - count - 1)
        raise RuntimeError(
            f"{called}: Expected input to have non-zero size for non-batch dimensions, but got{list(input.shape)} with dimension {empty} "
            "being empty."
        )
    for what, n, k, o in zip(("time", "height", "width")[3 - count :], sizes, kernel, places, strict=True):
        if o + k - 1 > n:
            raise RuntimeError(f"{called}: pool {what} {k} too large relative to input {what} {n}")
    if min(places) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(places)}: {[*input.shape[: ndim - count], *places]}")
    if min(kernel) <= 0:
        raise RuntimeError(f"{name}: kernel_size must be greater than zero, but got {kernel_size}")
    batch = input if ndim == count + 2 else input.unsqueeze(0)
    if samples is None:
        samples = rand(batch.shape[0], batch.shape[1], count, dtype=input.dtype)
    _check_samples(samples, batch, count)
    index = _search_windows(batch, samples, places, kernel)
    values = select(batch, index, count)
    if batch is not input:
        values, index = values.squeeze(0), index.squeeze(0)
    return (values, index) if return_indices else values


@op("fractional_places", method=False, function=False, differentiable=False, batch=FOLDED)
def _search_windows(input: Array, samples: Array, places: tuple[int, ...], kernel: tuple[int, ...]) -> Array:
    """Where the maximum over each of the windows is that the samples decide on."""
    # As in PyTorch, the first of two random numbers is for the last dimension, but the first of three for the first.
    order = (1, 0) if len(kernel) == 2 else (0, 1, 2)
    if 0 in places or not input.shape[0]:
        return np.empty_like(input, INDEX, order="C", shape=(*input.shape[:2], *places))
    samples = samples[: input.shape[0]]
    if (found := loops("fractional").places_of_maxima(input, samples, places, kernel, order)) is not None:
        return found
    lines = zip(input.shape[2:], places, kernel, order, strict=True)
    return _search_planes(input, [_fractional_starts(n, o, k, samples[..., which]) for n, o, k, which in lines], kernel)


def _search_planes(x: Any, starts: list[Any], kernel: tuple[int, ...]) -> Any:
    """Where the maximum over each window is, if windows begin elsewhere in each sample and channel."""
    count = len(kernel)
    lead = x.shape[:2]
    flat = x.reshape(*lead, math.prod(x.shape[2:]))
    best = found = None
    for tap in np.ndindex(*kernel):
        position: Any = np.zeros((), INDEX)
        for d, (begin, t) in enumerate(zip(starts, tap, strict=True)):
            shape = (*lead, *(1,) * d, begin.shape[-1], *(1,) * (count - 1 - d))
            position = position * x.shape[2 + d] + (begin + t).reshape(shape)
        values = np.take_along_axis(flat, position.reshape(*lead, math.prod(position.shape[2:])), -1).reshape(position.shape)
        if best is None:
            best, found = values, position
        else:
            better = (values > best) | np.isnan(values)
            best, found = np.where(better, values, best), np.where(better, position, found)
    return found


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Numbers,
    output_size: Numbers | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maximum over windows of the last two dimensions that begin at random distances."""
    select = ops.fractional_max_pool2d
    return _fractional(
        "fractional_max_pool2d", select, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Numbers,
    output_size: Numbers | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maximum over windows of the last three dimensions that begin at random distances."""
    select = ops.fractional_max_pool3d
    return _fractional(
        "fractional_max_pool3d", select, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )
