"""PyTorch's `torch.distributed.algorithms`: what processes do when they train together, and checkpointing of activations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from ..._homes import settle
from ..._standing import inert, refused
from ...nn import Module

# ---- join: processes whose inputs are of different number ---------------------------------------------------------------------------


class JoinHook:
    """What a process does after its own inputs are used up."""

    def main_hook(self) -> None:
        """While others go on."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """When all are done."""


class Joinable:
    """Something that takes part in a `Join`."""

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return JoinHook()


class Join:
    """A `with` block in which processes may have different numbers of inputs. There is one, which is done when its own are."""

    def __init__(self, joinables: Sequence[Any], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._hooks = [one.join_hook(**kwargs) for one in joinables if hasattr(one, "join_hook")] if enable else []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        for hook in self._hooks if kind is None else ():
            hook.post_hook(True)

    @staticmethod
    @inert("there is one process")
    def notify_join_context(joinable: Any) -> None:
        """Nothing happens."""


# ---- averages of parameters ---------------------------------------------------------------------------------------------------------


class ModelAverager:
    """Averages parameters over processes."""

    def __init__(self, process_group: Any = None) -> None:
        self.process_group, self.step = process_group, 0

    def average_parameters(self, params: Any) -> None:
        raise NotImplementedError


class PeriodicModelAverager(ModelAverager):
    """Averages parameters over processes, every `period` steps. Those of one process are their own average."""

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Any) -> None:
        self.step += 1


# ---- hooks for gradients on their way to other processes ----------------------------------------------------------------------------

_no_way = refused("gradients of one process go nowhere; train without a communication hook", RuntimeError)


@_no_way
def allreduce_hook(process_group: Any, bucket: Any) -> Any: ...


@_no_way
def fp16_compress_hook(process_group: Any, bucket: Any) -> Any: ...


@_no_way
def bf16_compress_hook(process_group: Any, bucket: Any) -> Any: ...


@_no_way
def fp16_compress_wrapper(hook: Any) -> Any: ...


@_no_way
def bf16_compress_wrapper(hook: Any) -> Any: ...


@_no_way
def powerSGD_hook(state: Any, bucket: Any) -> Any: ...


@_no_way
def batched_powerSGD_hook(state: Any, bucket: Any) -> Any: ...


@_no_way
def post_localSGD_hook(state: Any, bucket: Any) -> Any: ...


@_no_way
def noop_hook(_: Any, bucket: Any) -> Any: ...


@_no_way
class PowerSGDState:
    """What `powerSGD_hook` keeps."""


@_no_way
class PostLocalSGDState:
    """What `post_localSGD_hook` keeps."""


@_no_way
def register_ddp_comm_hook(comm_hook_type: Any, model: Module, state: Any = None) -> Any: ...


_HOOKS = ("default_hooks", "powerSGD_hook", "post_localSGD_hook", "debugging_hooks", "ddp_zero_hook", "optimizer_overlap_hooks")
settle(
    __name__,
    {
        "join": ("",),
        "model_averaging": ("",),
        "model_averaging.averagers": ("",),
        "ddp_comm_hooks": ("",),
        **{f"ddp_comm_hooks.{name}": ("",) for name in _HOOKS},
        "_checkpoint": ("_checkpointing",),
        "_checkpoint.checkpoint_wrapper": ("_checkpointing",),
    },
)
