"""The old name of PyTorch's `torch.ao.nn.quantized`."""

from .._homes import settle
from ..ao.nn import (
    ELU,
    LSTM,
    BatchNorm2d,
    BatchNorm3d,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    DeQuantize,
    Dropout,
    Embedding,
    EmbeddingBag,
    FloatFunctional,
    FXFloatFunctional,
    GroupNorm,
    Hardswish,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    LeakyReLU,
    Linear,
    MultiheadAttention,
    PReLU,
    QFunctional,
    Quantize,
    ReLU6,
    Sigmoid,
    Softmax,
)

__all__ = [  # noqa: RUF022
    "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "DeQuantize",
    "Dropout", "ELU", "Embedding", "EmbeddingBag", "FXFloatFunctional", "FloatFunctional", "GroupNorm", "Hardswish", "InstanceNorm1d",
    "InstanceNorm2d", "InstanceNorm3d", "LSTM", "LayerNorm", "LeakyReLU", "Linear", "MultiheadAttention", "PReLU", "QFunctional",
    "Quantize", "ReLU6", "Sigmoid", "Softmax",
]  # fmt: skip
__path__: list[str] = []

settle(__name__, dict.fromkeys(("dynamic", "modules"), ("ao.nn",)), within=__package__.rpartition(".")[0])
