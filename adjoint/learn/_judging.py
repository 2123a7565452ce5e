"""The verdict on a solution: examined as its exercise says, within a time limit, and every way to fail told in a sentence."""

from __future__ import annotations

import ast
import ctypes
import linecache
import random
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ._exercise import Exercise, Mistake
from ._work import Work

SECONDS = 10.0


@dataclass(frozen=True)
class Verdict:
    passed: bool
    text: str
    begun: bool = True  # False if it is the skeleton still


class TooLong(BaseException):  # no Exception: a solution may catch those
    """Raised in the learner's code when the time is up."""


def judge(exercise: Exercise, source: str, path: str, seed: int | None = None, seconds: float = SECONDS) -> Verdict:
    """The verdict on the text of a program."""
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)  # so that lines can be quoted
    try:
        code = compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        line = (error.text or "").strip()
        return Verdict(False, f"Line {error.lineno} is not Python yet: `{line}`\n{type(error).__name__}: {error.msg}.")
    module = sys.modules["solution"] = ModuleType("solution")  # where dataclasses, for example, look for it
    namespace = vars(module)
    return judge_names(exercise, namespace, source, seed, seconds, lambda: exec(code, namespace))


def judge_names(
    exercise: Exercise,
    namespace: dict[str, Any],
    source: str,
    seed: int | None = None,
    seconds: float = SECONDS,
    define: Callable[[], None] = lambda: None,
) -> Verdict:
    """The verdict on the functions and classes of a namespace, which are there already or are put there by `define`."""
    if essence(source) == essence(exercise.skeleton):
        return Verdict(False, f"Nothing done yet: this is the skeleton as it was. A beginning: {exercise.hints[0]}", begun=False)
    work = Work(namespace, source, random.SystemRandom().getrandbits(32) if seed is None else seed)
    try:
        with warnings.catch_warnings(), time_limit(seconds):
            warnings.simplefilter("ignore")  # the verdict says more
            define()
            for definition in exercise.asked_for:
                work.require(definition)
            exercise.examine(work)
    except Mistake as mistake:
        return Verdict(False, str(mistake))
    except NotImplementedError as error:
        frame = _learners_frame(error, namespace)
        return Verdict(False, f"`{frame.name if frame else error}` is still to be written{_place(error, namespace)}.")
    except TooLong as error:
        return Verdict(False, f"Stopped after {seconds:g} s{_place(error, namespace)}. {work.doing}")
    except SystemExit as error:
        return Verdict(False, f"The program ended itself{_place(error, namespace)}. Leave that out: the checker has yet to call it.")
    except Exception as error:
        meaning = next((hint for words, hint in exercise.errors.items() if words in str(error)), _MEANINGS.get(type(error), ""))
        said = str(error).partition("\n")[0] if meaning else error  # adjoint's errors go on with advice, which is less to the point
        return Verdict(False, f"{type(error).__name__}{_place(error, namespace)}: {said}\n{meaning}".rstrip())
    return Verdict(True, "Right.")


def essence(source: str) -> list[str]:
    """A program's statements without comments, blank lines, the text at the beginning and the demonstration at the end."""
    tree = ast.parse(source)
    statements = tree.body[ast.get_docstring(tree) is not None :]
    return [ast.dump(node) for node in statements if not (isinstance(node, ast.If) and "__name__" in ast.unparse(node.test))]


_MEANINGS = {
    MemoryError: "More memory was asked for than a solution needs: does a list or a graph grow without end?",
    RecursionError: "A function calls itself more often than Python allows: does it ever stop calling itself?",
}


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TooLong` in this thread, whatever it is doing, if the block takes longer."""
    thread, raised = ctypes.c_ulong(threading.get_ident()), ctypes.py_object(TooLong)
    timer = threading.Timer(seconds, ctypes.pythonapi.PyThreadState_SetAsyncExc, (thread, raised))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _learners_frame(error: BaseException, namespace: dict[str, Any]) -> traceback.FrameSummary | None:
    """The innermost of the learner's lines that an error came through."""
    frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_globals is namespace]
    return traceback.StackSummary.extract(frames[-1:])[0] if frames else None


def _place(error: BaseException, namespace: dict[str, Any]) -> str:
    frame = _learners_frame(error, namespace)
    return f" in line {frame.lineno}, `{frame.line}`" if frame else ""
