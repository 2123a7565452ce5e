"""PyTorch's wrapper for several processes, which adjoint does not start."""

from __future__ import annotations

from typing import Any

from ..module import Module


class DistributedDataParallel(Module):
    """Programs can import and name it; making one needs several processes."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call init_process_group: adjoint runs a program in one "
            "process; train the module itself, without the wrapper"
        )
