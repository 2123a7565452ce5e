"""The finder that gives the modules of adjoint for those of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, spec_from_loader
from types import CodeType, ModuleType
from typing import Any

from .names import OURS, our_name, rename
from .trees import register_tables


class Finder(MetaPathFinder):
    """Finds what is below `torch` and `functorch` in adjoint, and sees to it that what is loaded of adjoint gets both its names.
    optree is told of the tables of modules when it is loaded."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        after = rename if fullname.startswith(f"{OURS}.") else register_tables if fullname == "optree" else None
        if after is not None:
            own = PathFinder.find_spec(fullname, path)
            if own is not None and own.loader is not None:
                own.loader = _Followed(own.loader, after)
            return own
        ours = our_name(fullname)
        own = None if ours is None else _spec_of(ours)
        if own is None:
            return None
        spec = spec_from_loader(fullname, _Same(own), origin=own.origin, is_package=own.submodule_search_locations is not None)
        assert spec is not None
        spec.submodule_search_locations = own.submodule_search_locations
        return spec


def _spec_of(ours: str) -> ModuleSpec | None:
    try:
        return find_spec(ours)
    except ModuleNotFoundError:  # its parent is no package, or missing too
        return None


class _Followed(Loader):
    """Loads a module as ever, and then does something with it: gives a module of adjoint its names."""

    def __init__(self, loader: Loader, after: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._after(module)


class _Same(InspectLoader):
    """Hands out a module of adjoint as it is. `python -m torch.x` asks for its code instead."""

    def __init__(self, own: ModuleSpec) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return import_module(self._own.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own  # the import system has put its own there, and relative imports would suffer
        rename(module)

    def get_code(self, fullname: str) -> CodeType | None:
        return _inspected(self._own).get_code(self._own.name)

    def get_source(self, fullname: str) -> str | None:
        return _inspected(self._own).get_source(self._own.name)

    def is_package(self, fullname: str) -> bool:
        return self._own.submodule_search_locations is not None


def _inspected(spec: ModuleSpec) -> InspectLoader:
    if not hasattr(spec.loader, "get_code"):
        raise ImportError(f"{spec.name} has no source of its own", name=spec.name)
    return spec.loader  # type: ignore[return-value]
