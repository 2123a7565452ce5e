"""PyTorch's `torch.utils._contextlib`, from which libraries derive context managers that are decorators too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import DecoratorContextManager as _DecoratorContextManager
from ..autograd.grad_mode import around


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One without arguments, which decorates without parentheses too."""

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Any:
    """`func`, during each call of which a context is entered: an object, or what a function without arguments makes anew each time."""
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it ambiguous which interface to "
            "use. If you intended to pass a context manager factory, rewrite your call as context_decorator(lambda: ctx()); if you "
            "intended to pass a context manager directly, rewrite your call as context_decorator(lambda: ctx)"
        )
    return around(lambda _: ctx() if callable(ctx) else ctx, func)
