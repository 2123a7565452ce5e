"""PyTorch's `torch.distributed.tensor.parallel`: the work of one layer divided over processes. adjoint divides data and parameters only."""

from __future__ import annotations

from typing import Any

from ..._homes import settle
from ..._standing import refused
from ..device_mesh import DeviceMesh

_undivided = refused(
    "adjoint divides data (DistributedDataParallel) and parameters (fully_shard) over processes, not the work of one layer; "
    "leave the plan out, and write fully_shard(model)"
)


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


@_undivided
def parallelize_module(module: Any, device_mesh: Any = None, parallelize_plan: Any = None, *, src_data_rank: int | None = 0) -> Any: ...


@_undivided
def loss_parallel() -> Any: ...


# ---- torch.distributed.tensor.experimental ------------------------------------------------------------------------------------------


@refused("adjoint wants all operands to be DTensors; write distribute_tensor(x, mesh, [Replicate()]) for the others")
def implicit_replication() -> Any: ...


@_undivided
def context_parallel(mesh: DeviceMesh, *, buffers: Any = None, buffer_seq_dims: Any = None, no_restore_buffers: Any = None) -> Any: ...


@_undivided
def set_rotate_method(rotate_method: str) -> Any: ...


settle(__name__, dict.fromkeys(("api", "style"), ("",)))
