"""How PyTorch marks what it will keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_BACK_COMPAT_OBJECTS: dict[Any, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[F], F]:
    """Mark a function or class as one that will, or will not, stay as it is."""

    def mark(fn: F) -> F:
        _MARKED_WITH_COMPATIBILITY[fn] = None
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS[fn] = None
        return fn

    return mark
