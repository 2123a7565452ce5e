"""Discrete Fourier transforms: of complex numbers, of real ones (half of the result suffices), and back to real ones.

Scale and direction are parameters, so that each transform is also what its derivative is made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._registry import ALONG, LINEAR, Array, op
from ._rules import call

HIDDEN: dict[str, Any] = {"method": False, "function": False}


def _c2c_rule(g: Array, dims: tuple[int, ...], scale: float, inverse: bool) -> Array:
    return call(fft_c2c, g, dims, scale, inverse)  # the matrix of the transform is symmetric


@op(batch=ALONG, nodes="FftC2CBackward0", jvp=LINEAR, input=_c2c_rule, **HIDDEN)
def fft_c2c(input: Array, dims: tuple[int, ...], scale: float, inverse: bool) -> Array:
    """The sums of `input[k] * exp(∓2πijk/n)`, times `scale`, over several dimensions."""
    if not dims:
        return input * scale
    transform = np.fft.ifftn(input, axes=dims, norm="forward") if inverse else np.fft.fftn(input, axes=dims)
    return (transform * scale).astype(input.dtype, copy=False)


def extended(g: Array, dim: int, size: int) -> Array:
    """Zeros after the end of a dimension."""
    missing = size - g.shape[dim]
    return np.concatenate([g, np.repeat(g[(slice(None),) * dim + (slice(0, 1),)] * 0, missing, axis=dim)], axis=dim)


def _r2c_rule(g: Array, input_shape: tuple[int, ...], dim: int, scale: float) -> Array:
    return np.real(call(fft_c2c, extended(g, dim, input_shape[dim]), (dim,), scale, True)) * 1


@op(batch=ALONG, nodes="FftR2CBackward0", holomorphic=False, jvp=LINEAR, input=_r2c_rule, **HIDDEN)
def fft_r2c(input: Array, dim: int, scale: float) -> Array:
    """The first half of the transform of real numbers; the other half mirrors it."""
    dtype = np.result_type(input.dtype, np.complex64)
    return (np.fft.rfft(input, axis=dim) * scale).astype(dtype, copy=False)


def _c2r_rule(g: Array, dim: int, scale: float, n: int) -> Array:
    half = call(fft_r2c, g, dim, scale)
    index = np.reshape(np.arange(half.shape[dim]), (-1,) + (1,) * (len(half.shape) - dim - 1))
    return np.where((index > 0) & (2 * index < n), half * 2, half)  # what has a mirror image counts for both


@op(batch=ALONG, nodes="FftC2RBackward0", holomorphic=False, jvp=LINEAR, input=_c2r_rule, **HIDDEN)
def fft_c2r(input: Array, dim: int, scale: float, n: int) -> Array:
    """The inverse transform, to `n` real numbers, of a first half."""
    dtype = np.dtype("float32") if input.dtype == np.complex64 else np.dtype("float64")
    return (np.fft.irfft(input, n, axis=dim, norm="forward") * scale).astype(dtype, copy=False)
