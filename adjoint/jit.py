"""PyTorch's `torch.jit`: Python itself runs the program, so `script` and `trace` give back what they get."""

from __future__ import annotations

from typing import Any, Final, NoReturn, TypeVar

from .nn import Module

__all__ = [
    "Final",
    "ScriptModule",
    "annotate",
    "export",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "trace",
    "trace_module",
    "unused",
]

T = TypeVar("T")

ScriptModule = Module


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


def trace(func: T, example_inputs: Any = None, **options: Any) -> T:
    """A function or module as it is: each call runs it anew, with the branches that its own inputs choose."""
    return func


def trace_module(mod: T, inputs: Any = None, **options: Any) -> T:
    """A module as it is."""
    return mod


def export(fn: T) -> T:
    """A method as it is."""
    return fn


def script_method(fn: T) -> T:
    """A method as it is."""
    return fn


def script_if_tracing(fn: T) -> T:
    """A function as it is."""
    return fn


def interface(obj: T) -> T:
    """A class as it is."""
    return obj


def ignore(drop: Any = False, **options: Any) -> Any:
    """A method as it is, or with `drop=...` a decorator that gives it back."""
    return drop if callable(drop) else export


def unused(fn: T) -> T:
    """A method as it is."""
    return fn


def freeze(mod: T, preserved_attrs: Any = None, optimize_numerics: bool = True) -> T:
    """A module as it is."""
    return mod


def optimize_for_inference(mod: T, other_methods: Any = None) -> T:
    """A module as it is."""
    return mod


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


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    raise NotImplementedError("adjoint writes no TorchScript files; write torch.save(model.state_dict(), path)")


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> NoReturn:
    raise NotImplementedError("adjoint reads no TorchScript files; save a state_dict in PyTorch, and read it by model.load_state_dict")
