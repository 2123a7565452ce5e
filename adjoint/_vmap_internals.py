"""The older home of `vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .func import vmap

__all__ = ["vmap"]


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Callable[..., Any]:
    """`vmap` for callers inside of libraries, which may allow the function to return None in the place of a tensor."""
    if not allow_none_pass_through:
        return vmap(func, in_dims, out_dims)

    def call(*args: Any) -> Any:
        outputs: Any = None

        def present(*args: Any) -> Any:
            nonlocal outputs
            outputs = func(*args)
            return tuple(x for x in (outputs if isinstance(outputs, tuple) else (outputs,)) if x is not None)

        found = iter(vmap(present, in_dims, out_dims)(*args))
        if isinstance(outputs, tuple):
            return tuple(None if x is None else next(found) for x in outputs)
        return next(found, None)

    return call
