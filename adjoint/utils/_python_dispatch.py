"""PyTorch's `TorchDispatchMode`: sees each op below functions, as it is about to run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from .._watching import dispatch_modes, pop_dispatch_mode, push_dispatch_mode

__all__ = ["TorchDispatchMode"]


class TorchDispatchMode:
    """Sees every op in a `with` block. Derive from it, and define `__torch_dispatch__(self, func, types, args=(), kwargs=None)`, which
    calls `func(*args, **kwargs)` to run the op; inside, the mode is off.

    Ops are those that adjoint has: `str(func)` is `aten.add.default`, whichever of PyTorch's overloads it stands for, and history is
    recorded when `func` is called. A backward pass computes on arrays, so its ops are seen with `create_graph=True` only.
    """

    def __torch_dispatch__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __torch_dispatch__(self, func, types, args=(), kwargs=None)")

    def __enter__(self) -> Self:
        push_dispatch_mode(self)
        return self

    def __exit__(self, *_: object) -> None:
        pop_dispatch_mode()


def _get_current_dispatch_mode() -> Any:
    return dispatch_modes()[-1] if dispatch_modes() else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    return list(dispatch_modes())
