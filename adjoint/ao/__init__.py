"""PyTorch's `torch.ao`: quantized models, which adjoint does not have. `QuantStub` and its like leave values as they are."""

from . import nn as nn
from . import quantization as quantization
