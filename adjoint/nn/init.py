"""Initial values of parameters, in place. For the same seed the random ones are PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .._site import warn
from .._state import GRAD, swap_bits
from .._tensor import Tensor, wrap
from .parameter import is_lazy, refuse_uninitialized

Fill = Callable[..., Tensor]


def _unrecorded(fill: Fill) -> Fill:
    """Parameters require grad, but giving them their first values is not an operation to record."""

    @wraps(fill)
    def filled(*args: Any, **kwargs: Any) -> Tensor:
        if args and is_lazy(args[0]):
            refuse_uninitialized(fill.__name__)
        if args and "_fill_part" in vars(type(args[0])):  # of which each process has a part, filled as the whole would be
            return args[0]._fill_part(filled, *args[1:], **kwargs)  # type: ignore[no-any-return]
        bits = swap_bits(GRAD, 0)
        try:
            return fill(*args, **kwargs)
        finally:
            swap_bits(GRAD, bits)

    return filled


# ---- gains and fans -----------------------------------------------------------------------------------------------------------------

_GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4} | {
    f"conv{kind}{n}d": 1.0 for kind in ("", "_transpose") for n in (1, 2, 3)
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By what to scale weights so that a nonlinearity keeps the variance.

    >>> import adjoint as ad
    >>> ad.nn.init.calculate_gain("leaky_relu", 0.2)
    1.3867504905630728
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, int | float):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}; use one of {', '.join(sorted([*_GAINS, 'leaky_relu']))}")
    return _GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many numbers go into each output, and how many outputs each input has."""
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outputs, inputs, *kernel = tensor.shape
    return inputs * math.prod(kernel), outputs * math.prod(kernel)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


# ---- simple values ------------------------------------------------------------------------------------------------------------------


@_unrecorded
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Numbers between two bounds."""
    return tensor.uniform_(a, b, generator=generator)


@_unrecorded
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Normally distributed numbers."""
    return tensor.normal_(mean, std, generator=generator)


@_unrecorded
def constant_(tensor: Tensor, val: float) -> Tensor:
    """One number everywhere."""
    return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1.0)


@_unrecorded
def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return tensor.zero_()


@_unrecorded
def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(wrap(np.eye(*tensor.shape, dtype=tensor._data.dtype)))


@_unrecorded
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """The kernel of a convolution that passes on its input, as many channels as there are on both sides."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    outputs, inputs, *kernel = tensor.shape
    if outputs % groups:
        raise ValueError("dim 0 must be divisible by groups")
    values = np.zeros(tensor.shape, tensor._data.dtype)
    middle = tuple(size // 2 for size in kernel)
    for group in range(groups):
        for channel in range(min(outputs // groups, inputs)):
            values[(group * (outputs // groups) + channel, channel, *middle)] = 1
    return tensor.copy_(wrap(values))


# ---- by the sizes of layers ---------------------------------------------------------------------------------------------------------


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform numbers with variance `2 / (fan_in + fan_out)`, after Glorot."""
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal numbers with variance `2 / (fan_in + fan_out)`, after Glorot."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Uniform numbers whose variance suits a rectifier (with slope `a` on the left), after He."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Normal numbers whose variance suits a rectifier (with slope `a` on the left), after He."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


# ---- others -------------------------------------------------------------------------------------------------------------------------


@_unrecorded
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Normally distributed numbers, drawn again until they lie between two bounds."""
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.")
    share = (math.erf((b - mean) / std / math.sqrt(2)) - math.erf((a - mean) / std / math.sqrt(2))) / 2
    values = tensor._data
    fresh = wrap(np.empty_like(values))
    if share > 0.3:
        low, high = np.asarray((a, b), values.dtype)
        tensor.normal_(mean, std, generator=generator)
        while (outside := (values < low) | (values > high)).any():
            np.copyto(values, fresh.normal_(mean, std, generator=generator)._data, where=outside)
        return tensor
    # The interval has little of the distribution: draw uniformly, and keep a number as often as its density says.
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    tensor.uniform_(a, b, generator=generator)
    pending = np.ones(values.shape, bool)
    candidates = values.copy()
    while True:
        log_density = ((candidates - mean) / std) ** 2 * -0.5 - peak
        pending &= np.log(fresh.uniform_(generator=generator)._data) > log_density
        if not pending.any():
            return tensor
        candidates = fresh.uniform_(a, b, generator=generator)._data.copy()
        np.copyto(values, candidates, where=pending)


@_unrecorded
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """A matrix with orthogonal rows or columns, whichever are fewer; further dimensions count as columns."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)._data
    q, r = np.linalg.qr(drawn.T if rows < columns else drawn)
    q = q * np.sign(np.diagonal(r))  # without the signs the distribution would not be uniform
    return tensor.copy_(wrap(np.reshape(q.T if rows < columns else q, tensor.shape))).mul_(gain)


@_unrecorded
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normally distributed numbers, with a share `sparsity` of zeros in each column."""
    from .._sampling import randperm

    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor._data[randperm(rows)._data[: math.ceil(sparsity * rows)], column] = 0
    return tensor


# ---- old names ----------------------------------------------------------------------------------------------------------------------


def _deprecated(fill: Fill) -> Fill:
    new = fill.__name__

    def renamed(*args: Any, **kwargs: Any) -> Tensor:
        warn(f"`nn.init.{new[:-1]}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning)
        return fill(*args, **kwargs)

    renamed.__name__ = renamed.__qualname__ = new[:-1]
    renamed.__doc__ = f"The old name of `{new}`."
    return renamed


constant = _deprecated(constant_)
dirac = _deprecated(dirac_)
eye = _deprecated(eye_)
kaiming_normal = _deprecated(kaiming_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
normal = _deprecated(normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
uniform = _deprecated(uniform_)
xavier_normal = _deprecated(xavier_normal_)
xavier_uniform = _deprecated(xavier_uniform_)


# PyTorch's names for these, which libraries import.
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_, _no_grad_fill_ = uniform_, normal_, trunc_normal_, constant_
