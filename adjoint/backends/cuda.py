"""PyTorch's `torch.backends.cuda`, where there is no GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._state import ATTENTION_BACKENDS
from ._absent import Absent

matmul = Absent(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
)
cufft_plan_cache = Absent(size=0, max_size=0)

def is_built() -> bool:
    return False


def flash_sdp_enabled() -> bool:
    return ATTENTION_BACKENDS["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Whether attention may be computed this way; there is one way here, which stands for those that PyTorch has on a CPU."""
    ATTENTION_BACKENDS["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    return ATTENTION_BACKENDS["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Whether attention may be computed this way; there is one way here, which stands for those that PyTorch has on a CPU."""
    ATTENTION_BACKENDS["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    return ATTENTION_BACKENDS["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Whether attention may be computed this way; there is one way here, which stands for those that PyTorch has on a CPU."""
    ATTENTION_BACKENDS["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    return ATTENTION_BACKENDS["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Whether attention may be computed this way; there is one way here, which stands for those that PyTorch has on a CPU."""
    ATTENTION_BACKENDS["cudnn"] = bool(enabled)


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """The same for the length of a `with` block."""
    before = dict(ATTENTION_BACKENDS)
    ATTENTION_BACKENDS.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        ATTENTION_BACKENDS.update(before)
