"""PyTorch's `torch.ao.quantization`: models of 8-bit integers. adjoint computes in floating point: stubs are identities, and the
rest says so."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from ..._homes import settle
from ..._standing import refused
from ..._tensor import Tensor
from ...nn import Module, Sequential

_floating = refused("adjoint computes in floating point and has no quantized models; use the model as it is, without quantize=True")


class QuantStub(Module):
    """Where a quantized model would begin. Values stay as they are until a model is converted, in PyTorch too."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class DeQuantStub(QuantStub):
    """Where a quantized model would end."""


class QuantWrapper(Module):
    """A module between two stubs."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.quant, self.module, self.dequant = QuantStub(), module, DeQuantStub()

    def forward(self, X: Tensor) -> Any:
        return self.dequant(self.module(self.quant(X)))


class QConfig(NamedTuple):
    """What observes the activations and the weights of a module."""

    activation: Any
    weight: Any


class _Made:
    """`with_args` gives a class that makes objects with some arguments set."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> Any:
        return partial(cls, **kwargs)


class ObserverBase(_Made, Module):
    """The base of modules that record which values they see."""

    def __init__(self, dtype: Any = None, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic


class FakeQuantizeBase(_Made, Module):
    """The base of modules that round values as a quantized model would."""


@_floating
class MinMaxObserver(ObserverBase):
    """Records the smallest and the largest value."""


@_floating
class MovingAverageMinMaxObserver(MinMaxObserver):
    """The same, as moving averages."""


@_floating
class HistogramObserver(ObserverBase):
    """Records how values are distributed."""


@_floating
class PerChannelMinMaxObserver(ObserverBase):
    """Records the smallest and the largest value of each channel."""


@_floating
class FakeQuantize(FakeQuantizeBase):
    """Rounds values as a quantized model would."""


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_weight_observer = MinMaxObserver
default_histogram_observer = HistogramObserver
default_per_channel_weight_observer = PerChannelMinMaxObserver


@_floating
def get_default_qconfig(backend: str = "x86", version: int = 0) -> Any: ...


@_floating
def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> Any: ...


@_floating
def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> Any: ...


@_floating
def prepare(model: Any, inplace: bool = False, allow_list: Any = None, **options: Any) -> Any: ...


@_floating
def prepare_qat(model: Any, mapping: Any = None, inplace: bool = False) -> Any: ...


@_floating
def convert(module: Any, mapping: Any = None, inplace: bool = False, **options: Any) -> Any: ...


@_floating
def quantize(model: Any, run_fn: Any, run_args: Any, mapping: Any = None, inplace: bool = False) -> Any: ...


@_floating
def quantize_dynamic(model: Any, qconfig_spec: Any = None, dtype: Any = None, mapping: Any = None, inplace: bool = False) -> Any: ...


@_floating
def fuse_modules(model: Any, modules_to_fuse: Any, inplace: bool = False, **options: Any) -> Any: ...


@_floating
def fuse_modules_qat(model: Any, modules_to_fuse: Any, inplace: bool = False, **options: Any) -> Any: ...


def disable_observer(mod: Any) -> None:
    """For `Module.apply`: nothing observes, so nothing happens."""


disable_fake_quant = enable_fake_quant = enable_observer = disable_observer


def add_quant_dequant(module: Module) -> Module:
    """A module with stubs around each part that has a `qconfig`."""
    for name, child in list(module._modules.items()):
        if child is not None and getattr(child, "qconfig", None):
            module._modules[name] = QuantWrapper(child)
    return QuantWrapper(module) if not isinstance(module, Sequential) and getattr(module, "qconfig", None) else module


settle(__name__, dict.fromkeys(("fake_quantize", "observer", "qconfig", "quant_type", "stubs"), ("",)))
