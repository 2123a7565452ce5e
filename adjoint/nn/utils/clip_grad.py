"""Gradients kept within bounds, in place."""

from __future__ import annotations

import math
from collections.abc import Iterable
from sys import modules
from typing import Any

import numpy as np

from ..._dtype import default_numpy
from ..._events import CLIP
from ..._layout import Sparse
from ..._quiet import mute, unmute
from ..._site import warn
from ..._tensor import Tensor, wrap
from ...autograd.together import change, in_blocks
from ...ops._precision import is_half, wide
from ...ops.vector_norm import compiled_norm

Tensors = Iterable[Tensor] | Tensor
SMALL = 512  # elements of which NumPy sums the squares accurately and soon


def _as_list(tensors: Tensors, warn_if_read: bool = False) -> list[Tensor]:
    if isinstance(tensors, Tensor):
        return [tensors]
    listed = list(tensors)
    if warn_if_read and not listed and hasattr(tensors, "__next__"):
        warn("`parameters` is an empty generator, no gradient clipping will occur.")
    return listed


def _norm(array: Any, norm_type: float) -> Any:
    """The norm of all elements, as a NumPy scalar of the array's (real) dtype."""
    if array.size > SMALL and array.dtype.kind == "f":
        found = compiled_norm(norm_type).run(array, None, False, norm_type)
        if found is not None:
            return array.dtype.type(found)
    if is_half(array.dtype):
        return array.dtype.type(_norm(wide(array), norm_type))
    flat = array.reshape(-1)
    if norm_type == 2 and flat.dtype.kind == "f":
        return np.sqrt(flat.dot(flat))
    magnitudes = np.abs(flat)
    if norm_type == math.inf:
        return magnitudes.max(initial=0)
    if norm_type == -math.inf:
        return magnitudes.min()
    if norm_type == 0:
        return magnitudes.dtype.type(np.count_nonzero(magnitudes))
    return np.sum(magnitudes**norm_type) ** (1 / norm_type)


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all tensors together, as if they were one vector."""
    listed, norm_type = _as_list(tensors), float(norm_type)
    if not listed:
        return wrap(np.zeros((), default_numpy()))
    divided = _of_parts(listed)
    total_norm = divided.total_norm(listed, norm_type, _norm_here) if divided else _norm_here(listed, norm_type)
    if error_if_nonfinite and not np.isfinite(total_norm.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total_norm


def _of_parts(tensors: list[Tensor]) -> Any:
    """The module that knows tensors of which each process has a part, if there is one among these."""
    module = modules.get("adjoint.distributed.tensor")  # otherwise there is none
    return module if module is not None and any(isinstance(tensor, module.DTensor) for tensor in tensors) else None


def _norm_here(tensors: list[Tensor], norm_type: float) -> Tensor:
    """The norm of tensors that this process has whole."""
    arrays = [tensor._data for tensor in tensors]
    token = mute()
    try:
        blocks = in_blocks(arrays) if norm_type == 2 else None
        norm = None if blocks is None else blocks.norm()
        if norm is not None:
            total = np.asarray(norm, arrays[0].dtype)
        else:
            norms = [_norm(array, norm_type) for array in arrays]
            total = np.asarray(_norm(np.asarray(norms, np.result_type(*norms)), norm_type))
    finally:
        unmute(token)
    return wrap(total)


def clip_grads_with_norm_(parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scale the gradients by `max_norm / total_norm` where that is less than one."""
    _scale(_gradients(_as_list(parameters)), float(max_norm), total_norm)


def _gradients(parameters: list[Tensor]) -> list[Tensor]:
    gradients = [parameter._grad for parameter in parameters if parameter._grad is not None]
    return [_values(x) if isinstance(x._data, Sparse) else x for x in gradients]


def _values(gradient: Tensor) -> Tensor:
    """The values of a sparse gradient, on their memory; those at one place are added up first."""
    from ...sparse._rows import merged

    data = merged(gradient._data)
    gradient._data.pattern, gradient._data.values = data.pattern, data.values
    return wrap(data.values)


def _parts(tensors: list[Tensor]) -> list[Tensor]:
    """What this process has of tensors."""
    divided = _of_parts(tensors)
    return [divided.local_of(tensor) for tensor in tensors] if divided else tensors


def _scale(gradients: list[Tensor], max_norm: float, total_norm: Tensor) -> None:
    gradients, [total_norm] = _parts(gradients), _parts([total_norm])
    token = mute()
    try:
        total = total_norm._data
        factor = total.dtype.type(np.minimum(max_norm / (total + 1e-6), 1.0))
        change(gradients, _scaled, [float(factor)])
    finally:
        unmute(token)


def _scaled(numbers: Any, x: Any) -> tuple[Any]:
    return (x * numbers[0],)


def _bounded(numbers: Any, x: Any) -> tuple[Any]:
    return (np.minimum(np.maximum(x, -numbers[0]), numbers[0]),)


def clip_grad_norm_(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Scale the gradients down so that their total norm is at most `max_norm`; return the norm that they had.

    >>> import adjoint as ad
    >>> w = ad.nn.Parameter(ad.zeros(2))
    >>> (w * ad.tensor([3.0, 4.0])).sum().backward()
    >>> ad.nn.utils.clip_grad_norm_([w], 1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    listed = _as_list(parameters, warn_if_read=True)
    gradients = _gradients(listed)
    total = get_total_norm(gradients, norm_type, error_if_nonfinite, foreach)
    if CLIP:
        CLIP.tell(listed, float(max_norm), total)
    _scale(gradients, float(max_norm), total)
    return total


def clip_grad_norm(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The old name of `clip_grad_norm_`."""
    warn(
        "torch.nn.utils.clip_grad_norm is now deprecated in favor of torch.nn.utils.clip_grad_norm_.", FutureWarning
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Cut every element of the gradients off at `-clip_value` and `clip_value`."""
    listed = _as_list(parameters)
    if CLIP:
        CLIP.tell(listed, float(clip_value), None)
    change(_parts(_gradients(listed)), _bounded, [float(clip_value)])
