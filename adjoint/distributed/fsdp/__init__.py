"""PyTorch's `torch.distributed.fsdp`: parameters of which each process has a part. One process has all of them.

`FullyShardedDataParallel` needs a GPU in PyTorch too, and is refused as there. `fully_shard` leaves the parameters as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ..._homes import settle
from ..._standing import inert, refused
from ...amp import GradScaler
from ...nn import Module
from .._groups import get_rank
from . import wrap as wrap

__all__ = [
    "BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FSDPModule", "FullOptimStateDictConfig", "FullStateDictConfig",
    "FullyShardedDataParallel", "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "MixedPrecisionPolicy",
    "OffloadPolicy", "OptimStateDictConfig", "OptimStateKeyType", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType", "UnshardHandle", "fully_shard",
    "register_fsdp_forward_method",
]  # fmt: skip

# ---- settings -----------------------------------------------------------------------------------------------------------------------


class ShardingStrategy(Enum):
    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


class OptimStateKeyType(Enum):
    PARAM_NAME = auto()
    PARAM_ID = auto()


@dataclass(frozen=True)
class MixedPrecision:
    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type[Module]] = ()


@dataclass
class CPUOffload:
    offload_params: bool = False


@dataclass
class StateDictConfig:
    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    pass


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    pass


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    pin_memory: bool = True


# ---- the older form -----------------------------------------------------------------------------------------------------------------

_needs_gpu = refused(
    "FSDP needs a non-CPU accelerator device, but no accelerator device is detected; "
    "train the model itself, or in nn.parallel.DistributedDataParallel",
    RuntimeError,
)


class FullyShardedDataParallel(Module):
    """A module whose parameters are divided over processes. It needs a GPU, in PyTorch too."""

    @_needs_gpu
    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None: ...

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """Those below a module: none."""
        return [one for one in module.modules() if isinstance(one, FullyShardedDataParallel)]

    @staticmethod
    @contextmanager
    def summon_full_params(module: Module, *args: Any, **kwargs: Any) -> Iterator[None]:
        """The parameters of a module are whole, inside the `with` block and outside."""
        yield

    @staticmethod
    @contextmanager
    def state_dict_type(module: Module, *args: Any, **kwargs: Any) -> Iterator[None]:
        """The state dict of a module is whole, inside the `with` block and outside."""
        yield

    @staticmethod
    @_needs_gpu
    def set_state_dict_type(module: Module, *args: Any, **kwargs: Any) -> Any: ...

    @staticmethod
    @_needs_gpu
    def optim_state_dict(model: Module, optim: Any, *args: Any, **kwargs: Any) -> Any: ...

    @staticmethod
    @_needs_gpu
    def optim_state_dict_to_load(model: Module, optim: Any, optim_state_dict: Any, *args: Any, **kwargs: Any) -> Any: ...

    @staticmethod
    @_needs_gpu
    def rekey_optim_state_dict(optim_state_dict: Any, optim_state_key_type: Any, model: Module, *args: Any, **kwargs: Any) -> Any: ...


class FlatParameter:
    """Parameters of several modules in one tensor. There is none."""


class ShardedGradScaler(GradScaler):
    """`GradScaler` for parameters that are divided. They are whole."""


# ---- the newer form -----------------------------------------------------------------------------------------------------------------

_whole = inert("one process has all parameters, and no gradients to combine")


class UnshardHandle:
    """The wait for parameters, which are there."""

    @_whole
    def wait(self) -> None:
        """Nothing happens."""


class FSDPModule:
    """What `fully_shard` adds to the class of a module."""

    @_whole
    def reshard(self) -> None:
        """Nothing happens."""

    @_whole
    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Nothing happens."""
        return UnshardHandle() if async_op else None

    @_whole
    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Nothing happens."""

    @_whole
    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Nothing happens."""

    @_whole
    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Nothing happens."""

    @_whole
    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Nothing happens."""

    @_whole
    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Nothing happens."""

    @_whole
    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Nothing happens."""

    @_whole
    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """Nothing happens."""


def fully_shard(
    module: Any, *, mesh: Any = None, reshard_after_forward: Any = None, shard_placement_fn: Any = None,
    mp_policy: MixedPrecisionPolicy | None = None, offload_policy: OffloadPolicy | None = None, ignored_params: Any = None,
) -> Any:  # fmt: skip
    """Make a module, or several, `FSDPModule`s, in place. Their parameters stay as they are, because one process has all of them."""
    if mesh is None:
        get_rank()  # an error where there is no group
    if mp_policy is not None and mp_policy != MixedPrecisionPolicy(cast_forward_inputs=mp_policy.cast_forward_inputs):
        raise NotImplementedError("fully_shard: adjoint computes in the parameters' dtype; write torch.autocast('cpu', dtype) instead")
    for one in module if isinstance(module, list | tuple) else (module,):
        cls = type(one)
        if not isinstance(one, FSDPModule):
            one.__class__ = type(f"FSDP{cls.__name__}", (FSDPModule, cls), {"__module__": cls.__module__})
    return module


@_whole
def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Nothing happens."""


@_whole
def share_comm_ctx(modules: list[Any]) -> None:
    """Nothing happens."""


settle(
    __name__,
    dict.fromkeys(("_flat_param", "_fully_shard", "_runtime_utils", "api", "fully_sharded_data_parallel", "sharded_grad_scaler"), ("",)),
)
