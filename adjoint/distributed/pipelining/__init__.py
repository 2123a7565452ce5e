"""PyTorch's `torch.distributed.pipelining`: models whose layers are in different processes. One process has all of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..._homes import settle
from ..._standing import refused

_one_process = refused("adjoint does not divide a model's layers over processes; call the model itself", RuntimeError)


class SplitPoint(Enum):
    """Where a model is divided: before a module, or after it."""

    BEGINNING = 1
    END = 2


@dataclass
class TensorChunkSpec:
    """Along which dimension a batch is divided."""

    split_dim: int


@_one_process
def pipeline(module: Any, mb_args: Any, mb_kwargs: Any = None, split_spec: Any = None, split_policy: Any = None) -> Any: ...


@_one_process
class PipelineStage:
    """The part of a model that a process has."""


@_one_process
class ScheduleGPipe:
    """All forward passes, then all backward passes."""


@_one_process
class Schedule1F1B:
    """A forward pass and a backward pass by turns."""


settle(__name__, {"microbatch": ("",), "schedules": ("",), "stage": ("",)})
