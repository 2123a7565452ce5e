"""PyTorch's `torch.serialization`. What a file may hold is fixed, so that lists of classes to allow change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._serialization import load, save

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

_allowed: list[Any] = []


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Kept; `load` runs no code of a file, whatever it names."""
    _allowed.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    return list(_allowed)


def clear_safe_globals() -> None:
    _allowed.clear()


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """Kept for the length of a `with` block."""
    before = get_safe_globals()
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _allowed[:] = before
