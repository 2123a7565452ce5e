"""The three convolutions on arrays; see Note [Three convolutions] in conv.py.

There are two ways. On NumPy the input is unfolded into columns, one for each place of the kernel, and matrices are multiplied.
Compiled code (`_direct.py`) does the same without making the columns. It is compiled once convolutions are a good part of the work.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ._registry import Array
from ._warm import KINDS, Heat
from ._windows import Sizes, folded, padded, windows

if TYPE_CHECKING:
    from ._direct import Line

SMALL = 2e4  # multiplications of one convolution below which NumPy is as fast
_warm = Heat(2e7)


def direct(x: Array, other: Array, multiplications: float) -> bool:
    """Whether to use compiled code."""
    return multiplications > SMALL and _warm(multiplications, x, other)


# ---- with NumPy ---------------------------------------------------------------------------------------------------------------------


def columns(x: Array, kernel: Sizes, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    """The input unfolded at the first `size` places: (N, groups, channels in a group x kernel, places)."""
    batch, channels = x.shape[:2]
    view = windows(padded(x, padding, padding), kernel, stride, dilation)[(..., *(slice(0, n) for n in size))]
    return view.reshape(batch, groups, channels // groups * math.prod(kernel), math.prod(size))


def rows(weight: Array, groups: int) -> Array:
    """The kernels as matrices: (groups, outputs in a group, channels in a group x kernel)."""
    return weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))


def add_bias(out: Array, bias: Array | None) -> Array:
    if bias is not None:
        out += bias.reshape(-1, *(1,) * (out.ndim - 2))
    return out


# ---- the output ---------------------------------------------------------------------------------------------------------------------


def correlated(
    x: Array, weight: Array, bias: Array | None, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    if direct(x, weight, math.prod(shape) * math.prod(weight.shape[1:])):
        return correlated_directly(x, weight, bias, shape, stride, padding, dilation, groups)
    cols = columns(x, weight.shape[2:], shape[2:], stride, padding, dilation, groups)
    return add_bias(np.matmul(rows(weight, groups), cols).reshape(shape), bias)


def taps_of(kernel: Sizes, padding: Sizes, dilation: Sizes) -> tuple[Line, ...]:
    """Along each dimension, the elements that a kernel reads, counted from where it stands."""
    return tuple(tuple(k * d - p for k in range(n)) for n, p, d in zip(kernel, padding, dilation, strict=True))


def correlated_directly(
    x: Array, weight: Array, bias: Array | None, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    from ._direct import Kernels, correlate, plan

    inner = math.prod(weight.shape[1:])
    taps = taps_of(weight.shape[2:], padding, dilation)
    layout = plan(x.shape[2:], shape[2:], taps, stride, weight.shape[1], KINDS[x.dtype.char])
    kernels = Kernels(np.ascontiguousarray(weight), weight.shape[0] // groups * inner, inner, in_order(inner))
    out = np.empty((shape[0], shape[1], math.prod(shape[2:])), x.dtype)
    correlate(np.ascontiguousarray(x), kernels, None if bias is None else np.ascontiguousarray(bias), out, layout, groups)
    return out.reshape(shape)


@lru_cache(maxsize=256)
def in_order(count: int) -> Array:
    return np.arange(count)


# ---- the gradient of the input ------------------------------------------------------------------------------------------------------


def scattered(
    x: Array, weight: Array, bias: Array | None, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    if direct(x, weight, math.prod(x.shape) * math.prod(weight.shape[1:])):
        return scattered_directly(x, weight, bias, shape, stride, padding, dilation, groups)
    batch, outputs = shape[:2]
    given = x.reshape(batch, groups, x.shape[1] // groups, math.prod(x.shape[2:]))
    cols = np.matmul(rows(weight, groups).mT, given)
    taps = cols.reshape(batch, outputs, *weight.shape[2:], *x.shape[2:])
    return add_bias(np.ascontiguousarray(folded(taps, shape[2:], stride, padding, dilation)), bias)


# Note [Phases of a transposed convolution]
# Element i of the result gets a contribution of element o of the input through kernel element k where o * stride + k * dilation - padding
# = i. So those i that leave one remainder by the stride (a phase) use the same elements of the kernel, and neighbours among them use
# neighbours of the input: each phase is an ordinary convolution with a part of the kernel.


@lru_cache(maxsize=256)
def phase_taps(phase: int, kernel: int, stride: int, padding: int, dilation: int) -> tuple[tuple[int, int], ...]:
    """Along one dimension, which elements of the kernel a phase uses, and what they read, counted from the element's own place."""
    found = ((k, divmod(phase + padding - k * dilation, stride)) for k in range(kernel))
    return tuple((k, quotient) for k, (quotient, remainder) in found if remainder == 0)


