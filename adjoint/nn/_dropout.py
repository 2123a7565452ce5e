"""Dropout: elements, or whole channels, are set to zero at random in training. The random numbers are PyTorch's for the same seed."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from .. import _random
from .._creation import empty_like
from .._dtype import from_numpy_dtype
from .._kernels import random_loops as loops
from .._layer import levels
from .._layout import empty_like_array
from .._sampling import ones_and_zeros
from .._site import warn
from .._tensor import Tensor
from ..ops._primitives import opaque, primitive
from ..ops._registry import Array, Held, op

ALPHA = 1.7580993408473766  # minus the value that SELU tends to on the left


def check_probability(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _noise(input: Tensor, p: float, channels: bool) -> Tensor:
    """Zeros with probability `p`, ones elsewhere; with `channels`, one number for each channel of each sample."""
    if channels and input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    if levels():
        return ones_and_zeros(1 - p, input, tuple(input.shape[:2]) + (1,) * (input.ndim - 2) if channels else tuple(input.shape))
    if not channels:  # laid out as the input is, for that decides which element gets which random number
        return empty_like(input.detach()).bernoulli_(1 - p)
    return input.new_empty(input.shape[:2] + (1,) * (input.ndim - 2)).bernoulli_(1 - p)


# ---- dropout of elements: one op, whose mask is drawn on the way -------------------------------------------------------------------------

Kept = list[Any]  # what the forward drew, for the backward pass: the mask, and what it is multiplied by


@opaque("random.mask", meta=lambda x, p: np.empty_like(x, dtype=bool))
def random_mask(x: Array, p: float) -> Array:
    """True with probability `p`, for each element."""
    mask = empty_like_array(x, np.dtype(bool))  # laid out as the input is, for that decides which element gets which random number
    _random.bernoulli(mask, p)
    return mask


def masked_by_kernel(x: np.ndarray, mask: np.ndarray, scale: Any) -> np.ndarray | None:
    x, out = x if x.flags.c_contiguous else np.ascontiguousarray(x), np.empty(x.shape, x.dtype)
    return out if loops.masked.run(out, x, mask, float(scale), x.size, 1) else None


@primitive("random.masked", masked_by_kernel)
def masked(x: Array, mask: Array, scale: Any) -> Array:
    return x * (mask * scale)


@op("dropout", like=("input",), method=False, function=False, nodes="MulBackward0", input=lambda g, kept: masked(g, *kept),
    jvp=lambda input_t, kept: masked(input_t, *kept))  # fmt: skip
def dropped(input: Array, p: float, kept: Held) -> Array:
    if input.dtype.kind == "c":
        raise NotImplementedError(f"\"bernoulli_scalar_cpu_\" not implemented for '{from_numpy_dtype(input.dtype).scalar_name}'")
    if input.dtype.kind in "iub":
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {from_numpy_dtype(input.dtype).scalar_name}\n  fix: x.float()"
        )
    number = input.dtype.type
    kept[:] = mask, scale = random_mask(input, 1 - p), number(1) / number(1 - p)
    return masked(input, mask, scale)


# ---- dropout of channels ------------------------------------------------------------------------------------------------------------


def channels_by_kernel(x: np.ndarray, scale: np.ndarray, shift: np.ndarray | None) -> np.ndarray | None:
    out, size = np.empty(x.shape, x.dtype), x.size // scale.size
    return out if loops.scale_channels.run(out, np.ascontiguousarray(x), scale, shift, size, scale.size, size) else None


@primitive("random.scaled_channels", channels_by_kernel)
def scaled_channels(x: Array, scale: Array, shift: Array | None) -> Array:
    """Each channel of each sample times a number, plus another."""
    return x * scale if shift is None else x * scale + shift


def _plain(input: Tensor) -> bool:
    """Whether a kernel may scale the channels of an input."""
    data = input._data
    return data.__class__ is np.ndarray and data.dtype.char in "fd" and data.ndim >= 2 and not levels()


def _kept_channels(x: Array, p: float) -> Array:
    """One for the channels that are kept, and zero for the others."""
    kept = np.empty(x.shape[:2] + (1,) * (x.ndim - 2), x.dtype)
    _random.bernoulli(kept, 1 - p)
    return kept


def channel_op(name: str, node: str) -> Any:
    @op(name, like=("input",), method=False, function=False, out=False, nodes=node, input=lambda g, scale: scaled_channels(g, scale, None),
        jvp=lambda input_t, scale: input_t * scale)  # fmt: skip
    def scaled(input: Array, scale: Held, shift: Any) -> Array:
        return scaled_channels(input, scale, shift)

    return scaled


feature_dropped = channel_op("feature_dropout", "MulBackward0")
feature_alpha_dropped = channel_op("feature_alpha_dropout", "AddBackward0")


# ---- the functions ------------------------------------------------------------------------------------------------------------------


def _dropped(input: Tensor, p: float, training: bool, inplace: bool, channels: bool) -> Tensor:
    check_probability(p)
    if p == 0 or not training or input.numel() == 0:
        return input
    if p == 1:
        return input.mul_(0) if inplace else input * input.new_zeros(())
    if not channels and not inplace and not levels():
        return dropped(input, p, [])  # type: ignore[no-any-return]
    if channels and not inplace and _plain(input):
        kept = _kept_channels(input._data, p)
        kept *= kept.dtype.type(1) / kept.dtype.type(1 - p)
        return feature_dropped(input, kept, None)  # type: ignore[no-any-return]
    noise = _noise(input, p, channels).div_(1 - p)
    return input.mul_(noise) if inplace else input * noise


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set elements to zero with probability `p` and scale the others, so that the mean stays."""
    return _dropped(input, p, training, inplace, channels=False)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels to zero; the input has one spatial dimension."""
    check_probability(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d exists to provide channel-wise "
            "dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _dropped(input, p, training, inplace, channels=True) if input.ndim == 3 else _dropped_alone(input, p, training, inplace)


def _dropped_alone(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """The same for a sample without a batch."""
    batch = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _dropped(batch, p, training, inplace, channels=True)
    return result.squeeze_(0) if inplace else result.squeeze(0)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels to zero; the input has two spatial dimensions."""
    check_probability(p)
    if input.ndim not in (3, 4):
        warn(
            f"dropout2d: Received a {input.ndim}-D input to dropout2d, which is deprecated and will result in an error in a future "
            "release. To retain the behavior and silence this warning, please use dropout instead."
        )
    if input.ndim == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
            "interpreted as shape (N, C, L), where C is the channel dim. Please switch to using dropout1d instead."
        )
    return _dropped(input, p, training, inplace, channels=True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels to zero; the input has three spatial dimensions."""
    check_probability(p)
    if input.ndim not in (4, 5):
        warn(
            f"dropout3d: Received a {input.ndim}-D input to dropout3d, which is deprecated and will result in an error in a future "
            "release. To retain the behavior and silence this warning, please use dropout instead."
        )
    return _dropped(input, p, training, inplace, channels=True) if input.ndim == 5 else _dropped_alone(input, p, training, inplace)


def _alpha_dropped(input: Tensor, p: float, training: bool, inplace: bool, channels: bool) -> Tensor:
    check_probability(p)
    if p == 0 or not training or input.numel() == 0:
        return input
    if p == 1:
        return input.mul_(0) if inplace else input * input.new_zeros(())
    scale = 1 / sqrt((ALPHA * ALPHA * p + 1) * (1 - p))
    if channels and not inplace and _plain(input):
        kept = _kept_channels(input._data, p)
        return feature_alpha_dropped(input, kept * scale, (kept - 1) * (ALPHA * scale) + ALPHA * scale * p)  # type: ignore[no-any-return]
    noise = _noise(input, p, channels)
    shift = (noise - 1).mul_(ALPHA * scale).add_(ALPHA * scale * p)
    noise.mul_(scale)
    return input.mul_(noise).add_(shift) if inplace else input * noise + shift


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for networks with SELU: mean and variance stay."""
    return _alpha_dropped(input, p, training, inplace, channels=False)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """The same for whole channels."""
    return _alpha_dropped(input, p, training, inplace, channels=True)
