"""The arguments of calls in the order of the signatures, with defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from ..nn import Module
from ..ops._generated import NUMPY_NAMES, UNSET

__all__ = ["ArgsKwargsPair", "get_signature_for_torch_op", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """The arguments by position and by keyword."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> list[inspect.Signature] | None:
    """The signatures of a function of the library: here it is one, without the names that only NumPy has for arguments."""
    if return_schemas:
        raise NotImplementedError("functions have signatures here, and no schemas: call it without return_schemas")
    try:
        signature = inspect.signature(op)
    except (TypeError, ValueError):
        return None
    parameters = [parameter for name, parameter in signature.parameters.items() if name not in NUMPY_NAMES]
    return [signature.replace(parameters=parameters)]


def normalize_function(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, arg_types: Any = None, kwarg_types: Any = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The arguments of a call of a function, with its defaults; None if its signature is not known. Functions have one signature each, so
    that types, which choose among several in PyTorch, decide nothing."""
    signatures = get_signature_for_torch_op(target)
    if not signatures:
        return None
    return _normalized(signatures[0], args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(
    root: Module, target: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, normalize_to_only_use_kwargs: bool = False
) -> ArgsKwargsPair | None:
    """The same for a call of a submodule."""
    try:
        module = root.get_submodule(target)
    except AttributeError:
        raise RuntimeError(f"Tried to normalize node with target {target} but root did not have that target!") from None
    return _normalized(inspect.signature(module.forward), args, kwargs or {}, normalize_to_only_use_kwargs)


def _normalized(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], only_kwargs: bool) -> ArgsKwargsPair | None:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values()):
        return None
    given = {name: value for name, value in bound.arguments.items() if value is not UNSET}
    if only_kwargs:
        return ArgsKwargsPair((), given)
    positional = [p.name for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY and p.name in given]
    return ArgsKwargsPair(tuple(given[name] for name in positional), {k: v for k, v in given.items() if k not in positional})
