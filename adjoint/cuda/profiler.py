"""PyTorch's `torch.cuda.profiler`: a profiler of GPUs, where there is none."""

from __future__ import annotations

from typing import Any

from .._standing import refused

_without_gpu = refused("Torch not compiled with CUDA enabled: adjoint computes on the CPU; write torch.profiler.profile()", AssertionError)


@_without_gpu
def start() -> Any: ...


@_without_gpu
def stop() -> Any: ...


@_without_gpu
def profile() -> Any: ...
