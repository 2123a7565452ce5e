"""PyTorch's `torch.nn.utils._per_sample_grad`, which `torch.func` came after."""

from __future__ import annotations

from typing import Any

from ..._standing import refused


@refused("adjoint takes gradients by examples with torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))")
def call_for_per_sample_grads(
    module: Any, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Any: ...
