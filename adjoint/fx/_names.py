"""What functions are called in PyTorch, and how PyTorch writes a call of them down.

A graph prints as PyTorch's does: `torch.flatten`, `torch.nn.functional.relu`, `torch._C._nn.gelu`. Functions that PyTorch has in Python
tell of a call with the required arguments by position and all others by keyword, whichever way they were given; those that it has in C
tell of it as it was written.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from ..ops._generated import NUMPY_NAMES, UNSET
from ..overrides import resolve_name

# Of `torch.nn.functional`: what comes from C, from which module, and under which name.
_IN_C = {
    **{name: f"torch._C._nn.{name}" for name in (
        "avg_pool2d", "avg_pool3d", "elu_", "gelu", "hardtanh_", "leaky_relu_", "linear", "one_hot", "scaled_dot_product_attention",
        "softplus", "softshrink")},
    "logsigmoid": "torch._C._nn.log_sigmoid",
    **{name: f"torch.{name}" for name in (
        "adaptive_avg_pool1d", "avg_pool1d", "bilinear", "celu_", "channel_shuffle", "cosine_similarity", "hardshrink",
        "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_", "rrelu_", "selu_", "threshold_")},
}  # fmt: skip
# Of `torch`: what is written in Python there, and where.
_IN_PYTHON = {
    **{name: f"torch.functional.{name}" for name in (
        "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod", "cdist", "chain_matmul", "einsum",
        "lu", "meshgrid", "norm", "split", "stft", "tensordot", "unique", "unique_consecutive", "unravel_index")},
    **{name: f"torch.nn.functional.{name}" for name in ("max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool3d")},
    "lobpcg": "torch._lobpcg.lobpcg", "pca_lowrank": "torch._lowrank.pca_lowrank", "svd_lowrank": "torch._lowrank.svd_lowrank",
}  # fmt: skip
_OURS = "adjoint"


def is_ours(obj: Any) -> bool:
    """Whether a function or class belongs to the library. While a program runs with adjoint as `torch`, classes say so themselves."""
    module = getattr(obj, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in (_OURS, "torch")


@cache
def pytorch_name(obj: Any) -> str | None:
    """The name in PyTorch of a function or class of ours; None for anything else."""
    name = resolve_name(obj) if isinstance(obj, FunctionType) else None
    if name is None or not isinstance(obj, FunctionType):
        return _by_place(obj) if is_ours(obj) else None
    space, _, last = name.rpartition(".")
    own = obj.__name__
    if space == "torch" and getattr(sys.modules[_OURS], own, None) is obj:
        name, last = f"torch.{own}", own  # and none of its other names
    if space in ("torch.linalg", "torch.fft", "torch.special"):
        part = space.removeprefix("torch.")
        return f"torch._C._{part}.{part}_{last}"
    if space == "torch.nn.functional":
        return _IN_C.get(last, name)
    return _IN_PYTHON.get(last, name) if space == "torch" else name


def _by_place(obj: Any) -> str | None:
    name = getattr(obj, "__name__", None)
    if name is None:
        return None
    for space, module in (("torch", _OURS), ("torch.nn", f"{_OURS}.nn"), ("torch.nn.functional", f"{_OURS}.nn.functional")):
        if module in sys.modules and getattr(sys.modules[module], name, None) is obj:
            return f"{space}.{name}"
    return f"torch.{obj.__module__.partition('.')[2]}.{name}".replace("torch..", "torch.")


def written_in_python(name: str) -> bool:
    """Whether PyTorch has the function of this name in Python."""
    space, _, last = name.rpartition(".")
    return space == "torch.functional" or (space == "torch.nn.functional" and last not in _IN_C)


def call_in_pytorch(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call as PyTorch would tell of it."""
    name = pytorch_name(func)
    if name is None or not written_in_python(name) or not NUMPY_NAMES.keys().isdisjoint(kwargs):
        return args, kwargs
    try:
        bound = inspect.signature(func).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return args, kwargs
    bound.apply_defaults()
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for parameter in bound.signature.parameters.values():
        value = bound.arguments[parameter.name]
        if parameter.kind is parameter.VAR_POSITIONAL:  # the tensors, which may be given as one list, also after einsum's equation
            positional.extend([*value[:-1], *value[-1]] if value and isinstance(value[-1], list | tuple) else value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            keywords.update(value)
        elif parameter.kind is parameter.KEYWORD_ONLY and (value is None or value is UNSET):
            continue  # mostly names that PyTorch's function does not have
        elif parameter.default is parameter.empty or parameter.name == "split_size_or_sections":
            positional.append(value)
        else:
            keywords[parameter.name] = value
    return tuple(positional), keywords


def qualified_name(func: Any) -> str:
    """The dotted name of a function or class: PyTorch's for ours, Python's for others."""
    name = getattr(func, "__name__", None)
    if name is not None and getattr(builtins, name, None) is func:
        return str(name)
    ours = pytorch_name(func) if getattr(func, "__hash__", None) else None
    if ours is not None:
        return ours
    if name is None:
        raise AttributeError(f"{func!r} has no name, so that no code can be written that calls it")
    if name == "<lambda>":
        name = inspect.getsource(func).split("=")[0].strip()
    module = getattr(func, "__module__", None)
    if module is None:
        module = _module_of(func)
    return f"{module}.{name}"


def _module_of(func: Any) -> str:
    """The module that a function of C is found in, by its name."""
    for module in sys.modules.values():
        if getattr(module, func.__name__, None) is func:
            return module.__name__
    raise RuntimeError(f"cannot find module for {func}")
