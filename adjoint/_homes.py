"""Modules of PyTorch's whose names stand in other modules here.

Libraries import a name from the file in which PyTorch keeps it. Such a file is a row in a table of the package that it belongs to, with
the modules of ours that its names are in; they are imported when a name is first asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Gathered(ModuleType):
    """A module that has the names of others."""

    def __init__(self, name: str, sources: tuple[str, ...]) -> None:
        super().__init__(name, f"What PyTorch keeps in `torch{name[name.index('.'):]}`.")
        self.__spec__ = ModuleSpec(name, None)
        self.__path__: list[str] = []  # a package: others may be settled below it
        self._sources = sources

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [name for name in dir(self) if not name.startswith("_")]
        if name == "__file__" and self._sources[0] in sys.modules:  # where `inspect` looks for the source of a class
            return sys.modules[self._sources[0]].__file__
        if not name.startswith("__"):
            for source in self._sources:
                found = getattr(import_module(source), name, self)
                if found is not self:
                    return found
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return sorted({name for source in self._sources for name in vars(import_module(source)) if not name.startswith("__")})


def settle(package: str, homes: Mapping[str, tuple[str, ...]], within: str = "") -> None:
    """Put modules below a package, each with the names of the modules that `homes` lists for it. Those stand below `within`, or below
    the package itself, which "" names."""
    for name, sources in homes.items():
        module = Gathered(f"{package}.{name}", tuple(f"{within or package}.{source}".rstrip(".") for source in sources))
        for source in reversed(module._sources):  # classes that are there already can be listed: vars(torch.nn.modules.activation)
            vars(module).update({key: value for key, value in vars(sys.modules.get(source, module)).items() if isinstance(value, type)})
        parent, _, last = module.__name__.rpartition(".")
        sys.modules[module.__name__] = module
        setattr(sys.modules[parent], last, module)
