"""Discrete Fourier transforms: of complex numbers, of real ones (half of the result suffices), and back to real ones.

Scale and direction are parameters, so that each transform is also what its derivative is made of.
"""

from __future__ import annotations

import math
from functools import cache, wraps
from typing import Any

import numpy as np

from .._quiet import mute, unmute
from ._operands import refuse
from ._registry import ALONG, LINEAR, Array, op
from ._rules import call

HIDDEN: dict[str, Any] = {"method": False, "function": False, "warns": False}


@cache
def kernels() -> Any:
    """Transforms that are compiled; they give None where NumPy has to compute."""
    from .._kernels import fourier

    return fourier


def _c2c_rule(g: Array, dims: tuple[int, ...], scale: float, inverse: bool) -> Array:
    return call(fft_c2c, g, dims, scale, not inverse)  # what conjugate transposition makes of the matrix of the transform


@op(batch=ALONG, nodes="FftC2CBackward0", converts=True, holomorphic=False, jvp=LINEAR, input=_c2c_rule, **HIDDEN)
def fft_c2c(input: Array, dims: tuple[int, ...], scale: float, inverse: bool) -> Array:
    """The sums of `input[k] * exp(∓2πijk/n)`, times `scale`, over several dimensions."""
    if input.__class__ is np.ndarray and dims and (found := kernels().transform(input, dims, scale, inverse)) is not None:
        return found
    return complex_by_numpy(input, dims, scale, inverse)


def muted(fn: Any) -> Any:
    """NumPy's transforms warn of infinite numbers."""

    @wraps(fn)
    def run(*args: Any) -> Any:
        token = mute()
        try:
            return fn(*args)
        finally:
            unmute(token)

    return run


@muted
def complex_by_numpy(input: Array, dims: tuple[int, ...], scale: float, inverse: bool) -> Array:
    if not dims:
        return input * scale
    norm, rest = scaling(scale, math.prod([input.shape[dim] for dim in dims]), inverse)
    if len(dims) == 1:
        transform = (np.fft.ifft if inverse else np.fft.fft)(input, None, dims[0], norm)
    else:
        transform = (np.fft.ifftn if inverse else np.fft.fftn)(input, axes=dims, norm=norm)
    return scaled(transform, rest, input.dtype)


def scaling(scale: float, size: int, inverse: bool) -> tuple[Any, float]:
    """How NumPy calls a scale, which costs nothing then; and what is left to multiply with."""
    if scale == 1:
        return ("forward" if inverse else "backward"), 1.0
    if scale == 1 / size:
        return ("backward" if inverse else "forward"), 1.0
    return ("ortho", 1.0) if scale == 1 / math.sqrt(size) else ("forward" if inverse else "backward", scale)


def scaled(transform: Array, scale: float, dtype: np.dtype[Any]) -> Array:
    return (transform if scale == 1 else transform * scale).astype(dtype, copy=False)


def extended(g: Array, dim: int, size: int) -> Array:
    """Zeros after the end of a dimension."""
    missing = size - g.shape[dim]
    return np.concatenate([g, np.repeat(g[(slice(None),) * dim + (slice(0, 1),)] * 0, missing, axis=dim)], axis=dim)


def _r2c_rule(g: Array, input_shape: tuple[int, ...], dim: int, scale: float) -> Array:
    return np.real(call(fft_c2c, extended(g, dim, input_shape[dim]), (dim,), scale, True)) * 1


@op(batch=ALONG, nodes="FftR2CBackward0", holomorphic=False, check=refuse("c", "fft_r2c"), jvp=LINEAR, input=_r2c_rule, **HIDDEN)
def fft_r2c(input: Array, dim: int, scale: float) -> Array:
    """The first half of the transform of real numbers; the other half mirrors it."""
    if input.__class__ is np.ndarray and (found := kernels().from_real(input, dim, scale)) is not None:
        return found
    return half_by_numpy(input, dim, scale)


@muted
def half_by_numpy(input: Array, dim: int, scale: float) -> Array:
    dtype = np.dtype(np.complex64 if input.dtype.itemsize <= 4 else np.complex128)
    norm, rest = scaling(scale, input.shape[dim], False)
    return scaled(np.fft.rfft(input, None, dim, norm), rest, dtype)


def _c2r_rule(g: Array, dim: int, scale: float, n: int) -> Array:
    half = call(fft_r2c, g, dim, scale)
    index = np.reshape(np.arange(half.shape[dim]), (-1,) + (1,) * (len(half.shape) - dim - 1))
    return np.where((index > 0) & (2 * index < n), half * 2, half)  # what has a mirror image counts for both


@op(batch=ALONG, nodes="FftC2RBackward0", holomorphic=False, jvp=LINEAR, input=_c2r_rule, **HIDDEN)
def fft_c2r(input: Array, dim: int, scale: float, n: int) -> Array:
    """The inverse transform, to `n` real numbers, of a first half."""
    if input.__class__ is np.ndarray and (found := kernels().to_real(input, dim, n, scale)) is not None:
        return found
    return real_by_numpy(input, dim, scale, n)


@muted
def real_by_numpy(input: Array, dim: int, scale: float, n: int) -> Array:
    dtype = np.dtype("float32") if input.dtype == np.complex64 else np.dtype("float64")
    norm, rest = scaling(scale, n, True)
    return scaled(np.fft.irfft(input, n, dim, norm), rest, dtype)
