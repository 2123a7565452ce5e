"""What is said of a name of PyTorch's that adjoint does not have, where a program ends because of it."""

from __future__ import annotations

import sys
from traceback import print_exception
from types import ModuleType, TracebackType

from .names import OURS, TORCH, our_name

_CHECK = "`python -m adjoint check FILE` lists every missing name that a program uses."


def explain(error: BaseException) -> None:
    """Say of a name that is missing in adjoint that it is, under its PyTorch name."""
    if isinstance(error, AttributeError):
        owner = error.obj.__name__ if isinstance(error.obj, ModuleType) else ""
        name = f"{owner}.{error.name}"
    elif isinstance(error, ImportError):
        owner = name = error.name or ""
        found = str(error).split("'")
        if str(error).startswith("cannot import name") and len(found) > 1:
            name = f"{owner}.{found[1]}"
    else:
        return
    if our_name(owner) or owner.partition(".")[0] == OURS:
        note = f"adjoint has no {TORCH + name.removeprefix(OURS).removeprefix(TORCH)} yet. {_CHECK}"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)


def install() -> None:
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        explain(error)
        if before is sys.__excepthook__:
            print_exception(kind, error, traceback)  # which knows the lines of notebooks, too
        else:
            before(kind, error, traceback)

    sys.excepthook = hook
