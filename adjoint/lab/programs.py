"""Runs a program given as text, as a file of the user's own: messages name its lines and quote them."""

from __future__ import annotations

import linecache
import traceback
from typing import Any

PROGRAM = "<program>"


def execute(code: str, names: dict[str, Any]) -> dict[str, Any] | None:
    """Run a program in a namespace. The answer is None, or the error that ended it as `{"type", "message", "line"}`."""
    try:
        show(code)
        exec(compile(code, PROGRAM, "exec", dont_inherit=True), names)
    except BaseException as error:
        return described(error)
    return None


def show(code: str) -> None:
    """Let messages quote the lines of a program."""
    linecache.cache[PROGRAM] = (len(code), None, code.splitlines(keepends=True), PROGRAM)


def described(error: BaseException) -> dict[str, Any]:
    message = str(error)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == PROGRAM]
    line = lines[-1] if lines else None
    if isinstance(error, SyntaxError):
        message, line = error.msg, error.lineno
    elif isinstance(error, SystemExit):
        message = f"The program ended itself with sys.exit({'' if error.code is None else repr(error.code)})."
    return {"type": type(error).__name__.removeprefix("_"), "message": message, "line": line}
