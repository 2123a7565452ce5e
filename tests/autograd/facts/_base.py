"""Small facts about autograd. Each is a program that takes the library as `t` and returns what it saw.

What PyTorch answers is kept in facts.json; test_facts.py asks adjoint, and tests/torch_parity asks PyTorch again (and can write the file).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

Fact = Callable[[Any], Any]
FACTS: dict[str, Fact] = {}
WORDS = 6  # so many words of an error message have to agree


def fact(program: Fact) -> Fact:
    assert program.__name__ not in FACTS, program.__name__
    FACTS[program.__name__] = program
    return program


def plain(value: Any) -> Any:
    """An answer as JSON can hold it: the same from both libraries."""
    if hasattr(value, "detach") and hasattr(value, "tolist"):
        return plain(value.detach().resolve_conj().tolist() if value.is_complex() else value.detach().tolist())
    if isinstance(value, float):
        return round(value, 4) if value == value else "nan"
    if isinstance(value, complex):
        return f"{value + 0:.4g}"
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, BaseException):
        return told(value)
    return str(value)


def told(error: BaseException) -> str:
    """The type of an error that both libraries share, and the first words of its message."""
    builtin = next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
    return " ".join([builtin + ":", *re.findall(r"[A-Za-z_']+", re.sub(r"\d+", " ", str(error)))[:WORDS]])


def attempt(action: Callable[[], Any]) -> Any:
    try:
        return plain(action())
    except Exception as error:
        return told(error)


def answer(program: Fact, library: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):
        return attempt(lambda: program(library))


def leaf(t: Any, *values: float) -> Any:
    return t.tensor(list(values) or [1.0, 2.0, 3.0], requires_grad=True)


def names(edges: Any) -> list[Any]:
    return [(None if node is None else node.name(), nr) for node, nr in edges]
