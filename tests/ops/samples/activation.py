"""Samples of the activation functions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.ops.samples import ErrorSample, Make, Sample, error_samples, samples

EDGES = np.array([0.0, -0.0, np.inf, -np.inf, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0, 6.0, 100.0, -100.0])

# name: kinks, and the parameters to try besides the defaults
ACTIVATIONS: dict[str, tuple[tuple[float, ...], list[tuple[Any, ...]]]] = {
    "relu": ((0.0,), []),
    "relu6": ((0.0, 6.0), []),
    "leaky_relu": ((0.0,), [(0.3,), (-0.5,)]),
    "elu": ((0.0,), [(0.7,)]),
    "selu": ((0.0,), []),
    "celu": ((0.0,), [(0.7,)]),
    "gelu": ((), []),
    "silu": ((), []),
    "mish": ((), []),
    "softplus": ((), [(2.0, 20.0), (0.5, 40.0)]),
    "hardtanh": ((-1.0, 1.0), [(-0.5, 2.0)]),
    "hardsigmoid": ((-3.0, 3.0), []),
    "hardswish": ((-3.0, 3.0), []),
    "logsigmoid": ((), []),
    "softsign": ((0.0,), []),
    "tanhshrink": ((), []),
    "hardshrink": ((-0.5, 0.5), [(0.2,)]),
    "softshrink": ((-0.5, 0.5), [(0.2,)]),
}
ROUNDED = {"hardsigmoid": 1e-7, "celu": 1e-6}  # PyTorch rounds a constant in their gradients to float32
UNEXPORTED = {"relu6", "softsign", "tanhshrink"}


def calls(make: Make, kinks: tuple[float, ...], parameters: list[tuple[Any, ...]]) -> Iterator[Sample]:
    for values in [(), *parameters]:
        yield Sample(make(3, 4, low=-4, high=4, avoid=kinks), *values).tolerance(ROUNDED.get(make.name))
        yield Sample(EDGES, *values).only_values().tolerance(ROUNDED.get(make.name))
    yield Sample(make(low=-4, high=4, avoid=kinks)).tolerance(ROUNDED.get(make.name))
    yield Sample(make(0, 3))
    yield Sample(np.array([np.nan, 1.0])).no_gradient()  # PyTorch's gradient at NaN depends on the length of the tensor
    yield Sample(make(3, dtype="float16")).only_values()


for name, (kinks, parameters) in ACTIVATIONS.items():
    ours = f"ops.activation.{name}" if name in UNEXPORTED else None
    samples(name, ours=ours, torch=f"nn.functional.{name}")(partial(calls, kinks=kinks, parameters=parameters))


@samples("gelu")
def approximate(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), approximate="tanh")
    yield Sample(EDGES, approximate="tanh").only_values()


@samples("threshold")
def thresholds(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, avoid=(0.5,)), 0.5, 7.0)
    yield Sample(EDGES, 0.5, 7.0).only_values()
    yield Sample(np.array([1, 2, -3]), 1, 5).no_gradient()


@samples("hardtanh", "relu", "relu6")
def integers(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([1, 9, -3])).no_gradient()


@samples("glu")
def gated(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(4, 3), 0)
    yield Sample(make(2, 4, 3), -2)
    yield Sample(make(0, 2))


@samples("prelu")
def learned_slopes(make: Make) -> Iterator[Sample]:
    yield Sample(make(5, avoid=(0.0,)), make(1))
    yield Sample(make(5, avoid=(0.0,)), make())
    yield Sample(make(2, 3, avoid=(0.0,)), make(3))
    yield Sample(make(2, 3, 4, avoid=(0.0,)), make(3))
    yield Sample(np.array([0.0, -0.0, np.nan, 1.0]), np.array(0.25)).only_values()


@samples("prelu_kernel", torch="_prelu_kernel")
def slopes(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, avoid=(0.0,)), make(1, 3))


@samples("tanh_backward", torch="ops.aten.tanh_backward")
@samples("sigmoid_backward", torch="ops.aten.sigmoid_backward")
def rules(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 3))
    yield Sample(make(0), make(0))


@samples("threshold_backward", torch="ops.aten.threshold_backward")
def above(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 3, avoid=(0.5,)), 0.5)
    yield Sample(make(3), np.array([0.0, -0.0, 1.0]), 0).only_values()


@samples("gelu_backward", torch="ops.aten.gelu_backward")
def gelu_slopes(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 3, low=-4, high=4))
    yield Sample(np.ones(4), np.array([0.0, -0.0, 9.0, -9.0])).only_values()


@error_samples("leaky_relu", "elu", "celu", "gelu", "silu", "mish", "softplus", "hardsigmoid", "hardswish", "hardshrink", "softshrink")
def on_integers(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "not implemented for 'Long'", np.array([1, 2]))


@error_samples("relu")
def bad_relu(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "Boolean inputs not supported for relu", np.array([True]))
    yield ErrorSample(NotImplementedError, "clamp is not supported for complex types", np.array([1j]))


@error_samples("gelu")
def bad_gelu(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "approximate argument must be either none or tanh", make(2), approximate="exact")


@error_samples("hardtanh")
def bad_hardtanh(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(ValueError, "min_val cannot be greater than max_val", make(2), 1.0, -1.0)


@error_samples("glu")
def bad_glu(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "Halving dimension must be even, but dimension 0 is size 3", make(3))
    yield ErrorSample(RuntimeError, "glu does not support scalars because halving size must be even", make())


@error_samples("prelu")
def bad_prelu(make: Make) -> Iterator[ErrorSample]:
    message = "Mismatch of parameter numbers and input channel size. Found parameter numbers = 2 and channel size = 3"
    yield ErrorSample(RuntimeError, message, make(2, 3), make(2))
    yield ErrorSample(RuntimeError, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = 2", make(3), make(1, 1))
    yield ErrorSample(RuntimeError, "prelu: Type promoting not supported. Got Double and Float", make(2, 3), make(3).astype("float32"))


@error_samples("celu")
def bad_celu(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "ZeroDivisionError: alpha cannot be 0 for CELU", make(2), 0.0)
