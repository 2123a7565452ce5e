"""How names of PyTorch's stand that are here so that programs can be imported, and that do not do here what they do there.

A name that exists works. The two exceptions are said where the name is defined, so that `python -m adjoint check` knows them too:
`@refused` raises when it is called, and says what to write instead; `@inert` does nothing, because there is nothing to do here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import isclass
from typing import Any, NamedTuple, NoReturn, TypeVar

F = TypeVar("F", bound=Callable[..., Any] | type)


class Standing(NamedTuple):
    kind: str  # "refused" or "inert"
    reason: str  # for "refused", also what to write instead
    error: type[Exception] = NotImplementedError  # what a refused name raises


def refused(reason: str, error: type[Exception] = NotImplementedError) -> Callable[[Any], Any]:
    """A function that raises an error with this sentence, whatever its body is; of a class, `__init__` is that function.

    >>> from adjoint._standing import refused
    >>> @refused("adjoint writes no TorchScript files; write torch.save(model.state_dict(), path)")
    ... def save(m, f): ...
    >>> save(None, "model.pt")
    Traceback (most recent call last):
    NotImplementedError: adjoint writes no TorchScript files; write torch.save(model.state_dict(), path)
    """

    def decorate(function: Any) -> Any:
        @wraps(function.__init__ if isclass(function) else function)
        def refuse(*args: Any, **kwargs: Any) -> NoReturn:
            raise error(reason)

        marked: Any = refuse
        if isclass(function):
            marked = function
            marked.__init__ = refuse
        marked.__standing__ = Standing("refused", reason, error)
        marked.__doc__ = marked.__doc__ or f"Refused: {reason}"
        return marked

    return decorate


def inert(reason: str) -> Callable[[F], F]:
    """A function or class that has no effect here, and why that is right."""

    def decorate(function: F) -> F:
        function.__standing__ = Standing("inert", reason)  # type: ignore[union-attr]
        function.__doc__ = function.__doc__ or f"Nothing happens: {reason}"
        return function

    return decorate


def standing_of(value: Any) -> Standing | None:
    """What was said of a function or class itself; a class derived from an inert one is the user's own."""
    found = vars(value).get("__standing__") if hasattr(value, "__dict__") else None
    return found if isinstance(found, Standing) else None
