"""PyTorch's `torch.backends.mkldnn`, which adjoint does not use."""

from __future__ import annotations

from contextlib import AbstractContextManager

from ._absent import flags_of

enabled = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    return False


def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True) -> AbstractContextManager[None]:
    """Settings for the length of a `with` block."""
    settings = dict(locals())
    return flags_of(globals(), settings)
