"""The three convolutions on arrays, see Note [Three convolutions] in conv.py.

All of them unfold the input into columns, one for each place of the kernel, and multiply matrices.
"""

from __future__ import annotations

import math

import numpy as np

from ._registry import Array
from ._windows import Sizes, folded, padded, windows


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


def correlated(
    x: Array, weight: Array, bias: Array | None, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    cols = columns(x, weight.shape[2:], shape[2:], stride, padding, dilation, groups)
    return add_bias(np.matmul(rows(weight, groups), cols).reshape(shape), bias)


def scattered(
    x: Array, weight: Array, bias: Array | None, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    batch, outputs = shape[:2]
    given = x.reshape(batch, groups, x.shape[1] // groups, math.prod(x.shape[2:]))
    cols = np.matmul(rows(weight, groups).mT, given)
    taps = cols.reshape(batch, outputs, *weight.shape[2:], *x.shape[2:])
    return add_bias(np.ascontiguousarray(folded(taps, shape[2:], stride, padding, dilation)), bias)


def products(x: Array, grad: Array, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    batch, outputs = grad.shape[:2]
    cols = columns(x, shape[2:], grad.shape[2:], stride, padding, dilation, groups)
    given = grad.reshape(batch, groups, outputs // groups, math.prod(grad.shape[2:]))
    # One product per group over batch and places together: the long sum is the matrix product's.
    left = np.moveaxis(given, 0, 2).reshape(groups, outputs // groups, batch * given.shape[3])
    right = np.moveaxis(cols, 0, 1).swapaxes(-1, -2).reshape(groups, batch * given.shape[3], cols.shape[2])
    return np.matmul(left, right).reshape(shape)
