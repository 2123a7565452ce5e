"""PyTorch's `torch.distributed.fsdp`: parameters of which each process keeps a part, gathered for the module that needs them.

`_group` holds the parameters, `_hooks` says when they are gathered, `_fully_shard` is what users call, and
`fully_sharded_data_parallel` the older form of it.
"""

from __future__ import annotations

from ..._homes import settle
from ...amp import GradScaler
from . import wrap as wrap
from ._fully_shard import FSDPModule as FSDPModule
from ._fully_shard import UnshardHandle as UnshardHandle
from ._fully_shard import fully_shard as fully_shard
from ._fully_shard import register_fsdp_forward_method as register_fsdp_forward_method
from ._fully_shard import share_comm_ctx as share_comm_ctx
from ._wrapper import FlatParameter as FlatParameter
from ._wrapper import FullyShardedDataParallel as FullyShardedDataParallel
from .api import (
    BackwardPrefetch,
    CPUOffload,
    CPUOffloadPolicy,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    MixedPrecisionPolicy,
    OffloadPolicy,
    OptimStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)  # fmt: skip

__all__ = [
    "BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FSDPModule", "FullOptimStateDictConfig", "FullStateDictConfig",
    "FullyShardedDataParallel", "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "MixedPrecisionPolicy",
    "OffloadPolicy", "OptimStateDictConfig", "OptimStateKeyType", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType", "UnshardHandle", "fully_shard",
    "register_fsdp_forward_method",
]  # fmt: skip


class ShardedGradScaler(GradScaler):
    """`GradScaler` for parameters that are divided."""


settle(
    __name__,
    {"_flat_param": ("_wrapper",), "_runtime_utils": ("_wrapper",), "fully_sharded_data_parallel": ("_wrapper", "api", "wrap"),
     "sharded_grad_scaler": ("",)},
)
