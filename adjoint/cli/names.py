"""While a script runs, classes carry PyTorch's names: `print(type(x))` shows `<class 'torch.Tensor'>`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import isclass
from types import ModuleType
from typing import Any

from .. import nn, optim
from .._device import device
from .._dtype import dtype
from .._size import Size
from .._tensor import Tensor
from ..nn.modules import HOMES
from ..nn.parameter import Parameter

OURS = f"{nn.__name__.partition('.')[0]}."

# Of a file of ours that serves for several of PyTorch's: which parts of names belong where.
_PARTS = {
    "BatchNorm": "batchnorm", "InstanceNorm": "instancenorm", "Linear": "linear", "Conv": "conv", "Pad": "padding", "Pixel": "pixelshuffle",
    "ChannelShuffle": "channelshuffle",
}  # fmt: skip


def _layer_file(cls: type) -> str:
    """PyTorch's file for a class of `nn`."""
    source = cls.__module__.removeprefix(f"{nn.__name__}.")
    files = [file for file, sources in HOMES.items() if source in sources]
    if len(files) > 1:
        named = [file for part, file in _PARTS.items() if part in cls.__name__ and file in files]
        files = [*named, source]
    return files[0] if files else source


def _pytorch_modules() -> Iterator[tuple[Any, str]]:
    """The classes that scripts meet, each with the module that it is in in PyTorch."""
    for cls in (Tensor, Size, dtype, device):
        yield cls, "torch"
    yield Parameter, "torch.nn.parameter"
    for cls in vars(nn).values():
        if isclass(cls) and issubclass(cls, nn.Module) and cls.__module__.startswith(f"{nn.__name__}."):
            yield cls, f"torch.nn.modules.{_layer_file(cls)}"
    for cls in vars(optim).values():
        if isclass(cls) and issubclass(cls, optim.Optimizer):
            yield cls, f"torch.optim.{cls.__module__.rpartition('.')[2]}"
    for cls in vars(optim.lr_scheduler).values():
        if isclass(cls) and cls.__module__.startswith(OURS):
            yield cls, "torch.optim.lr_scheduler"


_before: dict[Any, str] = {}  # what the classes were called


def take_names() -> None:
    """Give the classes PyTorch's names."""
    for cls, module in list(_pytorch_modules()):
        _name(cls, module)


def take_names_in(module: ModuleType) -> None:
    """The same for a module that the script imports and whose files are called as PyTorch's."""
    for cls in list(vars(module).values()):
        if isclass(cls) and cls.__module__.startswith(OURS):
            _name(cls, f"torch.{cls.__module__.removeprefix(OURS)}")


def _name(cls: Any, module: str) -> None:
    _before.setdefault(cls, cls.__module__)
    cls.__module__ = module


@contextmanager
def pytorch_names() -> Iterator[None]:
    """PyTorch's names inside a `with` block."""
    take_names()
    try:
        yield
    finally:
        for cls, module in _before.items():
            cls.__module__ = module
        _before.clear()
