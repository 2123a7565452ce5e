"""Tracebacks without adjoint's own frames: what is printed of an error that nobody caught.

Only the printing changes. The error keeps its whole traceback, for debuggers, pytest and `logging`. With `ADJOINT_TRACEBACK=full` in the
environment, or `ad.set_full_tracebacks(True)`, that is printed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import print_exception
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from ._site import is_users

_NUMPY = str(np.__file__).removesuffix("__init__.py")
# Errors of these types, from deeper inside than this, may be adjoint's own. Those that are meant for users say what to do.
UNMEANT = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError)
SHALLOW = 2
_full = os.environ.get("ADJOINT_TRACEBACK") == "full"


def set_full_tracebacks(mode: bool) -> None:
    """Whether the traceback of an error that nobody caught is printed with adjoint's own frames; those of the program are always shown.
    The environment variable `ADJOINT_TRACEBACK=full` does the same from the start."""
    global _full
    _full = bool(mode)


def show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """What `sys.excepthook` does with an error that nobody caught."""
    if _full:
        print_exception(kind, error, traceback)
        return
    with folded(error, traceback):
        print_exception(kind, error, error.__traceback__)  # which knows the cells of notebooks; `sys.__excepthook__` reads files


@contextmanager
def folded(error: BaseException, traceback: TracebackType | None) -> Iterator[None]:
    """For as long as the block runs, an error and those that led to it have tracebacks of the program's own frames."""
    whole = [(one, one.__traceback__) for one in chain(error)]
    notes = list(getattr(error, "__notes__", ()))
    try:
        for one, own in whole:
            one.__traceback__ = of_frames(shown(traceback if one is error else own))
        hidden = len(frames_of(traceback)) - len(frames_of(error.__traceback__))
        if hidden > SHALLOW and isinstance(error, UNMEANT) and not is_users(frames_of(traceback)[-1].tb_frame):
            error.add_note(f"({hidden} frames inside adjoint are not shown; ADJOINT_TRACEBACK=full shows them.)")
        yield
    finally:
        for one, own in whole:
            one.__traceback__ = own
        if hasattr(error, "__notes__"):
            error.__notes__ = notes


def chain(error: BaseException) -> list[BaseException]:
    """An error, those that it was raised from or while handling, and those that it groups."""
    found: list[BaseException] = []
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is not None and not any(one is other for other in found):
            found.append(one)
            left += [one.__cause__, one.__context__, *(one.exceptions if isinstance(one, BaseExceptionGroup) else ())]
    return found


def frames_of(traceback: TracebackType | None) -> list[TracebackType]:
    found = []
    while traceback is not None:
        found.append(traceback)
        traceback = traceback.tb_next
    return found


def shown(traceback: TracebackType | None) -> list[TracebackType]:
    """The entries of a traceback that are the program's; all of them if none is, as for an error in a thread of adjoint's own."""
    entries = frames_of(traceback)
    own = [entry for entry, hidden in zip(entries, hidden_among([entry.tb_frame for entry in entries]), strict=True) if not hidden]
    return own or entries


def hidden_among(frames: list[FrameType]) -> Iterator[bool]:
    """Which frames are adjoint's, or NumPy's on behalf of adjoint. Functions of the user that adjoint calls, such as `forward`, are not."""
    inside = False
    for frame in frames:
        inside = not is_users(frame) or (inside and frame.f_code.co_filename.startswith(_NUMPY))
        yield inside


def of_frames(entries: list[TracebackType]) -> TracebackType | None:
    made: TracebackType | None = None
    for entry in reversed(entries):
        made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made


# ---- IPython and notebooks ----------------------------------------------------------------------------------------------------------


def lines_of_ipython(reporter: Any, kind: Any, error: Any, traceback: Any, *args: Any, **keywords: Any) -> Any:
    """The lines that IPython shows of an error in a cell, by its own `reporter`."""
    plain = type(reporter).structured_traceback
    if _full or not isinstance(error, BaseException) or not isinstance(traceback, TracebackType):
        return plain(reporter, kind, error, traceback, *args, **keywords)
    with folded(error, traceback):
        lines = plain(reporter, kind, error, error.__traceback__, *args, **keywords)
    reporter.tb = traceback  # for `%debug`
    return lines
