"""Which part of a tensor each process has, along one dimension of a mesh of processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..._tensor import Tensor

if TYPE_CHECKING:
    from ..device_mesh import DeviceMesh

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """Which part of a tensor a process has."""

    def is_shard(self, dim: int | None = None) -> bool:
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """A part along a dimension. Parts are as `torch.chunk` makes them, except that the last ones may be empty."""

    dim: int

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """How long the part of a process is along the dimension, and where it begins."""
        full = -(-curr_local_size // num_chunks)
        start = min(full * rank, curr_local_size)
        return min(full, curr_local_size - start), start

    _local_shard_size_and_offset = local_shard_size_and_offset

    def part_of(self, tensor: Tensor, parts: int, rank: int) -> Tensor:
        """The part of a tensor that process `rank` of `parts` has: a view."""
        size, start = self.local_shard_size_and_offset(tensor.shape[self.dim], parts, rank)
        return tensor.narrow(self.dim, start, size)

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"


@dataclass(frozen=True, repr=False)
class _StridedShard(Shard):
    """A part along a dimension that another one has divided already."""

    split_factor: int = 1


@dataclass(frozen=True)
class Replicate(Placement):
    """The whole."""

    def __repr__(self) -> str:
        return "Replicate()"


@dataclass(frozen=True)
class Partial(Placement):
    """A value that has to be combined with those of the other processes: by "sum", "avg", "product", "min" or "max"."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"


def normalized(placements: Sequence[Any] | None, mesh: DeviceMesh, ndim: int, name: str) -> tuple[Placement, ...]:
    """Placements as arguments give them, one for each dimension of the mesh, with dimensions counted from the first."""
    found = tuple([Replicate()] * mesh.ndim if placements is None else placements)
    if len(found) != mesh.ndim or not all(isinstance(placement, Placement) for placement in found):
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: {len(found)}, and device_mesh.ndim: "
            f"{mesh.ndim}; {name} takes one of Shard(dim), Replicate() and Partial() for each dimension of the mesh"
        )
    made = [Shard(p.dim + ndim) if isinstance(p, Shard) and p.dim < 0 else p for p in found]
    for placement in made:
        if isinstance(placement, Shard) and not 0 <= placement.dim < ndim:
            raise IndexError(f"{name}: {placement} of a tensor that has {ndim} dimensions")
    return tuple(made)


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of the part that this process has of a tensor, and where it begins."""
    shape, offset = list(global_shape), [0] * len(global_shape)
    for place, (placement, rank) in enumerate(zip(placements, mesh.get_coordinate() or (), strict=False)):
        if isinstance(placement, Shard):
            size, start = Shard.local_shard_size_and_offset(shape[placement.dim], mesh.size(place), rank)
            shape[placement.dim] = size
            offset[placement.dim] += start
    return tuple(shape), tuple(offset)
