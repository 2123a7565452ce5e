"""PyTorch's `torch.serialization`: reading and writing files, and the classes that a file may name besides plain data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._serialization import ALLOWED, load, save

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files that `load` reads name these classes and functions, which it then calls."""
    ALLOWED.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    return list(ALLOWED)


def clear_safe_globals() -> None:
    ALLOWED.clear()


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """`add_safe_globals` for the length of a `with` block."""
    before = get_safe_globals()
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        ALLOWED[:] = before
