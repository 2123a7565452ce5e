"""Small facts about transforms. Each is a program that takes the library as `t` and returns what it saw; see tests/autograd/facts."""

from __future__ import annotations

from typing import Any

from tests.autograd.facts._base import Fact, answer, attempt, plain

__all__ = ["FACTS", "answer", "attempt", "fact", "plain", "vector"]

FACTS: dict[str, Fact] = {}


def fact(program: Fact) -> Fact:
    assert program.__name__ not in FACTS, program.__name__
    FACTS[program.__name__] = program
    return program


def vector(t: Any, *values: float, **options: Any) -> Any:
    return t.tensor(list(values) or [1.0, 2.0, 3.0], **options)
