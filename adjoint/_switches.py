"""Settings of parts of PyTorch that are not here, such as `torch._dynamo.config`: they can be set and read, and there is nothing to set."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Switches(ModuleType):
    """A module of settings. As in PyTorch, a setting that does not exist cannot be set."""

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        super().__init__(name, "Settings that are kept, of what is not here.")
        self.__dict__["__spec__"] = ModuleSpec(name, None)
        self.__dict__.update(settings)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__ and not name.startswith("__"):
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        self.__dict__[name] = value

    @contextmanager
    def patch(self, arg1: Any = None, arg2: Any = None, **changes: Any) -> Iterator[None]:
        """Change settings inside a `with` block or a function: `patch(name=value)`, `patch("name", value)` or `patch({"name": value})`."""
        changes = {**arg1} if isinstance(arg1, dict) else {arg1: arg2} if arg1 is not None else changes
        before = {name: getattr(self, name) for name in changes}
        try:
            for name, value in changes.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def get_config_copy(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    shallow_copy_dict = get_config_copy


def switches(package: str, name: str = "config", **settings: Any) -> Switches:
    """Settings as a module below a package."""
    made = Switches(f"{package}.{name}", settings)
    sys.modules[made.__name__] = made
    return made
