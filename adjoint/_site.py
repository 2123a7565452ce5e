"""Source locations: which line of the user's code did this.

A site is `(code object, instruction offset)` of the first frame outside adjoint: two references, taken in about 0.1 µs, turned into a file
name, a line number and the source text only when somebody asks.
"""

from __future__ import annotations

import linecache
import sys
import warnings
from types import CodeType, FrameType
from typing import Any, NamedTuple

make_tuple = tuple.__new__  # in half the time that `Site(...)` takes
_PACKAGE = __file__.removesuffix("_site.py")
GENERATED = "<adjoint "  # file names of generated code begin with this


# File names known to be the user's, and adjoint's: the check on the fast path is one look-up in a set.
USER_FILES: set[str] = set()
OWN_FILES: set[str] = set()


def is_user(filename: str) -> bool:
    """Decide about a file name that is met for the first time."""
    own = filename.startswith((_PACKAGE, GENERATED)) or filename.endswith("contextlib.py")
    (OWN_FILES if own else USER_FILES).add(filename)
    return not own


class Site(NamedTuple):
    code: CodeType
    offset: int

    @classmethod
    def at_line(cls, code: CodeType, line: int) -> Site:
        """The first instruction of a line."""
        return cls(code, next((2 * place for place, position in enumerate(code.co_positions()) if position[0] == line), -1))

    @property
    def filename(self) -> str:
        return self.code.co_filename

    @property
    def line(self) -> int:
        positions = list(self.code.co_positions())
        found = positions[self.offset // 2][0] if self.offset >= 0 else None
        return found or self.code.co_firstlineno

    @property
    def text(self) -> str:
        return linecache.getline(self.filename, self.line).strip()

    @property
    def where(self) -> str:
        """`src/train.py:41`, as seen from the working directory, which editors and terminals can follow; `cell 3, line 4` in a notebook."""
        return f"cell {cell}, line {self.line}" if (cell := notebook_cell(self.filename)) else f"{relative(self.filename)}:{self.line}"

    @property
    def caret(self) -> str:
        """A line that marks, under `str(site)`, the expression that did it; empty where that is the whole line or not known."""
        line, last, start, end = list(self.code.co_positions())[self.offset // 2] if self.offset >= 0 else (None,) * 4
        raw = linecache.getline(self.filename, self.line)
        if line is None or start is None or end is None or not raw.strip():
            return ""
        encoded = raw.encode()  # columns count bytes
        first = len(encoded[:start].decode(errors="replace"))
        stop = len(encoded[:end].decode(errors="replace")) if last == line else len(raw.rstrip())
        before, text = len(raw) - len(raw.lstrip()), raw.strip()
        if stop - first >= len(text):
            return ""
        return " " * (len(self.where) + 3 + first - before) + "^" * (stop - first)

    def __str__(self) -> str:
        return f"{self.where}   {self.text}".rstrip()


class StepSite(Site):
    """A line that had an optimizer change parameters."""

    __slots__ = ()


class PassSite(Site):
    """A line that ran a backward pass."""

    __slots__ = ()


def relative(filename: str) -> str:
    """A path as seen from the working directory, if it lies there."""
    import os

    try:
        inside = os.path.relpath(filename)
    except (OSError, ValueError):  # the working directory is gone, or on another drive
        return filename
    return filename if inside.startswith(os.pardir) or filename.startswith("<") else inside


def notebook_cell(filename: str) -> str:
    """The number of the notebook cell whose code has this file name; empty for others."""
    names = getattr(getattr(ipython_shell(), "compile", None), "_filename_map", {})
    return str(names.get(filename, ""))


def ipython_shell() -> Any:
    """The IPython that runs this program; None if none does."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def fold_tracebacks() -> None:
    """Have errors that nobody catches printed without adjoint's own frames (_tracebacks.py), by Python or by IPython. Who prints them in
    a way of its own goes on to do so."""
    reporter = getattr(ipython_shell(), "InteractiveTB", None)
    if reporter is not None:

        def lines(*args: Any, **keywords: Any) -> Any:
            from ._tracebacks import lines_of_ipython

            return lines_of_ipython(reporter, *args, **keywords)

        reporter.structured_traceback = lines
    elif sys.excepthook is sys.__excepthook__:

        def show_uncaught(*args: Any) -> None:
            from ._tracebacks import show

            show(*args)

        sys.excepthook = show_uncaught


def is_users(frame: FrameType) -> bool:
    """Whether a frame is not adjoint's own."""
    filename = frame.f_code.co_filename
    return filename in USER_FILES or (filename not in OWN_FILES and is_user(filename))


def user_frame(frame: FrameType) -> FrameType:
    """The first frame at or above `frame` that is not adjoint's own; the outermost one if all are."""
    while True:
        filename = frame.f_code.co_filename
        if filename not in OWN_FILES and (filename in USER_FILES or is_user(filename)):
            return frame
        above = frame.f_back
        if above is None:
            return frame
        frame = above


def here() -> Site:
    """The line of user code that is running now. (Who asks is adjoint's own, so the search begins with its caller.)"""
    frame = sys._getframe(2)
    if frame.f_code.co_filename not in USER_FILES:
        frame = user_frame(frame)
    return make_tuple(Site, (frame.f_code, frame.f_lasti))


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning that points to the line of user code that is running now."""
    frame = user_frame(sys._getframe(1))
    module = frame.f_globals.get("__name__") or "__main__"  # without a module Python drops it
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, module, registry)
