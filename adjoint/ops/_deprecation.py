"""Warnings that are given once in a process, unless `torch.set_warn_always` says otherwise."""

from __future__ import annotations

GIVEN: set[str] = set()


def warn_once(message: str, stacklevel: int = 3) -> None:
    from .._settings import is_warn_always_enabled

    if message not in GIVEN or is_warn_always_enabled():
        import warnings

        GIVEN.add(message)
        warnings.warn(message, stacklevel=stacklevel)


def deprecated(name: str, other: str, example: str) -> None:
    """Say that a function has a successor."""
    warn_once(f"torch.{name} is deprecated in favor of {other} and will be removed in a future PyTorch release.\n  fix: {example}", 5)
