"""PyTorch's `torch.nn.modules`: the same layers, under the names of the files in which PyTorch keeps them."""

from __future__ import annotations

from typing import Any

from ... import nn
from ..._homes import settle
from .._files import FILES
from . import utils as utils

# The classes of `nn`, as in PyTorch.
_TENSORS = {"Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"}
_CLASSES = {name for name, value in vars(nn).items() if isinstance(value, type) and not name.startswith("_")}
__all__ = sorted(_CLASSES - _TENSORS)  # noqa: PLE0605

settle(__name__, FILES, within=nn.__name__)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(nn, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(nn)})
