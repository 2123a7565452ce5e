"""What is used of PyTorch's `torch._dynamo`, the compiler behind `torch.compile`. Nothing is compiled here: functions run as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .._homes import settle
from .._standing import inert, refused
from .._switches import switches
from .._tensor import Tensor
from ..compiler import allow_in_graph, assume_constant_result, disable, list_backends, reset, set_stance, substitute_in_graph
from ..compiler import compile as _compile
from ..nn import Module
from . import exc as exc

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "disable", "disallow_in_graph", "explain", "export", "forbid_in_graph",
    "graph_break", "is_compiling", "list_backends", "mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic", "optimize",
    "register_backend", "reset", "reset_code_caches", "set_stance", "substitute_in_graph",
]  # fmt: skip

T = TypeVar("T")
NOT_COMPILED = "nothing is compiled"

config = switches(
    __name__,
    accumulated_cache_size_limit=256, allow_ignore_mark_dynamic=False, assume_static_by_default=True, automatic_dynamic_shapes=True,
    cache_size_limit=8, capture_dynamic_output_shape_ops=False, capture_scalar_outputs=False, compiled_autograd=False, disable=False,
    error_on_recompile=False, fail_on_recompile_limit_hit=False, force_parameter_static_shapes=True, guard_nn_modules=True,
    inline_inbuilt_nn_modules=True, optimize_ddp=True, raise_on_ctx_manager_usage=True, recompile_limit=8,
    reorderable_logging_functions=set(), skip_fwd_side_effects_in_bwd_under_checkpoint=False, specialize_int=False, suppress_errors=False,
    verbose=False,
)  # fmt: skip


class OptimizedModule(Module):
    """What `torch.compile(module)` returns: the module, with `_orig_mod.` before the keys of its state dict."""

    _orig_mod: Module

    def __init__(self, mod: Module, dynamo_ctx: Any = None) -> None:
        super().__init__()
        self._modules["_orig_mod"] = mod

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._orig_mod(*args, **kwargs)

    @property
    def training(self) -> bool:
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["_modules"]["_orig_mod"]
        return module if name == "_orig_mod" else getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ or name == "_orig_mod":
            super().__setattr__(name, value)
        else:  # what is set on it is meant for the module
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)


def is_compiling() -> bool:
    """False: nothing is being compiled."""
    return False


def is_dynamo_supported() -> bool:
    """False: nothing is compiled."""
    return False


def is_inductor_supported() -> bool:
    """False: nothing is compiled."""
    return False


def is_compile_supported(device_type: str) -> bool:
    """False: nothing is compiled."""
    return False


def check_if_dynamo_supported() -> None:
    raise RuntimeError("adjoint compiles nothing ahead; test torch._dynamo.is_dynamo_supported() first")


def optimize(backend: Any = "inductor", *, disable: bool = False, **options: Any) -> Callable[[Any], Any]:
    """A decorator: `torch.compile`, which calls the function as it is; there is nothing that the other options would be for."""
    return lambda model: _compile(model, backend=backend, disable=disable)


@inert(NOT_COMPILED)
def disallow_in_graph(fn: T) -> T:
    """A function as it is."""
    return fn


@inert(NOT_COMPILED)
def forbid_in_graph(fn: T) -> T:
    """A function as it is."""
    return fn


@inert(NOT_COMPILED)
def dont_skip_tracing(fn: T) -> T:
    """A function as it is."""
    return fn


@inert(NOT_COMPILED)
def nonstrict_trace(traceable_fn: T) -> T:
    """A function as it is."""
    return traceable_fn


@inert(NOT_COMPILED)
def graph_break(msg: str = "") -> None:
    """Nothing happens: there is no graph to break."""


@inert(NOT_COMPILED)
def mark_dynamic(t: Tensor, index: Any, **bounds: Any) -> None:
    """Nothing happens: every call takes the sizes that it gets."""


@inert(NOT_COMPILED)
def maybe_mark_dynamic(t: Tensor, index: Any) -> None:
    """Nothing happens: every call takes the sizes that it gets."""


@inert(NOT_COMPILED)
def mark_static(t: Any, index: Any = None) -> None:
    """Nothing happens: every call takes the sizes that it gets."""


@inert(NOT_COMPILED)
def mark_static_address(t: Tensor, guard: bool = False) -> None:
    """Nothing happens: nothing is compiled for an address."""


@inert(NOT_COMPILED)
def reset_code_caches() -> None:
    """Nothing happens: there are none."""


def register_backend(compiler_fn: Any = None, name: str | None = None, tags: Any = ()) -> Any:
    """A function that could compile graphs, as it is. It is never called."""
    return compiler_fn if compiler_fn is not None else lambda function: function


@refused("adjoint compiles nothing, so there are no graphs to explain; torch.explain(tensor) tells how a tensor came about")
def explain(f: Any, *args: Any, **kwargs: Any) -> None: ...


@refused("adjoint does not export programs; write torch.save(model.state_dict(), path), and export from PyTorch after load_state_dict")
def export(f: Any, *args: Any, **kwargs: Any) -> None: ...


class TransformGetItemToIndex:
    """A `with` block in which PyTorch's compiler understands indices that are tensors. Indexing understands them anyway."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


@refused("nothing is compiled, so there are no graphs to count; test what a function returns")
class CompileCounter:
    """PyTorch's `torch._dynamo.testing.CompileCounter`: a backend for `torch.compile` that counts graphs."""


settle(__name__, dict.fromkeys(("_trace_wrapped_higher_order_op", "decorators", "eval_frame", "external_utils", "testing", "utils"), ("",)))
