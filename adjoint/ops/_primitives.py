"""Primitives: what is computed, in NumPy, and who else may compute it.

    @primitive("softmax.gradient")
    def softmax_gradient(g: Array, out: Array, dim: int) -> Array:
        return (g - np.sum(g * out, axis=dim, keepdims=True)) * out

The function is the *text*: NumPy code that says what is computed, and never asks what flows through it. The name is that of a kernel,
`gradient` in `_kernels/softmax_loops.py`, which takes the same arguments and gives the same result, or None for what it does not serve;
to find that out is its own affair. (A name like "reduce.mean.run" says that the kernel's `run` is looked up at every call: it becomes a
built-in when the kernel is compiled.) Forwards, rules, and what they are written with, can be primitives.

Who computes is decided here and nowhere else. Arrays go to the kernel, and to the text if it declines. Everything else that behaves like an
array (Tensors, tracing arrays, symbols) flows through the text, unless its class has a `__primitive__`: that is given the primitive and the
arguments, and may keep the call as the one step that it is. PRIMITIVES lists all there are, which is what a compiler may call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, update_wrapper
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any, TypeVar

import numpy as np

from .._site import GENERATED

Function = TypeVar("Function", bound=Callable[..., Any])
PRIMITIVES: dict[str, Primitive] = {}
KINDS = {"Array": "array", "ConstantArray": "array", "Array | None": "array or None", "ConstantArray | None": "array or None"}


@cache
def loops(family: str) -> Any:
    """A module of kernels, imported when it is first needed. Its functions give None where NumPy has to compute."""
    return import_module(f".._kernels.{family}_loops", __package__)


class Primitive:
    """A NumPy text and the kernel that serves for it."""

    def __init__(
        self, name: str, like: FunctionType, text: Callable[..., Any], kernel: Callable[..., Any] | None, meta: Callable[..., Any] | None
    ) -> None:
        self.name = name
        self.text = text
        self.meta = meta  # the result on the meta device, where the text would compute more than its shape
        names = like.__code__.co_varnames[: like.__code__.co_argcount]
        self.kinds = tuple(KINDS.get(str(like.__annotations__.get(name)), "") for name in names)
        self.arrays = [place for place, kind in enumerate(self.kinds) if kind]
        self.runs = name.endswith(".run")
        first = self if self.runs else self.first
        self.namespace: dict[str, Any] = {"kernel": kernel or first, "others": self.others, "text": text, "ndarray": np.ndarray}
        code = choosing(self.kinds, self.runs)
        code = code.replace(co_varnames=(*names, "found"), co_name=like.__name__, co_qualname=like.__qualname__)
        self.function = update_wrapper(FunctionType(code, self.namespace, like.__name__, like.__defaults__), like)
        PRIMITIVES[name] = self

    def first(self, *args: Any) -> Any:
        """The first call, which finds the kernel."""
        family, name, *_ = self.name.split(".")
        self.namespace["kernel"] = getattr(loops(family), name)
        return self.served(args)

    run = first

    def served(self, args: tuple[Any, ...]) -> Any:
        kernel = self.namespace["kernel"]
        return kernel.run(*args) if self.runs else kernel(*args)

    def others(self, *args: Any) -> Any:
        """A call with arguments that are not all arrays; None where it is for the text."""
        for x in args:
            if hasattr(x.__class__, "__primitive__"):
                return x.__primitive__(self, args)
        if any(isinstance(args[place], np.generic) for place in self.arrays):  # what NumPy makes of arrays without dimensions
            args = tuple(np.asarray(x) if isinstance(x, np.generic) else x for x in args)
            if all(args[place] is None or args[place].__class__ is np.ndarray for place in self.arrays):
                return self.served(args)
        return None


def primitive(
    name: str, kernel: Callable[..., Any] | None = None, *, meta: Callable[..., Any] | None = None
) -> Callable[[Function], Function]:
    """Declare a primitive by decorating its NumPy text. The kernel is found by its name, "family.kernel", unless it is given."""

    def declare(text: Function) -> Function:
        assert isinstance(text, FunctionType)
        return Primitive(name, text, text, kernel, meta).function  # type: ignore[return-value]

    return declare


def opaque(name: str, *, meta: Callable[..., Any] | None = None) -> Callable[[Function], Function]:
    """Declare a primitive that is a kernel alone: random numbers, or a decomposition of matrices. What it does to arrays means nothing to
    others, so one that does not know the primitive is refused."""

    def declare(kernel: Function) -> Function:
        def refuse(*args: Any) -> Any:
            others = {type(x).__name__ for place, x in enumerate(args) if made.kinds[place] and x.__class__ is not np.ndarray}
            raise NotImplementedError(f"{name} computes with arrays, and not with {' or '.join(sorted(others)) or 'these'}")

        assert isinstance(kernel, FunctionType)
        made = Primitive(name, kernel, refuse, kernel, meta)
        return made.function  # type: ignore[return-value]

    return declare


@cache
def choosing(kinds: tuple[str, ...], run: bool) -> CodeType:
    """The code that chooses who computes, by the kinds of parameters. Made of text: a call must not cost more than the question it asks."""
    names = [f"a{place}" for place in range(len(kinds))]
    known = " is ".join([*(f"{name}.__class__" for name, kind in zip(names, kinds, strict=True) if kind == "array"), "ndarray"])
    for name, kind in zip(names, kinds, strict=True):
        if kind == "array or None":
            known += f" and ({name} is None or {name}.__class__ is ndarray)"
    given = ", ".join(names)
    text = f"""def served({given}):
        found = kernel{".run" * run}({given}) if {known} else others({given})
        return text({given}) if found is None else found"""
    (code,) = (part for part in compile(text, f"{GENERATED}primitive>", "exec").co_consts if isinstance(part, CodeType))
    return code
