"""Functions that are put in the place of others while a function is traced, and functions that are kept as single calls."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any, Self

from .node import map_aggregate
from .proxy import Proxy

_MISSING: Any = object()

# What `wrap` was told of: names in the global variables of a module, and methods of classes.
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []


class _Patcher:
    """Puts functions in the place of others; leaving the `with` block undoes it."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._seen: set[tuple[int, str | None]] = set()

    def patch(self, frame_dict: dict[str, Any], name: str, new_fn: Callable[..., Any], deduplicate: bool = True) -> None:
        """A global variable; also one that is only found among Python's own names. What was patched before is left, if `deduplicate`."""
        if not self._first((id(frame_dict), name)) and deduplicate:
            return
        before = frame_dict.get(name, _MISSING)
        self._undo.append((lambda: frame_dict.pop(name)) if before is _MISSING else (lambda: frame_dict.__setitem__(name, before)))
        frame_dict[name] = new_fn

    def patch_method(self, cls: type, name: str, new_fn: Callable[..., Any], deduplicate: bool = True) -> None:
        """A method of a class."""
        if not self._first((id(cls), name)) and deduplicate:
            return
        before = cls.__dict__.get(name, _MISSING)
        self._undo.append((lambda: delattr(cls, name)) if before is _MISSING else (lambda: setattr(cls, name, before)))
        setattr(cls, name, new_fn)

    def visit_once(self, thing: Any) -> bool:
        """Whether this is the first time that it is asked about."""
        return self._first((id(thing), None))

    def _first(self, key: tuple[int, str | None]) -> bool:
        first = key not in self._seen
        self._seen.add(key)
        return first

    def revert_all_patches(self) -> None:
        while self._undo:
            self._undo.pop()()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.revert_all_patches()


def _find_proxy(*objects: Any) -> Proxy | None:
    """A proxy among some values, also inside containers."""
    found: list[Proxy] = []
    map_aggregate(objects, lambda value: found.append(value) if isinstance(value, Proxy) else None)
    return found[0] if found else None


def _create_wrapped_func(orig_fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that becomes a node if it is called with proxies."""

    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return wrapped


def _create_wrapped_method(cls: type, name: str) -> Callable[..., Any]:
    orig_fn = getattr(cls, name)

    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        return orig_fn(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Put in the place of all that `wrap` was told of."""
    for (_, name), frame_dict in list(_wrapped_fns_to_patch.items()):
        original = frame_dict[name] if name in frame_dict else getattr(builtins, name)
        patcher.patch(frame_dict, name, _create_wrapped_func(original))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _create_wrapped_method(cls, name))


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    """The same for functions that a tracer was told of, wherever they are among these global variables."""
    if patcher.visit_once(frame_dict):
        for name, value in list(frame_dict.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(frame_dict, name, _create_wrapped_func(value))
