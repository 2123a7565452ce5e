"""Infinities and NaNs come about silently, as in PyTorch: NumPy's floating-point warnings must not reach the user.

`np.errstate` around each call would cost 1.5 µs, three times the price of a small multiplication, so there are two cheaper ways.

- Generated code has no module name (`NAMELESS`). Python drops a warning that comes from a frame whose module is None, and NumPy warns on
  behalf of the frame that called it. So an op whose forward is one NumPy function is silent for free.
- Everything else runs between `mute()` and `unmute(token)`: the engine once for a whole backward pass, the general path of an op once for
  its call. They set the context variable behind `np.errstate`, which takes 0.2 µs and ends with the context like `np.errstate` itself.
"""

from __future__ import annotations

from contextvars import ContextVar, Token, copy_context
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

NAMELESS: dict[str, Any] = {"__name__": None}


def nameless(function: Any) -> Any:
    """The function, called from a frame without a module name."""

    return FunctionType(_call.__code__, {"function": function, "__builtins__": __builtins__, **NAMELESS})


def _call(*args: Any) -> Any:
    return function(*args)  # noqa: F821


def _state_of_numpy() -> tuple[ContextVar[Any], Any]:
    """NumPy's context variable for floating-point errors and its value under `np.errstate(all="ignore")`."""

    def entered() -> dict[ContextVar[Any], Any]:
        with np.errstate(all="ignore"):
            return dict(copy_context())

    before = copy_context()
    changed = {var: value for var, value in copy_context().run(entered).items() if var not in before or before[var] is not value}
    ((variable, ignoring),) = changed.items()
    return variable, ignoring


_variable, _ignoring = _state_of_numpy()

mute: partial[Token[Any]] = partial(_variable.set, _ignoring)
unmute = _variable.reset
