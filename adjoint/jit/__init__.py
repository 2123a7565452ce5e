"""PyTorch's `torch.jit`: Python itself runs the program, so `script` and `trace` give back what they get."""

# Without `from __future__ import annotations`, which would stand in the place of the submodule of that name.

from collections.abc import Callable
from typing import Any, Final, TypeVar

from .._homes import settle
from .._standing import inert, refused
from ..nn import Module
from . import annotations as annotations

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

T = TypeVar("T")
AS_IT_IS = "Python runs the program, and nothing is compiled"


class ScriptModule(Module):
    """The base of modules written for TorchScript. `script` gives back other modules as they are, so they are none of these."""


class RecursiveScriptModule(ScriptModule):
    """What `torch.jit.script(module)` returns in PyTorch."""


class TopLevelTracedModule(ScriptModule):
    """What `torch.jit.trace(module)` returns in PyTorch."""


TracedModule = TopLevelTracedModule


class ScriptFunction:
    """What `torch.jit.script(function)` returns in PyTorch."""


class Attribute:
    """A value with its type, which `ScriptModule`s keep as `value`."""

    def __init__(self, value: Any, type: Any) -> None:
        self.value, self.type = value, type


class TracerWarning(Warning):
    """What PyTorch's tracer warns with. Programs name it in order to ignore it."""

    @staticmethod
    @inert(AS_IT_IS)
    def ignore_lib_warnings() -> None:
        """Nothing happens: nobody warns of that."""


class Error(RuntimeError):
    """What PyTorch raises where TorchScript fails."""


class CompilationUnit:
    """Functions of TorchScript, given as source code."""

    @refused("adjoint does not read TorchScript; write the functions in Python, in the program itself")
    def __init__(self, lang: Any = None, _frames_up: int = 0) -> None: ...


@inert(AS_IT_IS)
def script(obj: T, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> T:
    """A function, class or module as it is.

    >>> import adjoint as ad
    >>> @ad.jit.script
    ... def double(x: ad.Tensor) -> ad.Tensor:
    ...     return x * 2
    >>> double(ad.ones(2))
    tensor([2., 2.])
    """
    return obj


@inert(AS_IT_IS)
def trace(func: T, example_inputs: Any = None, **options: Any) -> T:
    """A function or module as it is: each call runs it anew, with the branches that its own inputs choose."""
    return func


@inert(AS_IT_IS)
def trace_module(mod: T, inputs: Any = None, **options: Any) -> T:
    """A module as it is."""
    return mod


@inert(AS_IT_IS)
def export(fn: T) -> T:
    """A method as it is."""
    return fn


@inert(AS_IT_IS)
def script_method(fn: T) -> T:
    """A method as it is."""
    return fn


@inert(AS_IT_IS)
def script_if_tracing(fn: T) -> T:
    """A function as it is."""
    return fn


@inert(AS_IT_IS)
def interface(obj: T) -> T:
    """A class as it is."""
    return obj


@inert(AS_IT_IS)
def ignore(drop: Any = False, **options: Any) -> Any:
    """A method as it is, or with `drop=...` a decorator that gives it back."""
    return drop if callable(drop) else export


@inert(AS_IT_IS)
def unused(fn: T) -> T:
    """A method as it is."""
    return fn


@inert(AS_IT_IS)
def freeze(mod: T, preserved_attrs: Any = None, optimize_numerics: bool = True) -> T:
    """A module as it is."""
    return mod


@inert(AS_IT_IS)
def optimize_for_inference(mod: T, other_methods: Any = None) -> T:
    """A module as it is."""
    return mod


@inert(AS_IT_IS)
def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Nothing happens: nothing is compiled."""
    return strategy


def annotate(the_type: Any, the_value: T) -> T:
    """The value."""
    return the_value


def is_scripting() -> bool:
    """False: Python runs the program."""
    return False


def is_tracing() -> bool:
    """False: Python runs the program."""
    return False


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object is of a type, which may be one with parameters: `List[str]` looks at the elements.

    >>> import adjoint as ad
    >>> ad.jit.isinstance([1, 2], list[int]), ad.jit.isinstance(["a"], list[int])
    (True, False)
    """
    return annotations.matches(obj, target_type)


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """The result of the call, which is made at once; `wait` gives it back."""
    return func(*args, **kwargs)


def wait(future: T) -> T:
    return future


@inert(AS_IT_IS)
def enable_onednn_fusion(enabled: bool) -> None:
    """Nothing happens."""


def onednn_fusion_enabled() -> bool:
    return False


@refused("adjoint writes no TorchScript files; write torch.save(model.state_dict(), path)")
def save(m: Any, f: Any, _extra_files: Any = None) -> None: ...


@refused("adjoint reads no TorchScript files; save a state_dict in PyTorch, and read it by model.load_state_dict")
def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> None: ...


@refused("adjoint has no graphs of TorchScript; torch.fx.symbolic_trace(module).graph is one in Python")
def _get_trace_graph(f: Any, args: Any = (), kwargs: Any = None, strict: bool = True, **options: Any) -> None: ...


# ---- what libraries import although it is private -----------------------------------------------------------------------------------


@inert(AS_IT_IS)
def _overload(func: Callable[..., Any]) -> Callable[..., Any]:
    """A declaration that TorchScript knows a function by, for some types of arguments."""
    return func


@inert(AS_IT_IS)
def _overload_method(func: Callable[..., Any]) -> Callable[..., Any]:
    """A declaration that TorchScript knows a method by, for some types of arguments."""
    return func


@inert(AS_IT_IS)
def _copy_to_script_wrapper(fn: T) -> T:
    """A method as it is."""
    return fn


def _unwrap_optional(x: T | None) -> T:
    """What is not None."""
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


_script_if_tracing = script_if_tracing
_isinstance = isinstance
_drop = unused


def __getattr__(name: str) -> Any:
    if name == "Future":
        from importlib import import_module

        return import_module(".futures", __package__.rpartition(".")[0]).Future
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


settle(__name__, dict.fromkeys(("_script", "_trace", "_freeze", "_serialization", "_async", "frontend"), ("",)))
