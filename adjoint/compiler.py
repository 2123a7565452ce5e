"""PyTorch's `torch.compile` and `torch.compiler`: programs run as they are written, operation by operation."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Give back a function or module as it is; without one, a decorator that does.

    >>> import adjoint as ad
    >>> square = ad.compile(lambda x: x * x)
    >>> square(ad.tensor(3.0))
    tensor(9.)
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is None:
        return _same
    if not callable(model):
        raise RuntimeError(f"torch.compile expects a callable, a function or a module, got {type(model).__name__}")
    return model


def _same(fn: T) -> T:
    return fn


def is_compiling() -> bool:
    """False: nothing is being compiled."""
    return False


def is_dynamo_compiling() -> bool:
    """False: nothing is being compiled."""
    return False


def is_exporting() -> bool:
    """False: nothing is being exported."""
    return False


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A function as it is."""
    return _same if fn is None else fn


def allow_in_graph(fn: T) -> T:
    """A function as it is."""
    return fn


def assume_constant_result(fn: T) -> T:
    """A function as it is."""
    return fn


def reset() -> None:
    """Nothing happens: nothing was compiled."""


def cudagraph_mark_step_begin() -> None:
    """Nothing happens: there is no GPU."""


def list_backends(exclude_tags: tuple[str, ...] = ("debug", "experimental")) -> list[str]:
    """None."""
    return []
