"""What the backends have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Absent:
    """A backend, or a part of one, that is not available. Its settings can be set and read."""

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)

    def is_available(self) -> bool:
        return False

    def is_built(self) -> bool:
        return False


@contextmanager
def flags_of(module: dict[str, Any], settings: dict[str, Any]) -> Iterator[None]:
    """Change settings of a backend for the length of a `with` block."""
    before = {name: module[name] for name in settings}
    module.update(settings)
    try:
        yield
    finally:
        module.update(before)
