"""PyTorch's `torch.onnx`, which adjoint does not have: programs can import it, and are told when they call it."""

from __future__ import annotations

from typing import Any

from ._standing import refused


@refused("adjoint does not write ONNX files; write torch.save(model.state_dict(), path), and export from PyTorch after load_state_dict")
def export(model: Any, *args: Any, **kwargs: Any) -> None: ...


def is_in_onnx_export() -> bool:
    """False: nothing is being exported."""
    return False
