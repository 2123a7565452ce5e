"""The arguments of `DistributedDataParallel`, as far as they need looking at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter as Argument
from inspect import signature
from typing import Any

from ..._site import warn
from ...distributed._buckets import DEFAULT_CAP, DEFAULT_FIRST_CAP, MEGABYTE, GradBucket
from ..module import Module
from ..parameter import UninitializedParameter


def check_parameters(module: Module, ignored: set[str], some_delayed: bool) -> None:
    parameters = [one for name, one in module.named_parameters() if name not in ignored]
    if any(isinstance(one, UninitializedParameter) for one in parameters):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy forward pass to correctly "
            "initialize the modules"
        )
    if not any(one.requires_grad for one in parameters) and not some_delayed:
        raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.")
    kinds = {one.device.type for one in parameters}
    if len(kinds) > 1:
        raise ValueError(
            f"DistributedDataParallel's input module must be on the same type of devices, but input module parameters locate in {kinds}."
        )


def when_to_sync_buffers(broadcast_buffers: bool | None, forward_sync_buffers: bool | None) -> tuple[bool, bool]:
    """Whether the first process's buffers are taken before each forward pass, and at the start."""
    if broadcast_buffers is not None:
        warn(
            "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead, which takes the first process's buffers at the start "
            "even if it is False.",
            FutureWarning,
        )
    if forward_sync_buffers is not None:
        return forward_sync_buffers, True
    return broadcast_buffers is not False, broadcast_buffers is not False


def caps(megabytes: float | None, several: Sequence[float] | None) -> list[int]:
    """How many bytes the first bucket has, the second and so on; the last number holds for all that follow."""
    if several:
        return [int(one * MEGABYTE) for one in several]
    return [DEFAULT_FIRST_CAP, DEFAULT_CAP] if megabytes is None else [int(megabytes * MEGABYTE)]


def check_hook(hook: Callable[..., Any]) -> None:
    """Refuse what cannot be a communication hook."""
    if not callable(hook):
        raise TypeError("Communication hook must be callable.")
    arguments = signature(hook)
    bucket = arguments.parameters.get("bucket")
    if bucket is not None and not _may_be(bucket.annotation, GradBucket.__name__):
        raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
    if not _may_be(arguments.return_annotation, "Future"):
        raise ValueError("Communication hook: return annotation should be torch.futures.Future[torch.Tensor].")


def _may_be(annotation: Any, name: str) -> bool:
    """Whether an annotation, perhaps as text, names a class, or does not say."""
    return annotation in (Argument.empty, Any, "Any") or name in str(annotation)
