"""Facts: small programs that are run with PyTorch and with adjoint and must say the same.

A fact is a function of the library. What it returns is compared as text: values, dtypes and whether gradients are required; of errors the
type and the opening words; of warnings the opening words.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

Fact = Callable[[Any], Any]
WORDS = 6  # how many opening words of a message have to be PyTorch's


class Facts(dict[str, Fact]):
    """A table of facts, by name."""

    def __call__(self, fact: Fact) -> Fact:
        assert fact.__name__ not in self
        self[fact.__name__] = fact
        return fact


def words(message: str) -> tuple[str, ...]:
    """The opening words in small letters; without numbers, which may be counted differently, and without our advice."""
    said = message.split("\n  fix:", 1)[0].lower()
    return tuple(re.findall(r"[a-z_']+", re.sub(r"[\d.]+", " ", said)))[:WORDS]


def kind(error: BaseException) -> str:
    """The type of an error as users see it: our own types are subclasses of Python's, except those that PyTorch has too."""
    own = type(error).__name__
    if own in ("GradcheckError", "CheckpointError"):
        return own
    return next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")


def raised(action: Callable[[], Any]) -> Any:
    """What an action returns, or the type and the opening words of its error."""
    try:
        return action()
    except Exception as error:
        return kind(error), words(str(error))


def warned(action: Callable[[], Any]) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [(one.category.__name__, words(str(one.message))) for one in caught]


def shown(value: Any, nodes: bool = True) -> Any:
    """A value without anything that may differ: object addresses, the library's own classes, the last digits. Without `nodes`: what made
    a tensor does not matter either, nor whether several of them are a list or a tuple."""
    if hasattr(value, "requires_grad") and hasattr(value, "tolist"):
        maker = shown(value.grad_fn) if nodes else None
        return "tensor", shown(value.tolist()), str(value.dtype), tuple(value.shape), value.requires_grad, maker
    if isinstance(value, dict):
        return {key: shown(one, nodes) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return (list if type(value) is list and nodes else tuple)(shown(one, nodes) for one in value)
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, complex):
        return complex(shown(value.real), shown(value.imag))
    if value is None or isinstance(value, str | int):
        return value
    return type(value).__name__


def outcome(fact: Fact, library: Any, nodes: bool = True) -> Any:
    with warnings.catch_warnings(action="ignore"):
        library.manual_seed(0)
        return shown(raised(lambda: fact(library)), nodes)
