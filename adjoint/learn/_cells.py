"""What is called in the cells of a notebook: `check`, `hint` and `solution`."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from . import _commands as commands
from ._exercise import Exercise
from ._judging import Verdict, judge_names


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
    files = dict.fromkeys(file for asked in exercise.asked_for for file in _files(namespace.get(asked.name)))
    source = "\n".join("".join(linecache.getlines(file)) for file in files)  # of whole cells, where Python knows them
    return judge_names(exercise, namespace, source)


def _files(found: Any) -> Iterator[str]:
    """Where a function, or the methods of a class, were defined. For Python each cell of a notebook is a file."""
    for member in vars(found).values() if isinstance(found, type) else [found]:
        function = getattr(member, "__func__", member)
        if isinstance(function, FunctionType):
            yield function.__code__.co_filename
