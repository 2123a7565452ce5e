"""What optimizers outside of this library import from `torch.optim.optimizer`, although it is not documented."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from .._dtype import dtype, float32, float64, get_default_dtype
from .._standing import inert
from .._tensor import Parameter, Tensor
from ..autograd.grad_mode import set_grad_enabled
from ..ops.complex_view import view_as_real
from ..utils._foreach_utils import (
    _foreach_supported_types,
    _get_foreach_kernels_supported_devices,
    _get_fused_kernels_supported_devices,
    _group_tensors_by_device_and_dtype,
)

__all__ = ["_foreach_supported_types", "_group_tensors_by_device_and_dtype"]

Step = Callable[..., Any]

_params_doc = "params (iterable): the parameters to optimize, as tensors, as pairs of a name and a tensor, or as groups"
_foreach_doc = "foreach (bool, optional): PyTorch's choice between loops and lists; both give the same numbers"
_fused_doc = "fused (bool, optional): PyTorch's choice of a single kernel per step"
_capturable_doc = "capturable (bool, optional): whether the step can be part of a CUDA graph, which there is none of here"
_differentiable_doc = "differentiable (bool, optional): whether the step itself is recorded, so that it can be differentiated"
_maximize_doc = "maximize (bool, optional): go up instead of down"


def _use_grad_for_differentiable(func: Step) -> Step:
    """A `step` that records what it does exactly if the optimizer is `differentiable`."""

    @wraps(func)
    def step(*args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(args[0].defaults["differentiable"])):
            return func(*args, **kwargs)

    return step


def _get_value(x: Any) -> Any:
    """A number, of a tensor that holds one."""
    return x.item() if isinstance(x, Tensor) else x


def _to_scalar(x: Any) -> Any:
    """A tensor of one element without dimensions; anything else as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.ndim else x


def _dispatch_sqrt(x: Any) -> Any:
    return x.sqrt() if isinstance(x, Tensor) else math.sqrt(x)


@inert("numbers are stacked only for a compiler of graphs, and nothing is compiled into graphs here")
def _stack_if_compiling(x: Any) -> Any:
    return x


@inert("what tells a compiler of graphs to leave a function alone; there is no such compiler here")
def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Step], Step]:
    return lambda func: func


def _get_scalar_dtype(is_fused: bool | None = None) -> dtype:
    """The dtype in which steps are counted."""
    return float64 if not is_fused and get_default_dtype() is float64 else float32


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _default_to_fused_or_foreach(params: list[Any], differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Whether PyTorch would take a single kernel, or lists, for these parameters."""
    if differentiable:
        return False, False
    found = [p for p in params if p is not None]
    plain = all(type(p) in (Tensor, Parameter) for p in found)
    fused = use_fused and plain and all(p.device.type in _get_fused_kernels_supported_devices() and p.is_floating_point() for p in found)
    return fused, not fused and plain and all(p.device.type in _get_foreach_kernels_supported_devices() for p in found)


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    devices = [kind for kind in _get_fused_kernels_supported_devices() if kind != "cuda" or not cuda_unsupported]
    if p.device.type not in devices or not p.is_floating_point():
        raise RuntimeError(
            f"`fused=True` requires all the params to be floating point Tensors of supported devices: {devices} "
            f"but {p.dtype} and {p.device.type}"
        )


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """See complex parameters, and what belongs to them, as twice as many real numbers. The lists are changed."""
    for place, p in enumerate(params):
        if p.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[place] = view_as_real(tensors[place])
