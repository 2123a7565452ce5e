"""What is used of PyTorch's `torch.distributed.utils`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..nn import Module
from ._collectives import broadcast


def _sync_module_states(
    module: Module, process_group: Any, broadcast_bucket_size: int, src: int, params_and_buffers_to_ignore: Sequence[str],
    broadcast_buffers: bool = True,
) -> None:  # fmt: skip
    """Give the parameters and buffers of a module the values that process `src` has."""
    buffers = module.named_buffers() if broadcast_buffers else ()
    for name, tensor in (*module.named_parameters(), *buffers):
        if name not in params_and_buffers_to_ignore:
            broadcast(tensor, src, process_group)


def _sync_params_and_buffers(process_group: Any, module_states: Sequence[Any], broadcast_bucket_size: int, src: int) -> None:
    for tensor in module_states:
        broadcast(tensor, src, process_group)
