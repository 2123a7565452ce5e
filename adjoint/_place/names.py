"""What modules, classes and functions of adjoint are called while adjoint is torch.

Most files are called as PyTorch's, and so is what is defined in them. What a file defines that PyTorch does not have belongs to the public
module that has it too; which that is, and what stands elsewhere in PyTorch, is in `homes.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Container
from importlib import import_module
from inspect import isclass
from types import FunctionType, ModuleType
from typing import Any

from .homes import is_internal, is_own_business, layer_file, other_home

TORCH, FUNCTORCH, OURS = "torch", "functorch", "adjoint"


def our_name(module: str) -> str | None:
    """The module of ours that stands for one of PyTorch's."""
    root, dot, rest = module.partition(".")
    if root == FUNCTORCH:
        return f"{OURS}.{module}"
    return OURS + dot + rest if root == TORCH else None


def their_name(module: str) -> str:
    """What a module of ours is called in PyTorch."""
    below = module.removeprefix(OURS)
    return below[1:] if below.startswith(f".{FUNCTORCH}") else TORCH + below


def loaded(ours: str) -> ModuleType:
    return sys.modules.get(ours) or import_module(ours)


_HELPERS = (f"{OURS}._", f"{OURS}.ops._")  # files whose functions the public modules, but for the root, only use
_renamed: set[str] = set()


def rename_all() -> None:
    """Do so for what is loaded: the root, which publishes most, first, and packages after what is in them."""
    present = [name for name in sys.modules if name == OURS or name.startswith(f"{OURS}.")]
    for name in sorted(present, key=lambda name: (name != OURS, -name.count("."))):
        rename(sys.modules[name])


def rename(module: ModuleType) -> None:
    """Enter a module of ours under its name in PyTorch, and call what it defines and publishes as PyTorch does."""
    ours = module.__spec__.name if module.__spec__ else module.__name__
    theirs = their_name(ours)
    sys.modules[theirs] = module
    if ours in _renamed or is_own_business(ours):
        return
    _renamed.add(ours)
    internal = is_internal(ours)
    if not internal:
        module.__name__ = theirs
    published = getattr(module, "__all__", None)
    for name, value in list(vars(module).items()):
        if isclass(value) or isinstance(value, FunctionType):
            home = _home(value, name, ours, theirs, internal, published)
            if home is not None:
                _move(value, home)
    for value in list(vars(module).values()):
        if isinstance(value, ModuleType) and value.__name__.startswith(f"{ours}."):  # some are made by the package that they are in
            rename(value)
    if ours == f"{OURS}.nn":
        import_module(f"{OURS}.nn.modules")  # whose files the layers say that they are from


def _home(
    value: type | FunctionType, name: str, ours: str, theirs: str, internal: bool, published: Container[str] | None
) -> str | None:
    """The module that a value, found in one of ours, belongs to, if it is not to be called otherwise."""
    source = value.__module__ or ""
    if not source.startswith(OURS) or value.__name__ != name:
        return None
    if elsewhere := other_home(source, name):
        return elsewhere
    if isclass(value) and (file := layer_file(source, name)):
        return f"{TORCH}.nn.modules.{file}"
    if source == OURS and hasattr(sys.modules[OURS], name):
        return TORCH
    if internal:  # the root publishes some when they are first asked for
        return TORCH if f"{OURS}.{sys.modules[OURS]._NAMES.get(name)}" == source == ours else None
    if source in (ours, OURS):  # OURS: an op that only another module publishes
        return theirs
    if name.startswith("_") or not is_internal(source) or not (published is None or name in published):
        return None
    if ours != OURS and source.startswith(_HELPERS) and (published is None or not isclass(value)):
        return None
    return theirs


def _move(value: type | FunctionType, home: str) -> None:
    """Annotations are looked up in the module that a class says it is from; they were written in another."""
    if isclass(value) and home != their_name(value.__module__):
        written = vars(sys.modules[value.__module__])
        value.__annotations__ = {key: _evaluated(hint, written) for key, hint in vars(value).get("__annotations__", {}).items()}
    value.__module__ = home


def _evaluated(hint: Any, namespace: dict[str, Any]) -> Any:
    try:
        return eval(hint, namespace) if isinstance(hint, str) else hint
    except NameError:  # a name for type checkers only
        return hint
