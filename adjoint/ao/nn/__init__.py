"""PyTorch's `torch.ao.nn`: layers of quantized models. `FloatFunctional` is the one that works in floating point."""

from __future__ import annotations

from typing import Any

from ..._homes import settle
from ..._standing import refused
from ..._tensor import Tensor
from ...nn import Identity, Module

_floating = refused("adjoint computes in floating point and has no quantized layers; use the layer of the same name in torch.nn")


class FloatFunctional(Module):
    """Operations as methods of a module, for a quantized model to replace. The numbers are floating point, and so are the results."""

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = Identity()

    def forward(self, x: Any) -> Any:
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        return self.activation_post_process(x + y)

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        return x + y

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        return self.activation_post_process(x * y)

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        return x * y

    def cat(self, x: list[Tensor], dim: int = 0) -> Tensor:
        from ...ops.join import cat

        return self.activation_post_process(cat(x, dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        return self.activation_post_process((x + y).relu())

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        return self.activation_post_process(x @ y)


class FXFloatFunctional(FloatFunctional):
    """The same, for models that are traced."""


@_floating
class Linear(Module):
    """A linear layer of 8-bit integers."""


@_floating
class Conv1d(Module):
    """A convolution of 8-bit integers."""


@_floating
class Conv2d(Module):
    """A convolution of 8-bit integers."""


@_floating
class Conv3d(Module):
    """A convolution of 8-bit integers."""


@_floating
class Quantize(Module):
    """From floating point to 8-bit integers."""


@_floating
class DeQuantize(Module):
    """From 8-bit integers to floating point."""


@_floating
class QFunctional(Module):
    """Operations of 8-bit integers, as methods of a module."""


settle(__name__, {"quantized": ("",), "quantized.modules": ("",), "quantized.dynamic": ("",), "quantized.dynamic.modules": ("",)})
