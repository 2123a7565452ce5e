"""PyTorch's `torch.overrides`: what a library needs that wants its own objects to be passed to functions of tensors.

>>> import adjoint as ad
>>> class Scalar:
...     @classmethod
...     def __torch_function__(cls, func, types, args=(), kwargs=None):
...         return f"{func.__name__} of a Scalar"
>>> ad.mean(Scalar())
'mean of a Scalar'
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FunctionType
from typing import Any, Self

from . import _overriding
from ._methods import OpMethods
from ._overriding import (
    HELPERS,
    IGNORED,
    MAKING,
    OWN,
    add_in_order,
    answering,
    ask,
    generate_code,
    modes,
    pop_mode,
    push_mode,
)  # fmt: skip
from ._state import FUNCTION_MODE, get_mode
from ._tensor import Tensor, disabled_torch_function

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch", "get_default_nowrap_functions", "get_ignored_functions",
    "get_overridable_functions", "get_testing_overrides", "handle_torch_function", "has_torch_function", "has_torch_function_unary",
    "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip

_overriding.install()

# The namespaces that PyTorch lists, by the names that it has for them.
_SPACES = {
    "torch": "adjoint", "torch.functional": "adjoint.functional", "torch.nn.functional": "adjoint.nn.functional",
    "torch.nn.init": "adjoint.nn.init", "torch.linalg": "adjoint.linalg", "torch.fft": "adjoint.fft", "torch.special": "adjoint.special",
    "torch.autograd": "adjoint.autograd.differentiate",
}  # fmt: skip
_ONLY_FUNCTIONAL = frozenset({"linear", "pixel_shuffle", "pixel_unshuffle"})


# ---- asking -------------------------------------------------------------------------------------------------------------------------


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether any of the arguments answers for operations itself, or a mode does for all."""
    return bool(get_mode() & FUNCTION_MODE) or bool(answering(relevant_args))


def has_torch_function_unary(obj: Any) -> bool:
    return has_torch_function((obj,))


def has_torch_function_variadic(*args: Any) -> bool:
    return has_torch_function(args)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Let the arguments, or a mode, answer for a function of one's own."""
    found: list[Any] = []
    for value in relevant_args:
        if getattr(type(value), "__torch_function__", disabled_torch_function) is not disabled_torch_function:
            add_in_order(found, value)
    return ask(public_api, found, args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function so that the arguments which `dispatcher` picks may answer for it."""

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def asking(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(asking, relevant, *args, **kwargs)
            return fn(*args, **kwargs)

        return asking

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether an object can stand where a tensor is expected."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


# ---- modes --------------------------------------------------------------------------------------------------------------------------


class TorchFunctionMode:
    """Sees every call of a function of tensors in a `with` block, whatever its arguments. Derive from it, and define
    `__torch_function__(self, func, types, args=(), kwargs=None)`; inside that the mode is off.

    >>> import adjoint as ad
    >>> class Names(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     x = ad.ones(3).exp()
    torch.ones
    torch.exp
    """

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __torch_function__(self, func, types, args=(), kwargs=None)")

    def __enter__(self) -> Self:
        push_mode(self)
        return self

    def __exit__(self, *_: object) -> None:
        pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that lets everything pass."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> Any:
    return modes()[-1] if modes() else None


def _get_current_function_mode_stack() -> list[Any]:
    return list(modes())


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Nothing has to be enabled."""
    yield


# ---- what can be overridden ---------------------------------------------------------------------------------------------------------


def _members() -> Iterator[tuple[str, Any]]:
    """Methods of Tensor by name, and `shape.__get__` for a property."""
    for name in sorted(dir(Tensor), key=lambda name: name.startswith("__")):
        owner = next(cls for cls in Tensor.__mro__ if name in vars(cls))
        member = vars(owner)[name]
        if owner not in (Tensor, OpMethods) or name in OWN or (name.startswith("_") and not name.startswith("__")):
            continue
        if isinstance(member, property):
            yield f"{name}.__get__", member.__get__
        elif isinstance(member, FunctionType):
            yield name, member


def _functions(module: Any) -> Iterator[tuple[str, Any]]:
    for name in getattr(module, "__all__", None) or dir(module):
        fn = getattr(module, name, None)
        if not name.startswith("_") and isinstance(fn, FunctionType) and fn.__module__.startswith(("adjoint", "torch")):
            if not fn.__module__.startswith(HELPERS) and (name in ("backward", "grad") or not module.__name__.endswith("differentiate")):
                yield name, fn


@functools.cache
def _names() -> dict[Any, str]:
    names: dict[Any, str] = {}
    for space, home in _SPACES.items():
        module = sys.modules.get(home) or import_module(home)
        for name, fn in _functions(module):
            if not (space == "torch" and name in _ONLY_FUNCTIONAL):
                names.setdefault(fn, f"{space}.{name}")
    for name, member in _members():
        names.setdefault(member, f"torch.Tensor.{name}")
    return names


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name under which a function that was passed to `__torch_function__` is called: `torch.Tensor.shape.__get__`."""
    try:
        return _names().get(f)
    except TypeError:
        return None


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is found on Tensor only, so that its first argument is `self`."""
    name = resolve_name(func)
    return (name is not None and name.startswith("torch.Tensor.")) or getattr(func, "__name__", "") == "__get__"


@functools.cache
def get_ignored_functions() -> set[Any]:
    """The functions that never call `__torch_function__` of their arguments."""
    ignored = {fn for fn, name in _names().items() if name.rpartition(".")[2] in IGNORED | MAKING}
    return ignored | {Tensor.__new__, vars(Tensor)["__iter__"], Tensor.__torch_function__, has_torch_function, handle_torch_function}


@functools.cache
def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that `__torch_function__` may be called for, by the module or class that has them."""
    found: dict[Any, list[Any]] = {}
    for fn, name in _names().items():
        space, _, last = name.rpartition(".")
        if fn in get_ignored_functions():
            continue
        if last == "__get__":
            owner: Any = fn.__self__  # the property, as in PyTorch
        else:
            owner = Tensor if space == "torch.Tensor" else sys.modules[_SPACES[space]]
        found.setdefault(owner, []).append(fn)
    return found


@functools.cache
def get_testing_overrides() -> dict[Any, Callable[..., int]]:
    """For each function that can be overridden one with the same arguments, which returns -1."""
    return {fn: _dummy(fn) for functions in get_overridable_functions().values() for fn in functions}


def _dummy(fn: Any) -> Callable[..., int]:
    if not isinstance(fn, FunctionType):
        return lambda self: -1
    generate_code(fn)
    values: dict[str, Any] = {}
    parameters = []
    for parameter in inspect.signature(fn).parameters.values():
        if parameter.default is not parameter.empty:
            values[f"default_{parameter.name}"] = parameter.default
            parameter = parameter.replace(default=_Named(f"default_{parameter.name}"))
        parameters.append(parameter.replace(annotation=parameter.empty))
    dummy: Callable[..., int] = eval(f"lambda {str(inspect.Signature(parameters))[1:-1]}: -1", values)
    return dummy


class _Named:
    """Shows as a name, where a default is written out."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


def get_default_nowrap_functions() -> set[Any]:
    """The functions whose results `Tensor.__torch_function__` returns as they are."""
    return set(_overriding.kept_as_they_are())