def scattered_directly(
    x: Array, weight: Array, bias: Array | None, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    from ._direct import Kernels, correlate, plan

    kernel, size = weight.shape[2:], shape[2:]
    x, weight = np.ascontiguousarray(x), np.ascontiguousarray(weight)
    bias = None if bias is None else np.ascontiguousarray(bias)
    inputs, outputs = weight.shape[0] // groups, weight.shape[1]
    volume = math.prod(kernel)
    result = np.empty(shape, x.dtype)
    for phases in np.ndindex(*stride):
        target = result[(slice(None), slice(None), *(slice(phase, None, s) for phase, s in zip(phases, stride, strict=True)))]
        if target.size == 0:
            continue
        lines = [phase_taps(*facts) for facts in zip(phases, kernel, stride, padding, dilation, strict=True)]
        if not all(lines):
            target[...] = 0 if bias is None else bias.reshape(-1, *(1,) * len(size))
            continue
        used = tuple(tuple(k for k, _ in line) for line in lines)
        reads = tuple(tuple(tap for _, tap in line) for line in lines)
        layout = plan(x.shape[2:], target.shape[2:], reads, (1,) * len(size), inputs, KINDS[x.dtype.char])
        kernels = Kernels(weight, inputs * outputs * volume, volume, part_of_kernel(inputs, outputs, kernel, used))
        whole = target.shape == shape
        out = (result if whole else np.empty(target.shape, x.dtype)).reshape(shape[0], shape[1], -1)
        correlate(x, kernels, bias, out, layout, groups)
        if not whole:
            target[...] = out.reshape(target.shape)
    return result


@lru_cache(maxsize=256)
def part_of_kernel(inputs: int, outputs: int, kernel: Sizes, used: tuple[Line, ...]) -> Array:
    """Where the columns of a transposed kernel are: for each input channel, the elements that are used."""
    volume = math.prod(kernel)
    chosen = np.arange(volume).reshape(kernel)[np.ix_(*used)].reshape(-1)
    return np.add.outer(np.arange(inputs) * (outputs * volume), chosen).reshape(-1)


# ---- the gradient of the weight -----------------------------------------------------------------------------------------------------


def products(x: Array, grad: Array, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    if direct(x, grad, math.prod(grad.shape) * math.prod(shape[1:])):
        from ._direct import gradient, plan

        layout = plan(x.shape[2:], grad.shape[2:], taps_of(shape[2:], padding, dilation), stride, shape[1], KINDS[x.dtype.char])
        return gradient(np.ascontiguousarray(x), np.ascontiguousarray(grad), layout, groups).reshape(shape)
    batch, outputs = grad.shape[:2]
    cols = columns(x, shape[2:], grad.shape[2:], stride, padding, dilation, groups)
    given = grad.reshape(batch, groups, outputs // groups, math.prod(grad.shape[2:]))
    # One product per group over batch and places together: the long sum is the matrix product's.
    left = np.moveaxis(given, 0, 2).reshape(groups, outputs // groups, batch * given.shape[3])
    right = np.moveaxis(cols, 0, 1).swapaxes(-1, -2).reshape(groups, batch * given.shape[3], cols.shape[2])
    return np.matmul(left, right).reshape(shape)
