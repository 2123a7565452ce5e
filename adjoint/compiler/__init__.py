"""PyTorch's `torch.compile` and `torch.compiler`: programs run as they are written, operation by operation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from .._standing import inert, refused
from .._switches import switches

T = TypeVar("T")
NOT_COMPILED = "nothing is compiled"
STANCES = ("default", "aot_eager_then_compile", "eager_on_recompile", "eager_then_compile", "fail_on_recompile", "force_eager")


@inert(NOT_COMPILED)
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
    """Give back a function as it is, and a module in an `OptimizedModule`, as PyTorch does, which calls it; without one, a decorator.

    >>> import adjoint as ad
    >>> square = ad.compile(lambda x: x * x)
    >>> square(ad.tensor(3.0))
    tensor(9.)
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is None:
        return lambda model: compile(model, mode=mode, options=options, disable=disable)
    if not callable(model):
        raise RuntimeError(f"torch.compile expects a callable, a function or a module, got {type(model).__name__}")
    from .._dynamo import OptimizedModule
    from ..nn import Module

    return OptimizedModule(model) if isinstance(model, Module) and not disable else model


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


@inert(NOT_COMPILED)
def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A function as it is."""
    return _same if fn is None else fn


@inert(NOT_COMPILED)
def allow_in_graph(fn: T) -> T:
    """A function as it is."""
    return fn


@inert(NOT_COMPILED)
def assume_constant_result(fn: T) -> T:
    """A function as it is."""
    return fn


@inert(NOT_COMPILED)
def reset() -> None:
    """Nothing happens: nothing was compiled."""


@inert(NOT_COMPILED)
def cudagraph_mark_step_begin() -> None:
    """Nothing happens: there is no GPU."""


def list_backends(exclude_tags: tuple[str, ...] = ("debug", "experimental")) -> list[str]:
    """None."""
    return []


@inert(NOT_COMPILED)
def set_stance(stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> AbstractContextManager[None]:
    """Nothing happens, from now on or inside a `with` block."""
    if stance not in STANCES:
        raise RuntimeError(f"invalid torch.compile stance '{stance}': choose one of {', '.join(STANCES)}")
    return nullcontext()


@inert(NOT_COMPILED)
def substitute_in_graph(original_fn: Callable[..., Any], **options: Any) -> Callable[[T], T]:
    """A decorator for what PyTorch compiles in the place of a function; here the function itself is called."""
    return _same


@inert(NOT_COMPILED)
def nested_compile_region(fn: Any = None, options: Any = None) -> Any:
    """A function as it is."""
    return _same if fn is None else fn


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays as one of tensors."""
    from ..utils._pytree import tree_map

    def on_tensors(*args: Any, **kwargs: Any) -> Any:
        from .._from_data import as_tensor
        from .._tensor import Tensor

        args, kwargs = tree_map(lambda value: value.numpy() if isinstance(value, Tensor) else value, (args, kwargs))
        return tree_map(as_tensor, fn(*args, **kwargs))

    return on_tensors


@refused("adjoint compiles nothing ahead; there are no files of compiled functions")
def load_compiled_function(file: Any, **options: Any) -> None: ...


def save_cache_artifacts() -> None:
    """None: nothing was compiled ahead. `python -m adjoint cache` tells of the kernels that are kept."""


@inert(NOT_COMPILED)
def load_cache_artifacts(serialized_artifacts: bytes) -> None:
    """Nothing happens: nothing is compiled ahead."""


config = switches(__name__, cache_key_tag="", dynamic_sources="", force_disable_caches=False, job_id=None, unbacked_sources="")
