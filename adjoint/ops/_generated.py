"""Functions made from text when first called, and NumPy's names for their arguments: `axis` for `dim`, `keepdims` for `keepdim`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from types import FunctionType
from typing import Any

from .._site import GENERATED


def function_from(text: str, name: str, namespace: dict[str, Any]) -> FunctionType:
    found: dict[str, Any] = {}  # not the namespace itself, where another thread may be making the same function
    exec(compile(text, f"{GENERATED}{name}>", "exec"), namespace, found)
    made = found[name]
    assert isinstance(made, FunctionType)
    return made


def generated_when_called(name: str, namespace: dict[str, Any], generate: Callable[[], None]) -> FunctionType:
    """A function that gets its code, by `generate`, when it is first called."""

    def compile_and_call(*args: Any, **kwargs: Any) -> Any:
        generate()
        return fn(*args, **kwargs)

    namespace["compile_and_call"] = compile_and_call
    namespace["generate"] = generate
    fn = FunctionType(_stub.__code__, namespace, name)
    fn.__qualname__ = name
    fn.__module__ = "adjoint"
    return fn


def _stub(*args: Any, **kwargs: Any) -> Any:
    return compile_and_call(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821


# ---- names --------------------------------------------------------------------------------------------------------------------------

NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}
UNSET: Any = object()  # the default of these, and of what may follow them


def numpy_names(args: Sequence[str]) -> list[str]:
    """NumPy's names for some of these arguments, which are given by keyword."""
    return [theirs for theirs, ours in NUMPY_NAMES.items() if ours in args]


def left_open(positional: Sequence[str], defaults: tuple[Any, ...] | None) -> tuple[str, ...]:
    """The arguments without a default that need not be there for Python, because `axis` may be given instead of `dim`."""
    required = tuple(positional[: len(positional) - len(defaults or ())])
    return required[required.index("dim") :] if "dim" in required else ()


def renaming(name: str, args: Sequence[str], opened: Sequence[str]) -> list[str]:
    """Code that lets NumPy's names stand for ours; its namespace has `UNSET` and `missing`."""
    lines = [f" if {theirs} is not UNSET: {NUMPY_NAMES[theirs]} = {theirs}" for theirs in numpy_names(args)]
    if opened:
        given = ", ".join(f"{arg}={arg}" for arg in opened)
        lines.append(f" if {' or '.join(f'{arg} is UNSET' for arg in opened)}: raise missing({name!r}, {given})")
    return lines


def missing(name: str, **opened: Any) -> TypeError:
    names = [f'"{arg}"' for arg, value in opened.items() if value is UNSET]
    return TypeError(f"{name}() missing {len(names)} required positional argument{'s' * (len(names) == 1)}: {', '.join(names)}")


def with_numpy_names(fn: FunctionType) -> FunctionType:
    """The same function, which takes NumPy's names as well."""
    code = fn.__code__
    positional = code.co_varnames[: code.co_argcount]
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    theirs = numpy_names((*positional, *keywords))
    opened = left_open(positional, fn.__defaults__)

    def generate() -> None:
        call = ", ".join([*positional, *(f"{name}={name}" for name in keywords)])
        lines = [f"def {fn.__name__}({', '.join([*positional, '*', *keywords, *theirs])}):"]
        lines += [*renaming(fn.__name__, (*positional, *keywords), opened), f" return fn({call})"]
        made = function_from("\n".join(lines), fn.__name__, namespace)
        renamed.__defaults__ = (UNSET,) * len(opened) + (fn.__defaults__ or ())
        renamed.__kwdefaults__ = (fn.__kwdefaults__ or {}) | dict.fromkeys(theirs, UNSET)
        renamed.__code__ = made.__code__

    namespace = {"fn": fn, "UNSET": UNSET, "missing": missing}
    renamed = generated_when_called(fn.__name__, namespace, generate)
    update_wrapper(renamed, fn)
    return renamed
