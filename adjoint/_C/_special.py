"""`torch.special`'s functions by the names that PyTorch has for them in C, and that graphs show them with: `special_erf`."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from .. import special

    return getattr(special, name.removeprefix("special_"))
