"""`torch.fft`'s functions by the names that PyTorch has for them in C, and that graphs show them with: `fft_rfft`."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from .. import fft

    return getattr(fft, name.removeprefix("fft_"))
