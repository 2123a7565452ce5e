"""What a learner wrote, as an exercise sees it."""

from __future__ import annotations

import ast
import inspect
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from ..autograd import engine
from ._exercise import Mistake

# For each hint the ways to make the mistake: formulas, or settings of a wrong program. See `diagnosed`.
Mistakes = Mapping[str, Sequence[Any]]

NEAR = "That is near, but not exact: differences over small steps lose digits. Derive it instead."


class Work:
    """The learner's names are attributes: `work.by_hand(2.0)` calls the function, and refuses None as its answer.

    `random` draws the cases of this check. `backward_passes` counts, by the name of the learner's function, how often autograd ran in it.
    `doing` is said if the time runs out.
    """

    doing = "Does a loop never end?"

    def __init__(self, namespace: dict[str, Any], source: str, seed: int) -> None:
        self.namespace = namespace
        self.source = source
        self.random = random.Random(seed)
        self.backward_passes: Counter[str] = Counter()

    def number(self, low: float, high: float) -> float:
        """A random number with two decimals, so that a case that is shown can be tried."""
        return round(self.random.uniform(low, high), 2)

    def require(self, definition: ast.FunctionDef | ast.ClassDef) -> None:
        """Raise unless a function or class of the skeleton is there, and can be called as the skeleton's."""
        name = definition.name
        found = self.namespace.get(name)
        if isinstance(definition, ast.ClassDef):
            if not isinstance(found, type):
                raise Mistake(f"There is no class `{name}`: the checker looks for it by that name.")
            methods = [node.name for node in definition.body if isinstance(node, ast.FunctionDef)]
            public = [method for method in methods if method.startswith("__") or not method.startswith("_")]
            if missing := [method for method in public if not hasattr(found, method)]:
                raise Mistake(f"The class `{name}` has no method `{missing[0]}`; the skeleton has it, and the checker calls it.")
            return
        header = f"{name}({ast.unparse(definition.args)})"
        if not callable(found):
            raise Mistake(f"There is no function `{name}`: the checker calls `{header}`.")
        try:
            inspect.signature(found).bind(*definition.args.args)
        except TypeError as error:
            raise Mistake(f"`{name}` must be callable as `{header}`, and takes other arguments: {error}.") from None

    def __getattr__(self, name: str) -> Any:
        found = self.namespace[name]
        if isinstance(found, type):
            return found

        def called(*arguments: Any) -> Any:
            with counted_passes() as passes:
                answer = found(*arguments)
            self.backward_passes[name] += len(passes)
            if answer is None:
                raise Mistake(f"{_call(name, arguments)} returned None: does the function end with a `return`?")
            return answer

        return called

    def compare(self, name: str, cases: Sequence[Any], right: Callable[..., Any], mistakes: Mistakes, tolerance: float = 1e-6) -> None:
        """Call a function of the learner's on each case, and raise if an answer is wrong. The mistakes are formulas like `right`."""

        def computed(formula: Callable[..., Any]) -> Any:
            return plain([formula(*case) for case in cases])

        answers, expected = computed(getattr(self, name)), computed(right)
        if close(answers, expected, tolerance):
            return
        hint = diagnosed(answers, mistakes, computed, tolerance)
        if not hint and close(answers, expected, 0.01):
            hint = NEAR
        if not hint and all(answer == answers[0] for answer in answers):
            hint = "The answer is the same whatever the arguments are: it must be computed from them."
        case, answer, right_answer = next(row for row in zip(cases, answers, expected, strict=True) if not close(*row[1:], tolerance))
        raise Mistake(f"{_call(name, case)} gives {shown(answer)}, and should give {shown(right_answer)}. {hint}".rstrip())


def diagnosed(answer: Any, mistakes: Mistakes, made: Callable[[Any], Any], tolerance: float = 1e-6) -> str:
    """The hint for the known mistake that gives the same answer when it is made on purpose; empty if none does."""
    ways = ((hint, way) for hint, several in mistakes.items() for way in several)
    return next((hint for hint, way in ways if close(answer, plain(made(way)), tolerance)), "")


@contextmanager
def counted(owner: Any, name: str) -> Iterator[list[None]]:
    """A list that grows by one with each call of a function or method inside the `with` block."""
    calls: list[None] = []
    function = getattr(owner, name)

    def counting(*args: Any, **kwargs: Any) -> Any:
        calls.append(None)
        return function(*args, **kwargs)

    setattr(owner, name, counting)
    try:
        yield calls
    finally:
        setattr(owner, name, function)


def counted_passes() -> AbstractContextManager[list[None]]:
    """The same for backward passes, all of which are runs of adjoint's one engine."""
    return counted(engine, "run")


def plain(answer: Any) -> Any:
    """Numbers, texts and tuples of them, whatever holds them."""
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    return tuple(map(plain, answer)) if isinstance(answer, tuple | list) else answer


def close(answer: Any, expected: Any, tolerance: float = 1e-6) -> bool:
    if isinstance(expected, tuple):
        return isinstance(answer, tuple) and len(answer) == len(expected) and all(map(close, answer, expected, [tolerance] * len(expected)))
    if isinstance(expected, float) and isinstance(answer, int | float):
        return math.isclose(answer, expected, rel_tol=tolerance, abs_tol=tolerance)
    return bool(answer == expected)


def shown(value: Any) -> str:
    value = plain(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))}{',' * (len(value) == 1)})"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def _call(name: str, arguments: Sequence[Any]) -> str:
    return f"{name}({', '.join(map(shown, arguments))})"
