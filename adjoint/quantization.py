"""The old name of PyTorch's `torch.ao.quantization`."""

from ._homes import settle
from .ao.quantization import *  # noqa: F403

__path__: list[str] = []

settle(__name__, dict.fromkeys(("observer", "fake_quantize", "stubs", "qconfig"), ("ao.quantization",)), within=__package__)
