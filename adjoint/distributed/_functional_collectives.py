"""PyTorch's `torch.distributed._functional_collectives`: collectives that give back new tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import distributed as _dist
from .._creation import empty
from .._tensor import Tensor
from ..ops.join import cat
from . import nn as _nn
from ._groups import RedOpType, _pg_map, require
from .device_mesh import DeviceMesh


class AsyncCollectiveTensor(Tensor):
    """A tensor whose communication goes on, where PyTorch does not wait for it. Here it is done on return, so no tensor is one."""


def _group(group: Any) -> Any:
    """A group: itself, its name, ranks, a mesh, or a mesh and a dimension."""
    if isinstance(group, DeviceMesh):
        return group.get_group()
    if isinstance(group, tuple) and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    if isinstance(group, str):
        return next((one for one in _pg_map if one.group_name == group), group)
    if isinstance(group, list):
        return next((one for one in _pg_map if list(one._ranks) == group), group)
    return require(group)


def _operation(name: str) -> RedOpType:
    return {"SUM": RedOpType.SUM, "PRODUCT": RedOpType.PRODUCT}.get(name.upper()) or RedOpType[name.upper()]


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor: its communication is done."""
    return tensor


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    result = self.detach().clone()
    _dist.all_reduce(result, _operation(reduceOp), _group(group))
    return result


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    result = self.detach().clone()
    _dist.broadcast(result, src, _group(group))
    return result


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The tensors of all processes, joined along a dimension."""
    return cat(_nn.all_gather(self.detach(), _group(group)), gather_dim)  # type: ignore[no-any-return]


def all_gather_tensor_autograd(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The same, and gradients go through it."""
    return cat(_nn.all_gather(self, _group(group)), gather_dim)  # type: ignore[no-any-return]


def reduce_scatter_tensor(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """A part of the combination of all processes' tensors, along a dimension."""
    return reduce_scatter_tensor_autograd(self.detach(), reduceOp, scatter_dim, group)


def reduce_scatter_tensor_autograd(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """The same, and gradients go through it."""
    found = require(_group(group))
    if self.shape[scatter_dim] % found.size():
        raise AssertionError(f"input dimension {scatter_dim} ({self.shape[scatter_dim]}) must be a multiple of group_size {found.size()}")
    if self.requires_grad and reduceOp.upper() != "SUM":
        raise RuntimeError(f"reduce_scatter_tensor backward only supports 'sum' reduction, got '{reduceOp}'")
    parts = self.chunk(found.size(), scatter_dim)
    return _nn.reduce_scatter(parts[0], parts, _operation(reduceOp), found)


def all_to_all_single(
    self: Tensor, output_split_sizes: Sequence[int] | None, input_split_sizes: Sequence[int] | None, group: Any, tag: str = ""
) -> Tensor:
    """Parts along the first dimension, one for each process, for those that come from them."""
    return all_to_all_single_autograd(self.detach(), output_split_sizes, input_split_sizes, group)


def all_to_all_single_autograd(
    self: Tensor, output_split_sizes: Sequence[int] | None, input_split_sizes: Sequence[int] | None, group: Any, tag: str = ""
) -> Tensor:
    """The same, and gradients go through it."""
    length = sum(output_split_sizes) if output_split_sizes else self.shape[0]
    output = empty(length, *self.shape[1:], dtype=self.dtype)
    return _nn.all_to_all_single(output, self, output_split_sizes, input_split_sizes, _group(group))


def permute_tensor(self: Tensor, src_dst: Sequence[int], group: Any, tag: str = "") -> Tensor:
    """Send the tensor to process `src_dst[rank]`, and give back the one that comes."""
    found = require(_group(group))
    gathered = _nn.all_gather(self.detach(), found)
    return gathered[list(src_dst).index(found.rank())]
