"""Communication hooks: what happens to the gradients of a bucket between processes. A hook returns a Future of what they become."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from ..._dtype import bfloat16, float16
from ..._standing import refused
from ..._tensor import Tensor
from ...futures import Future, finished
from .._buckets import GradBucket
from .._collectives import all_reduce
from .._groups import require

Hook = Callable[[Any, GradBucket], "Future[Tensor]"]


def average(tensor: Tensor, group: Any) -> Future[Tensor]:
    """Average a tensor, in place."""
    found = require(group)
    all_reduce(tensor.div_(found.size()), group=found)
    return finished(tensor)


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """What is done without a hook: the average."""
    return average(bucket.buffer(), process_group)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """The average, in float16: half as much is sent."""
    return _compressed(float16, allreduce_hook, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """The average, in bfloat16: half as much is sent, as large as it may be."""
    return _compressed(bfloat16, allreduce_hook, process_group, bucket)


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gets gradients in float16."""

    def fp16_compress_wrapper_hook(hook_state: Any, bucket: GradBucket) -> Future[Tensor]:
        return _compressed(float16, hook, hook_state, bucket)

    return fp16_compress_wrapper_hook


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gets gradients in bfloat16."""

    def bf16_compress_wrapper_hook(hook_state: Any, bucket: GradBucket) -> Future[Tensor]:
        return _compressed(bfloat16, hook, hook_state, bucket)

    return bf16_compress_wrapper_hook


def _compressed(dtype: Any, hook: Hook, state: Any, bucket: GradBucket) -> Future[Tensor]:
    whole = bucket.buffer()
    bucket.set_buffer(whole.to(dtype))
    return hook(state, bucket).then(lambda sent: whole.copy_(sent.value()))


def noop_hook(_: Any, bucket: GradBucket) -> Future[Tensor]:
    """Nothing is sent: to see what sending costs."""
    return finished(bucket.buffer())


class PostLocalSGDState:
    """When `post_localSGD_hook` stops averaging over all processes, and over which it goes on."""

    def __init__(self, process_group: Any, subgroup: Any, start_localSGD_iter: int, post_local_gradient_allreduce: bool = True) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter, self.post_local_gradient_allreduce = start_localSGD_iter, post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        if bucket.is_last():
            self.iter += 1

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("process_group", "subgroup")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = self.subgroup = None
        vars(self).update(state)


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Tensor]:
    """The average over all processes at first, then over a group; an averager of parameters has to do the rest."""
    everywhere = state.iter < state.start_localSGD_iter
    state.maybe_increase_iter(bucket)
    if everywhere:
        return average(bucket.buffer(), state.process_group)
    return average(bucket.buffer(), state.subgroup) if state.post_local_gradient_allreduce else finished(bucket.buffer())


_without_gpus = refused("it quantizes gradients on a GPU; use fp16_compress_hook or powerSGD_hook", RuntimeError)


@_without_gpus
def quantization_pertensor_hook(process_group: Any, bucket: GradBucket) -> Any: ...


@_without_gpus
def quantization_perchannel_hook(process_group: Any, bucket: GradBucket, bucket_size: int = 512) -> Any: ...


def _power(batched: bool, rank: int) -> Callable[[Any, Any], None]:
    def register(model: Any, state: Any) -> None:
        from . import _power_sgd

        hook = _power_sgd.batched_powerSGD_hook if batched else _power_sgd.powerSGD_hook
        model.register_comm_hook(_power_sgd.PowerSGDState(state, rank), hook)

    return register


def _plain(hook: Hook) -> Callable[[Any, Any], None]:
    return lambda model, state: model.register_comm_hook(state, hook)


_REGISTER: dict[str, Callable[[Any, Any], None]] = {
    "ALLREDUCE": _plain(allreduce_hook),
    "FP16_COMPRESS": _plain(fp16_compress_hook),
    "BF16_COMPRESS": _plain(bf16_compress_hook),
    "QUANTIZE_PER_TENSOR": _plain(quantization_pertensor_hook),
    "QUANTIZE_PER_CHANNEL": _plain(quantization_perchannel_hook),
    "POWER_SGD": _power(False, 1),
    "POWER_SGD_RANK2": _power(False, 2),
    "BATCHED_POWER_SGD": _power(True, 1),
    "BATCHED_POWER_SGD_RANK2": _power(True, 2),
    "NOOP": _plain(noop_hook),
}
DDPCommHookType = Enum("DDPCommHookType", {name: name for name in _REGISTER})  # type: ignore[misc]


def register_ddp_comm_hook(comm_hook_type: Any, model: Any, state: Any = None) -> None:
    """Register one of the hooks above by its name; `state` is a group."""
    _REGISTER[comm_hook_type.value](model, state)
