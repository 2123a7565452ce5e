"""PyTorch's `torch.nn.modules`: the same layers, under the names of the files in which PyTorch keeps them."""

from __future__ import annotations

from typing import Any

from ... import nn
from ..._homes import settle
from . import utils as utils

# PyTorch's files, and ours that have what is in them.
HOMES = {
    "activation": ("activation", "multihead"),
    "adaptive": ("adaptive",),
    "batchnorm": ("normalization", "lazy"),
    "channelshuffle": ("flatten",),
    "container": ("containers",),
    "conv": ("conv", "lazy"),
    "distance": ("distance",),
    "dropout": ("dropout",),
    "flatten": ("flatten",),
    "fold": ("upsampling",),
    "instancenorm": ("normalization", "lazy"),
    "lazy": ("lazy",),
    "linear": ("linear", "lazy"),
    "linear_cross_entropy_options": ("linear_cross_entropy",),
    "loss": ("loss",),
    "module": ("_hooks", "_state_dict", "module"),
    "normalization": ("normalization",),
    "padding": ("flatten",),
    "pixelshuffle": ("flatten",),
    "pooling": ("pooling",),
    "rnn": ("recurrent",),
    "sparse": ("embedding",),
    "transformer": ("transformer",),
    "upsampling": ("upsampling",),
}

# The classes of `nn`, as in PyTorch.
_TENSORS = {"Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"}
_CLASSES = {name for name, value in vars(nn).items() if isinstance(value, type) and value.__module__.startswith(nn.__name__)}
__all__ = sorted(_CLASSES - _TENSORS)  # noqa: PLE0605

settle(__name__, HOMES, within=nn.__name__)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(nn, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(nn)})
