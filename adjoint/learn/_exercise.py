"""An exercise, read from its module."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._work import Work

# The order in which they are shown. A later one may build on an earlier one.
KINDS = {
    "Exercises": ("chain_rule", "absolute", "training_loop", "derivatives"),
    "Questions, to be answered by a function": ("modes", "leaves", "micro_batches"),
    "The challenge": ("mini_tensor",),
    "Beyond it": ("mini_deep", "mini_broadcast", "mini_train"),
}
NAMES = tuple(name for names in KINDS.values() for name in names)


class Mistake(Exception):  # noqa: N818  (it is not an error of this program)
    """What is wrong with a learner's solution, in words that help to put it right."""


@dataclass(frozen=True)
class Exercise:
    name: str
    task: str
    skeleton: str
    solution: str
    hints: tuple[str, ...]
    errors: dict[str, str]  # words of an exception's text: what they mean here
    examine: Callable[[Work], None]

    @property
    def title(self) -> str:
        return self.task.partition("\n")[0].rstrip(".")

    @cached_property
    def asked_for(self) -> list[ast.FunctionDef | ast.ClassDef]:
        """The functions and classes that the skeleton has and a solution must have too."""
        return [node for node in ast.parse(self.skeleton).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def load(name: str) -> Exercise:
    if name not in NAMES:
        close = difflib.get_close_matches(name, NAMES, 1)
        meant = f"; is it {close[0]}?" if close else "; `python -m adjoint learn list` shows them all"
        raise KeyError(f"there is no exercise {name!r}{meant}")
    module = import_module(f".exercises.{name}", __package__)
    task = re.sub(r"(?<=\S)\n(?!\n|- ) *", " ", (module.__doc__ or "").strip())  # one line for each paragraph and each item of a list
    return Exercise(name, task, module.SKELETON.lstrip(), module.SOLUTION.lstrip(), module.HINTS, module.ERRORS, module.examine)
