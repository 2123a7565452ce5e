"""PyTorch's `torch.backends.mha`: whether layers of a Transformer may take a shorter way in evaluation. Here there is one way."""

from __future__ import annotations

_fastpath = True


def get_fastpath_enabled() -> bool:
    """What `set_fastpath_enabled` has set; True by default."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Kept; the results are the same."""
    global _fastpath
    _fastpath = value
