"""Pictures of graphs, tables of models and curves of training, without any dependency.

Each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any as _Any

_NAMES: dict[str, str] = {"trace": "recording"}


def __getattr__(name: str) -> _Any:
    home = _NAMES.get(name)
    if home is None:
        raise AttributeError(f"module 'adjoint.viz' has no attribute '{name}'")
    return globals().setdefault(name, getattr(_import_module(f".{home}", __name__), name))


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
