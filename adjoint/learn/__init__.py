"""Exercises with a checker: `python -m adjoint learn`, or `check` in a notebook.

Each module of `adjoint.learn.exercises` is one exercise, and holds nothing but that: its docstring is the task; `SKELETON` is what a
learner starts from, `SOLUTION` one way to do it, `HINTS` help more and more, and `ERRORS` says of exceptions what they mean here.
`examine(work)` calls what the learner wrote on random cases, and raises a `Mistake` that names the mistake it found.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._cells import check as check
    from ._cells import hint as hint
    from ._cells import solution as solution

__all__ = ["check", "hint", "solution"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'adjoint.learn' has no attribute '{name}'")
    from . import _cells

    return getattr(_cells, name)
