"""What is used of PyTorch's `torch.distributed.utils`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..nn import Module
from ._replicas import broadcast_coalesced


def _sync_module_states(
    module: Module, process_group: Any, broadcast_bucket_size: int, src: int, params_and_buffers_to_ignore: Sequence[str],
    broadcast_buffers: bool = True,
) -> None:  # fmt: skip
    """Give the parameters and buffers of a module the values that process `src` has."""
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    states = [tensor for name, tensor in named if name not in params_and_buffers_to_ignore]
    _sync_params_and_buffers(process_group, states, broadcast_bucket_size, src)


def _sync_params_and_buffers(process_group: Any, module_states: Sequence[Any], broadcast_bucket_size: int, src: int) -> None:
    broadcast_coalesced(process_group, module_states, broadcast_bucket_size, src)
