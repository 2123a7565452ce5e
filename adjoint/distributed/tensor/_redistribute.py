"""From the parts that processes have of a tensor to other parts of it, one dimension of the mesh after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..._creation import empty
from ..._tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...ops.join import cat
from .._collectives import all_gather_into_tensor, all_reduce
from .._groups import ReduceOp
from .placement_types import Partial, Placement, Replicate, Shard, compute_local_shape_and_global_offset

if TYPE_CHECKING:
    from ..device_mesh import DeviceMesh


@no_grad()
def redistributed(
    local: Tensor, shape: Sequence[int], mesh: DeviceMesh, before: Sequence[Placement], after: Sequence[Placement]
) -> Tensor:
    """This process's part by `after` of a tensor of `shape`, of which `local` is its part by `before`."""
    now = list(before)
    # Where two dimensions of the mesh divide one of the tensor, the last one divides what the others left.
    nested = len({p.dim for p in (*before, *after) if isinstance(p, Shard)}) < sum(isinstance(p, Shard) for p in before)
    for place in reversed(range(mesh.ndim)):
        if now[place] != after[place] or (nested and tuple(before) != tuple(after)):
            local = _whole(local, shape, mesh, now, place)
            now[place] = Replicate()
    for place in range(mesh.ndim):
        target = after[place]
        if now[place] == target:
            continue
        rank, size = (mesh.get_coordinate() or ())[place], mesh.size(place)
        if isinstance(target, Shard):
            local = target.part_of(local, size, rank).clone()
        elif isinstance(target, Partial):
            if target.reduce_op != "sum":
                raise RuntimeError(f"redistribute from Replicate() to {target}: only Partial('sum') can be made of a whole tensor")
            local = local.clone() if rank == 0 else local * 0
        now[place] = target
    return local


def _whole(local: Tensor, shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement], place: int) -> Tensor:
    """What the processes along one dimension of the mesh have together."""
    placement, group = placements[place], mesh.get_group(place)
    if isinstance(placement, Partial):
        return reduced(local, placement.reduce_op, group)
    if not isinstance(placement, Shard):
        return local
    dim, parts = placement.dim, mesh.size(place)
    length = compute_local_shape_and_global_offset(shape, mesh, placements[:place])[0][dim]
    sizes = [Shard.local_shard_size_and_offset(length, parts, rank)[0] for rank in range(parts)]
    gathered = gather_along(local, dim, max(sizes), group, parts)
    return cat([gathered[rank].narrow(dim, 0, size) for rank, size in enumerate(sizes)], dim)  # type: ignore[no-any-return]


def gather_along(local: Tensor, dim: int, length: int, group: Any, parts: int) -> Tensor:
    """All processes' parts along a new first dimension. Those that are shorter than `length` along `dim` are filled up."""
    padded = empty(*local.shape[:dim], length, *local.shape[dim + 1 :], dtype=local.dtype, device=local.device)
    padded.narrow(dim, 0, local.shape[dim]).copy_(local)
    gathered = empty(parts, *padded.shape, dtype=local.dtype, device=local.device)
    if not local.is_meta:
        all_gather_into_tensor(gathered, padded, group)
    return gathered


def reduced(local: Tensor, how: str, group: Any) -> Tensor:
    """The combination of all processes' tensors."""
    combined = local.clone()
    if not local.is_meta:
        all_reduce(combined, getattr(ReduceOp, how.upper()), group)
    return combined
