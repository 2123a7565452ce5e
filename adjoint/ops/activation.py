"""Activation functions. Their gradients at kinks are PyTorch's.

A rule that computes an exponential for one side of a kink gives it a harmless argument on the other side: otherwise `0 * inf` would make
the second derivative NaN there.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ._operands import inplace_of, number_like, refuse, zero
from ._primitives import loops
from ._registry import FOUND, Array, composite, elementwise, op
from ._rules import call, wrap_dim
from .arithmetic import div, sub
from .piecewise import abs as absolute
from .special import numerics
from .transcendental import sigmoid, tanh

HIDDEN: dict[str, Any] = {"method": False, "function": False}  # PyTorch has the name in torch.nn.functional only
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def activation(name: str, impl: Any, rule: Any, refused: str = "biuc", **options: Any) -> Any:
    """An op on floating-point tensors only."""
    return elementwise(name, impl, scalars=False, check=refuse(refused, name), input=rule, **options)


# ---- straight lines -----------------------------------------------------------------------------------------------------------------


def check_relu(input: Array) -> None:
    refuse("b", "relu", "Boolean inputs not supported for relu", RuntimeError)(input)
    refuse("c", "relu", "clamp is not supported for complex types")(input)


def _relu(input: Array) -> Array:
    """The element where it is positive, else 0. The gradient at 0 is 0."""
    return np.maximum(input, 0)


def _threshold_backward(grad_output: Array, input: Array, threshold: float) -> Array:
    """The gradient where the input is above the threshold, else 0."""
    return np.where(input <= threshold, 0, grad_output)


threshold_backward: Any = elementwise(  # an op: see "rules that are ops" in transcendental.py
    "threshold_backward", _threshold_backward, scalars=False, inplace=False, check=refuse("c", "threshold_cpu"), **HIDDEN,
    grad_output=lambda g, input, threshold: call(threshold_backward, g, input, threshold),
    input=zero,  # and yet it depends on the input: the derivative of a derivative is zero, not missing
)  # fmt: skip
relu = elementwise("relu", _relu, scalars=False, warns=False, check=check_relu, input=lambda g, out: call(threshold_backward, g, out, 0))


def _leaky_relu(input: Array, negative_slope: float = 0.01) -> Array:
    return np.where(input > 0, input, input * negative_slope)


leaky_relu = activation(
    "leaky_relu", _leaky_relu, lambda g, input, negative_slope: np.where(input > 0, g, g * negative_slope), **HIDDEN
)


def _prelu_kernel(input: Array, weight: Array) -> Array:
    return np.where(input > 0, input, input * weight)


prelu_kernel = elementwise(
    "prelu_kernel", _prelu_kernel, nodes="PreluKernelBackward0", scalars=False, inplace=False, check=refuse("biuc", "prelu"), **HIDDEN,
    input=lambda g, input, weight: np.where(input > 0, g, g * weight),
    weight=lambda g, input: np.where(input > 0, 0, g * input),
)  # fmt: skip


@composite()
def prelu(input: Array, weight: Array) -> Array:
    """`input` where it is positive, `weight * input` elsewhere, with one weight for all or one for each channel (dimension 1)."""
    shape, given = input._data.shape, weight._data.shape
    count, channels = math.prod(given), shape[1] if len(shape) > 1 else 1
    if len(given) > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(given)}")
    if not shape and count != 1:
        raise RuntimeError("Not allow zero-dim input tensor; with several weights it needs a dimension of channels")
    if count not in (1, channels):
        raise RuntimeError(
            "Mismatch of parameter numbers and input channel size. "
            f"Found parameter numbers = {count} and channel size = {channels}."
        )
    if input.dtype != weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype.scalar_name} and {weight.dtype.scalar_name}"
            "\n  fix: prelu(x, weight.to(x.dtype))"
        )
    if len(given) <= len(shape) and (count == 1 or len(shape) == 2):  # it broadcasts as it is
        return prelu_kernel(input, weight)
    return prelu_kernel(input, weight.view((1, count, *(1,) * (len(shape) - 2)) if shape else ()))


def check_hardtanh(input: Array) -> None:
    refuse("b", "hardtanh", "Bool inputs not supported for hardtanh", RuntimeError)(input)
    refuse("c", "hardtanh", "clamp is not supported for complex types")(input)


def _hardtanh(input: Array, min_val: float = -1.0, max_val: float = 1.0) -> Array:
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if min_val < 0 and input.dtype.kind == "u":
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return np.minimum(np.maximum(input, number_like(min_val, input)), number_like(max_val, input))


hardtanh = elementwise(
    "hardtanh", _hardtanh, scalars=False, warns=False, check=check_hardtanh, **HIDDEN,
    input=lambda g, input, min_val, max_val: np.where((input > min_val) & (input < max_val), g, 0),
)  # fmt: skip


@composite(**HIDDEN)
def relu6(input: Array) -> Array:
    """`min(max(input, 0), 6)`."""
    return hardtanh(input, 0.0, 6.0)


def _threshold(input: Array, threshold: float, value: float) -> Array:
    """`value` where the element is not above `threshold`."""
    return np.where(input <= threshold, number_like(value, input), input)


threshold = elementwise(
    "threshold", _threshold, scalars=False, warns=False, method=False, check=refuse("bc", "threshold"),
    input=lambda g, input, threshold: call(threshold_backward, g, input, threshold),
)  # fmt: skip


def _hardshrink(input: Array, lambd: float = 0.5) -> Array:
    """0 between `-lambd` and `lambd`, the element itself elsewhere."""
    return np.where((input >= -lambd) & (input <= lambd), 0, input)


def shrink_rule(g: Array, input: Array, lambd: float) -> Array:
    return np.where((input < -lambd) | (input > lambd), g, 0)


def _softshrink(input: Array, lambd: float = 0.5) -> Array:
    if lambd < 0:
        raise RuntimeError(f"lambda must be in range [0, 3.40282e+38] for input dtype Float, but found {lambd:g}")
    return np.where(input > lambd, input - lambd, np.where(input < -lambd, input + lambd, input * 0))


hardshrink = activation("hardshrink", _hardshrink, shrink_rule, same=FOUND, inplace=False, warns=False)
softshrink = activation("softshrink", _softshrink, shrink_rule, same=FOUND, inplace=False, **HIDDEN)


def _hardsigmoid(input: Array) -> Array:
    return np.minimum(np.maximum(input + 3, 0), 6) / 6


def _hardswish(input: Array) -> Array:
    return input * np.minimum(np.maximum(input + 3, 0), 6) / 6


hardsigmoid = activation(
    "hardsigmoid", _hardsigmoid, lambda g, input: np.where((input > -3) & (input < 3), g / 6, 0), **HIDDEN
)
hardswish = activation(
    "hardswish", _hardswish,
    lambda g, input: np.where(input <= -3, 0, np.where(input >= 3, g, g * (input / 3 + 0.5))), **HIDDEN,
)  # fmt: skip

# ---- exponentials -------------------------------------------------------------------------------------------------------------------


def _elu(input: Array, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Array:
    return np.where(input > 0, input * scale, np.expm1(input * input_scale) * (alpha * scale))


def elu_rule(g: Array, input: Array, alpha: float, scale: float, input_scale: float) -> Array:
    below = np.exp(np.where(input > 0, 0, input) * input_scale)
    return np.where(input <= 0, g * (below * (alpha * scale * input_scale)), g * scale)


elu = activation("elu", _elu, elu_rule, **HIDDEN)


@composite("selu", method=False)
def selu(input: Array) -> Array:
    """`elu` with the constants that keep mean and variance of a deep network's activations."""
    return elu(input, SELU_ALPHA, SELU_SCALE)


