"""PyTorch's `torch.cuda.nvtx`: marks for a profiler of GPUs, where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._standing import refused

_without_nvtx = refused(
    "NVTX functions not installed. Are you sure you have a CUDA build? adjoint computes on the CPU; write torch.profiler.record_function",
    RuntimeError,
)


@_without_nvtx
def range_push(msg: str) -> Any: ...


@_without_nvtx
def range_pop() -> Any: ...


@_without_nvtx
def mark(msg: str) -> Any: ...


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Refused where the block is entered; libraries decorate functions with it that nobody may call here."""
    range_push(msg.format(*args, **kwargs))
    yield
