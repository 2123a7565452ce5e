"""What adjoint has for a name of PyTorch's."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple

from ..._place.names import TORCH, our_name
from ..._standing import standing_of

_asked_for: set[str] = set()  # modules of ours that are loaded because a program imports them, and not by the packages that they are in


def is_torch(module: str) -> bool:
    return our_name(module) is not None


def ours(name: str) -> str:
    """What a module of PyTorch's is called here."""
    found = our_name(name)
    assert found is not None
    return found


class Answer(NamedTuple):
    """How a name stands: "there", "missing", "refused", "inert" or "unknown"."""

    kind: str
    name: str  # as far as it was looked at: of a missing name, up to the part that is missing
    what: str = ""
    error: type[Exception] | None = None  # what is raised
    value: Any = None  # what it is here, if it is there


@cache
def module(name: str) -> ModuleType | None:
    """The module that `import name` gives, None where that fails."""
    if "." in name and module(name.rpartition(".")[0]) is None:
        return None
    if ours(name) not in sys.modules:
        _asked_for.add(ours(name))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(ours(name))
    except ImportError:
        return None


def importing(name: str) -> Answer:
    """What `import name` does."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        part = ".".join(parts[:end])
        if module(part) is None:
            return Answer("missing", part, f"adjoint has no {part}", ModuleNotFoundError)
    return _standing(name, module(name))


def looking_up(name: str, imported: Collection[str] = ()) -> Answer:
    """What the dotted `name` stands for in a program that imports these modules."""
    parts = name.split(".")
    value: Any = module(parts[0])
    for end in range(1, len(parts)):
        owner, part = ".".join(parts[:end]), ".".join(parts[: end + 1])
        if isinstance(value, property):  # what it gives is known when the program runs
            return Answer("there", owner)
        inside = value if part == f"{TORCH}.{TORCH}" else _member(value, parts[end])
        if isinstance(inside, ModuleType) and inside.__name__ == ours(part) and not _reachable(part, value, imported):
            return Answer("unknown", part, f"{part} is there only after `import {part}`", AttributeError)
        if inside is _NOTHING:
            if _is_imported(part, imported) and module(part) is not None:
                inside = module(part)
            elif _comes_with_others(part):
                return Answer("unknown", part, f"{part} comes with another package than PyTorch", AttributeError)
            elif isinstance(value, ModuleType) and hasattr(value, "__path__") and _is_module(part):
                return Answer("unknown", part, f"{part} is there only after `import {part}`", AttributeError)
            else:
                return Answer("missing", part, f"adjoint has no {part}", AttributeError)
        value = inside
        answer = _standing(part, value)
        if answer.kind != "there":
            return answer
    return _standing(name, value)


_NOTHING = object()
# Names that packages for other devices put into torch: PyTorch itself has none of them.
_DEVICES = frozenset(f"{TORCH}.{name}" for name in ("gcu", "hpu", "mlu", "musa", "neuron", "npu", "sdaa", "spyre"))


def _comes_with_others(name: str) -> bool:
    """Whether PyTorch does not have a name either, unless a compiled library or another package brings it."""
    parts = name.split(".")
    if len(parts) > 2 and parts[1] in ("classes", "ops"):
        return parts[2] not in ("aten", "prim", "prims")
    return ".".join(parts[:2]) in _DEVICES


def _member(owner: Any, name: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(owner, name, _NOTHING)
    except Exception:  # whatever a property of an object raises
        return _NOTHING


def _reachable(name: str, owner: Any, imported: Collection[str]) -> bool:
    """Whether a submodule is there without an import of it."""
    if ours(name) not in _asked_for or _is_imported(name, imported):
        return True
    lazily = getattr(owner, "__getattr__", None)
    try:
        return lazily is not None and lazily(name.rpartition(".")[2]) is not None
    except (AttributeError, ImportError):
        return False


def _is_imported(name: str, imported: Collection[str]) -> bool:
    return any(other == name or other.startswith(f"{name}.") for other in imported)


def _is_module(name: str) -> bool:
    try:
        return find_spec(ours(name)) is not None
    except (ImportError, ValueError):
        return False


def _standing(name: str, value: Any) -> Answer:
    standing = standing_of(value)
    if standing is None:
        return Answer("there", name, value=value)
    if standing.kind == "inert":
        return Answer("inert", name, f"{name} does nothing here: {standing.reason}", value=value)
    return Answer("refused", name, f"{name} is refused: {standing.reason}", standing.error, value)
