"""`torch.linalg`'s functions by the names that PyTorch has for them in C, and that graphs show them with: `linalg_norm`."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from .. import linalg

    return getattr(linalg, name.removeprefix("linalg_"))
