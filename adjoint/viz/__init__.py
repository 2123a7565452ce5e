"""Pictures of graphs, tables of models and curves of training, without any dependency.

Each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any as _Any

_NAMES = {
    "Figure": "plots",
    "Graph": "graphs",
    "History": "curves",
    "graph": "graphs",
    "history": "curves",
    "summary": "tables",
    "trace": "recording",
}


def __getattr__(name: str) -> _Any:
    home = _NAMES.get(name)
    if home is None:
        raise AttributeError(f"module 'adjoint.viz' has no attribute '{name}'")
    # Assigned, not only set where it is missing: a submodule of the same name would stand there by now.
    found = globals()[name] = getattr(_import_module(f".{home}", __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
