"""The old name of PyTorch's `torch.ao.nn.quantized`."""

from .._homes import settle
from ..ao.nn import Conv1d, Conv2d, Conv3d, DeQuantize, FloatFunctional, FXFloatFunctional, Linear, QFunctional, Quantize

__all__ = ["Conv1d", "Conv2d", "Conv3d", "DeQuantize", "FXFloatFunctional", "FloatFunctional", "Linear", "QFunctional", "Quantize"]
__path__: list[str] = []

settle(__name__, dict.fromkeys(("dynamic", "modules"), ("ao.nn",)), within=__package__.rpartition(".")[0])
