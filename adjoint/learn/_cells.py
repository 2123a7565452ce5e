"""What is called in the cells of a notebook: `check`, `hint` and `solution`."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from . import _commands as commands
from ._exercise import Exercise
from ._judging import Verdict, judge_names, nothing_done, same_program
from ._notebook import without_demonstration


def check(name: str) -> None:
    """Check what the cells of the notebook have defined, and print what is wrong with it.

    Args:
        name (str): the exercise
    """
    namespace = sys._getframe(1).f_globals
    _printed(lambda: commands.answer(name, verdict_here(commands.known(name), namespace)))


def hint(name: str) -> None:
    """Print the next hint; each says more than the one before.

    Args:
        name (str): the exercise
    """
    _printed(lambda: commands.hint(name))


def solution(name: str) -> None:
    """Print one way to do it, once it was tried.

    Args:
        name (str): the exercise
    """
    _printed(lambda: commands.solution(name))


def _printed(command: Callable[[], object]) -> None:
    try:
        command()
    except commands.Refused as why:
        print(why)


def verdict_here(exercise: Exercise, namespace: dict[str, Any]) -> Verdict:
    """The verdict on what a notebook's cells have defined."""
    source = "\n".join(cells(exercise, namespace))
    if same_program(source, without_demonstration(exercise.skeleton)):
        return nothing_done(exercise)
    return judge_names(exercise, namespace, source)


def codes(found: Any) -> list[CodeType]:
    """The code of a function, or of the methods of a class."""
    members = vars(found).values() if isinstance(found, type) else [found]
    return [member.__code__ for member in (getattr(member, "__func__", member) for member in members) if isinstance(member, FunctionType)]


def cells(exercise: Exercise, namespace: dict[str, Any]) -> Iterator[str]:
    """The cells that define what the exercise asks for, where Python knows them."""
    files = dict.fromkeys(code.co_filename for asked in exercise.asked_for for code in codes(namespace.get(asked.name)))
    return ("".join(linecache.getlines(file)) for file in files)