@composite("selu_", method=False)
def selu_(input: Array) -> Array:
    """In-place form of `selu`."""
    return inplace_of(elu)(input, SELU_ALPHA, SELU_SCALE)


def _celu(input: Array, alpha: float = 1.0) -> Array:
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu(input, alpha, 1.0, 1 / alpha)


celu = activation("celu", _celu, lambda g, input, alpha: elu_rule(g, input, alpha, 1.0, 1 / alpha), method=False)


def _softplus(input: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    return np.where(input * beta > threshold, input, np.log1p(np.exp(input * beta)) / beta)


def softplus_rule(g: Array, input: Array, beta: float, threshold: float) -> Array:
    return np.where(input * beta > threshold, g, g * call(sigmoid, input * beta))


softplus = activation("softplus", _softplus, softplus_rule, same=FOUND, inplace=False, **HIDDEN)


def _logsigmoid(input: Array) -> Array:
    return np.minimum(input, 0) - np.log1p(np.exp(-np.abs(input)))


logsigmoid = activation(
    "logsigmoid", _logsigmoid, lambda g, input: g * call(sigmoid, -input), nodes="LogSigmoidBackward0", inplace=False,
    same="expected scalar type {wanted} but found {given}", **HIDDEN,
)


def _silu(input: Array) -> Array:
    return input / (1 + np.exp(-input))


def silu_rule(g: Array, input: Array) -> Array:
    gate = call(sigmoid, input)
    return g * (gate * (1 + input * (1 - gate)))


silu = activation("silu", _silu, silu_rule, holomorphic=True, refused="biu", **HIDDEN)


def _mish(input: Array) -> Array:
    return input * np.tanh(np.log1p(np.exp(input)))


def mish_rule(g: Array, input: Array) -> Array:
    gate = call(sigmoid, input)
    bend = np.tanh(-call(logsigmoid, -input))
    return g * (bend + input * gate * (1 - bend * bend))


mish = activation("mish", _mish, mish_rule, **HIDDEN)


@composite(**HIDDEN)
def softsign(input: Array) -> Array:
    """`input / (1 + |input|)`."""
    return div(input, 1 + absolute(input))


@composite(**HIDDEN)
def tanhshrink(input: Array) -> Array:
    """`input - tanh(input)`."""
    return sub(input, tanh(input))


# ---- GELU ---------------------------------------------------------------------------------------------------------------------------

INNER, CUBIC = math.sqrt(2 / math.pi), 0.044715  # of the approximation by a hyperbolic tangent
DENSITY = 1 / math.sqrt(2 * math.pi)  # of the normal distribution at 0


def _gelu(input: Array, approximate: str = "none") -> Array:
    if approximate == "tanh":
        return input * 0.5 * (1 + np.tanh((input + input * input * input * CUBIC) * INNER))
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return input * numerics().gelu_share(input)


def _gelu_backward(grad_output: Array, input: Array) -> Array:
    """The gradient of the input of `gelu`."""
    return grad_output * numerics().gelu_slope(input)


gelu_backward: Any = elementwise(  # an op: see "rules that are ops" in transcendental.py
    "gelu_backward", _gelu_backward, scalars=False, inplace=False, check=refuse("c", "gelu_backward"), **HIDDEN,
    grad_output=lambda g, input: call(gelu_backward, g, input),
    input=lambda g, grad_output, input: g * grad_output * (np.exp(input * input * -0.5) * (2 - input * input)) * DENSITY,
)  # fmt: skip


def gelu_rule(g: Array, input: Array, approximate: str) -> Array:
    if approximate == "tanh":
        square = input * input
        bend = np.tanh((input + square * input * CUBIC) * INNER)
        slope = (1 - bend * bend) * (1 + square * (3 * CUBIC)) * INNER
        return g * (0.5 * (1 + bend) + 0.5 * input * slope)
    return call(gelu_backward, g, input)


gelu = activation("gelu", _gelu, gelu_rule, same=FOUND, **HIDDEN)

# ---- gates --------------------------------------------------------------------------------------------------------------------------


def halves(x: Array, dim: int) -> tuple[Array, Array]:
    before = (slice(None),) * wrap_dim(dim, len(x.shape))
    half = x.shape[dim] // 2
    return x[(*before, slice(0, half))], x[(*before, slice(half, 2 * half))]


@lru_cache(256)
def cut_of_halves(shape: tuple[int, ...], dim: int) -> tuple[tuple[int, ...], tuple[int, int, int, int]]:
    """The shape of a half along a dimension; and its length in memory, into how many parts a kernel cuts that, how many of those there are
    in all, and what one of them costs."""
    if not shape:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    dim = wrap_dim(dim, len(shape))
    if shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {shape[dim]}")
    half = math.prod(shape[dim:]) // 2
    most = loops("gate").PART
    parts = -(-half // most)
    return (*shape[:dim], shape[dim] // 2, *shape[dim + 1 :]), (half, parts, math.prod(shape[:dim]) * parts, 8 * min(half, most))


def glu_rule(g: Array, input: Array, dim: int) -> Array:
    if g.__class__ is np.ndarray and input.flags.c_contiguous:
        grad = np.empty(input.shape, input.dtype)
        if loops("gate").gated_back.run(grad, np.ascontiguousarray(g), input, *cut_of_halves(input.shape, dim)[1]):
            return grad
    value, gate = halves(input, dim)
    gate = call(sigmoid, gate)
    return np.concatenate([g * gate, g * (value * gate * (1 - gate))], axis=dim)


def glu_jvp(input: Array, input_t: Array, dim: int) -> Array:
    (value, gate), (value_t, gate_t) = halves(input, dim), halves(input_t, dim)
    gate = call(sigmoid, gate)
    return value_t * gate + value * gate * (1 - gate) * gate_t


refuse_glu = refuse("biuc", "glu")


@op(**HIDDEN, input=glu_rule, jvp=glu_jvp)
def glu(input: Array, dim: int = -1) -> Array:
    """The first half along a dimension, times the sigmoid of the second."""
    half, work = cut_of_halves(input.shape, dim)
    if input.__class__ is np.ndarray and input.flags.c_contiguous:
        out = np.empty(half, input.dtype)
        if loops("gate").gated.run(out, input, *work):  # only of floating-point numbers
            return out
    refuse_glu(input)
    value, gate = halves(input, dim)
    return value / (1 + np.exp(-gate))
