"""Helpers for gradients and parameters."""

from importlib import import_module as _import_module
from typing import Any as _Any

from . import rnn as rnn
from .clip_grad import clip_grad_norm as clip_grad_norm
from .clip_grad import clip_grad_norm_ as clip_grad_norm_
from .clip_grad import clip_grad_value_ as clip_grad_value_
from .clip_grad import clip_grads_with_norm_ as clip_grads_with_norm_
from .clip_grad import get_total_norm as get_total_norm
from .convert_parameters import parameters_to_vector as parameters_to_vector
from .convert_parameters import vector_to_parameters as vector_to_parameters
from .spectral_norm import remove_spectral_norm as remove_spectral_norm
from .spectral_norm import spectral_norm as spectral_norm
from .weight_norm import remove_weight_norm as remove_weight_norm
from .weight_norm import weight_norm as weight_norm

# Imported when first used.
_PACKAGES = frozenset({"fusion", "init", "memory_format", "parametrizations", "parametrize", "prune", "stateless"})
_NAMES = {
    **dict.fromkeys(("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"), "fusion"),
    **dict.fromkeys(("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"), "memory_format"),
    "skip_init": "init",
}


def __getattr__(name: str) -> _Any:
    if name in _PACKAGES:
        return _import_module(f".{name}", __name__)
    if name in _NAMES:
        value = globals()[name] = getattr(_import_module(f".{_NAMES[name]}", __name__), name)
        return value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES, *_NAMES})
