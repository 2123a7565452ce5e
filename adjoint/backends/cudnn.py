"""PyTorch's `torch.backends.cudnn`, where there is no GPU."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from ._absent import flags_of

allow_tf32 = True
benchmark = False
benchmark_limit = 10
deterministic = False
enabled = True


def is_available() -> bool:
    return False


def is_acceptable(tensor: Any) -> bool:
    return False


def version() -> int | None:
    return None


def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False, allow_tf32: bool = True
) -> AbstractContextManager[None]:
    """Settings for the length of a `with` block."""
    settings = dict(locals())
    return flags_of(globals(), settings)
