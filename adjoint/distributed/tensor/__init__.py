"""PyTorch's `torch.distributed.tensor`: tensors of which each process has a part. In one process a tensor is whole, so there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..._homes import settle
from ..._standing import refused
from ..._tensor import Tensor
from ..device_mesh import DeviceMesh, init_device_mesh

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor",
    "init_device_mesh",
]  # fmt: skip

_whole = refused("adjoint runs a program in one process, where tensors are whole; use the tensor itself")


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
    """A part along a dimension."""

    dim: int

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """How long the part of a process is along the dimension, and where it begins: parts are as `torch.chunk` makes them."""
        full = -(-curr_local_size // num_chunks)
        start = min(full * rank, curr_local_size)
        return min(full, curr_local_size - start), start

    _local_shard_size_and_offset = local_shard_size_and_offset

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
    """A value that has to be combined with those of other processes."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"


class DTensor(Tensor):
    """A tensor of which each process has a part. In one process no tensor is one."""

    @_whole
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    @staticmethod
    @_whole
    def from_local(local_tensor: Tensor, device_mesh: Any = None, placements: Any = None, **options: Any) -> Any: ...


@_whole
def distribute_tensor(tensor: Tensor, device_mesh: Any = None, placements: Any = None, *, src_data_rank: int | None = 0) -> Any: ...


@refused("adjoint runs a program in one process, where modules are whole; use the module itself")
def distribute_module(module: Any, device_mesh: Any = None, *functions: Any) -> Any: ...


# ---- torch.distributed.tensor.parallel ----------------------------------------------------------------------------------------------

_one_process = refused("adjoint runs a program in one process, which has all of the model; leave the plan out, and use the model itself")


class ParallelStyle:
    """How the work of a module is divided."""


class ColwiseParallel(ParallelStyle):
    """By the columns of a weight."""

    def __init__(self, *, input_layouts: Any = None, output_layouts: Any = None, use_local_output: bool = True) -> None:
        self.input_layouts, self.output_layouts, self.use_local_output = input_layouts, output_layouts, use_local_output


class RowwiseParallel(ColwiseParallel):
    """By the rows of a weight."""


class SequenceParallel(ParallelStyle):
    """By the positions of a sequence."""

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_dim, self.use_local_output = sequence_dim, use_local_output


class PrepareModuleInput(ParallelStyle):
    """By the inputs of a module."""

    def __init__(self, **layouts: Any) -> None:
        self.layouts = layouts


class PrepareModuleOutput(PrepareModuleInput):
    """By the outputs of a module."""


@_one_process
def parallelize_module(module: Any, device_mesh: Any = None, parallelize_plan: Any = None, *, src_data_rank: int | None = 0) -> Any: ...


@_one_process
def loss_parallel() -> Any: ...


# ---- torch.distributed.tensor.experimental ------------------------------------------------------------------------------------------


@_whole
def implicit_replication() -> Any: ...


@_one_process
def context_parallel(mesh: DeviceMesh, *, buffers: Any = None, buffer_seq_dims: Any = None, no_restore_buffers: Any = None) -> Any: ...


@_one_process
def set_rotate_method(rotate_method: str) -> Any: ...


def compute_local_shape_and_global_offset(
    global_shape: tuple[int, ...], mesh: DeviceMesh, placements: tuple[Placement, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of the part that this process has of a tensor, and where it begins."""
    shape, offset = list(global_shape), [0] * len(global_shape)
    for place, (placement, rank) in enumerate(zip(placements, mesh.get_coordinate() or (), strict=True)):
        if isinstance(placement, Shard):
            size, start = Shard.local_shard_size_and_offset(shape[placement.dim], mesh.size(place), rank)
            shape[placement.dim] = size
            offset[placement.dim] += start
    return tuple(shape), tuple(offset)


settle(
    __name__,
    dict.fromkeys(
        ("_utils", "api", "experimental", "experimental._attention", "parallel", "parallel.api", "parallel.style", "placement_types"), ("",)
    ),
)
