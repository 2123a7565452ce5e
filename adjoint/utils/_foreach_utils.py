"""PyTorch's `torch.utils._foreach_utils`: what optimizers ask before they work on lists of tensors."""

from __future__ import annotations

from typing import Any

from .._device import device as Device
from .._dtype import dtype
from .._tensor import Tensor

Indices = list[int]
TensorListList = list[list[Any]]

_foreach_supported_types = [Tensor]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The devices for which lists are faster than loops: none that is here."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: TensorListList, with_indices: bool = False
) -> dict[tuple[Device, dtype], tuple[TensorListList, Indices]]:
    """Lists that belong together, cut into lists of tensors alike in the first one, and which places they had, if asked for.

    >>> import adjoint as ad
    >>> from adjoint.utils._foreach_utils import _group_tensors_by_device_and_dtype
    >>> params, states = [ad.ones(1), ad.ones(2).double()], [ad.zeros(1), None]
    >>> groups = _group_tensors_by_device_and_dtype([params, states], with_indices=True)
    >>> groups[ad.device("cpu"), ad.float64]
    ([[tensor([1., 1.], dtype=torch.float64)], [None]], [1])
    """
    first = tensorlistlist[0]
    if not first:
        raise RuntimeError("Expected the first list to hold tensors, but it is empty")
    if any(len(tensors) not in (0, len(first)) for tensors in tensorlistlist):
        lengths = ", ".join(str(len(tensors)) for tensors in tensorlistlist)
        raise RuntimeError(f"Expected lists of equal length (or empty ones), but got {lengths} tensors")
    groups: dict[tuple[Device, dtype], tuple[TensorListList, Indices]] = {}
    for place, tensor in enumerate(first):
        lists, indices = groups.setdefault((tensor.device, tensor.dtype), ([[] for _ in tensorlistlist], []))
        for some, tensors in zip(lists, tensorlistlist, strict=True):
            some.extend(tensors[place : place + 1])
        if with_indices:
            indices.append(place)
    return groups


def _device_has_foreach_support(device: Device) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: list[Any], device: Device) -> bool:
    return _device_has_foreach_support(device) and all(t is None or type(t) in _foreach_supported_types for t in tensors)
