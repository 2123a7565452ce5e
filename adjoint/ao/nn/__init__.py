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


def _layer(name: str, doc: str) -> type[Module]:
    return _floating(type(name, (Module,), {"__doc__": doc, "__module__": __name__}))  # type: ignore[no-any-return]


Linear = _layer("Linear", "A linear layer of 8-bit integers.")
Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = (
    _layer(name, "A convolution of 8-bit integers.")
    for name in ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")
)
BatchNorm2d, BatchNorm3d, GroupNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, LayerNorm = (
    _layer(name, "A normalization of 8-bit integers.")
    for name in ("BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm")
)
ELU, Hardswish, LeakyReLU, PReLU, ReLU6, Sigmoid, Softmax = (
    _layer(name, "An activation of 8-bit integers.") for name in ("ELU", "Hardswish", "LeakyReLU", "PReLU", "ReLU6", "Sigmoid", "Softmax")
)
Embedding, EmbeddingBag = (_layer(name, "Vectors of 8-bit integers.") for name in ("Embedding", "EmbeddingBag"))
LSTM, MultiheadAttention = (_layer(name, "A layer of 8-bit integers.") for name in ("LSTM", "MultiheadAttention"))
Dropout = _layer("Dropout", "Dropout of 8-bit integers.")
Quantize = _layer("Quantize", "From floating point to 8-bit integers.")
DeQuantize = _layer("DeQuantize", "From 8-bit integers to floating point.")
QFunctional = _layer("QFunctional", "Operations of 8-bit integers, as methods of a module.")


settle(__name__, {"quantized": ("",), "quantized.modules": ("",), "quantized.dynamic": ("",), "quantized.dynamic.modules": ("",)})
