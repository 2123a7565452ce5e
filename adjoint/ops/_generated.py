"""Functions made from text when first called, and NumPy's names for their arguments: `axis` for `dim`, `keepdims` for `keepdim`.

What such a function says about itself, to `inspect` and `help`, is made when somebody asks too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
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


class _Unset:
    def __repr__(self) -> str:
        return "..."


UNSET: Any = _Unset()  # the default of these, and of what may follow them


def numpy_names(args: Sequence[str]) -> list[str]:
    """NumPy's names for some of these arguments, which are given by keyword."""
    return [theirs for theirs, ours in NUMPY_NAMES.items() if ours in args]


def refuse_others(function: str, names: Sequence[str], error: AttributeError, *args: Any, **kwargs: Any) -> None:
    """Say which argument of a function is no tensor, if that is why it lacks an attribute. To ask before would cost time in every call."""
    for place, (name, value) in enumerate({**dict(zip(names, args, strict=False)), **kwargs}.items(), 1):
        if value is error.obj and not hasattr(value, "_data"):
            raise TypeError(f"{function}(): argument '{name}' (position {place}) must be Tensor, not {type(value).__name__}") from None


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


def with_numpy_names(fn: FunctionType, prefix: str = "") -> FunctionType:
    """The same function, which takes NumPy's names as well, and says which argument is no tensor. Errors put `prefix` before its name."""
    code = fn.__code__
    positional = code.co_varnames[: code.co_argcount]
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    theirs = numpy_names((*positional, *keywords))
    opened = left_open(positional, fn.__defaults__)

    def generate() -> None:
        call = ", ".join([*positional, *(f"{name}={name}" for name in keywords)])
        lines = [f"def {fn.__name__}({', '.join([*positional, *(['*', *keywords, *theirs] if keywords or theirs else [])])}):"]
        lines += renaming(fn.__name__, (*positional, *keywords), opened)
        lines += [f" try: return fn({call})", f" except AttributeError as error: refuse_others(error, {call}); raise"]
        made = function_from("\n".join(lines), fn.__name__, namespace)
        renamed.__defaults__ = (UNSET,) * len(opened) + (fn.__defaults__ or ())
        renamed.__kwdefaults__ = (fn.__kwdefaults__ or {}) | dict.fromkeys(theirs, UNSET)
        renamed.__code__ = made.__code__

    namespace = {"fn": fn, "UNSET": UNSET, "missing": missing, "refuse_others": partial(refuse_others, prefix + fn.__name__, positional)}
    renamed = generated_when_called(fn.__name__, namespace, generate)
    renamed.__module__, renamed.__doc__, renamed.__annotations__ = fn.__module__, fn.__doc__, fn.__annotations__
    renamed.__dict__.update(fn.__dict__)
    renamed.__wrapped__ = Form(fn)  # type: ignore[attr-defined]
    return renamed


def publish(namespace: dict[str, Any], prefix: str, names: Iterable[str]) -> None:
    """Do so for functions that a module defines."""
    for name in names:
        fn = namespace[name]
        if isinstance(fn, FunctionType) and fn.__globals__ is namespace and fn.__code__.co_argcount:
            namespace[name] = with_numpy_names(fn, prefix)


# ---- what they say about themselves -------------------------------------------------------------------------------------------------


class Form:
    """The arguments of a function, as `inspect` shall see them: it is the function's `__wrapped__`, in which `inspect.signature` finds a
    `__signature__`. Behind it stands the function that was written. This one is for a function that takes NumPy's names as well."""

    __slots__ = ("fn",)

    def __init__(self, fn: Any) -> None:
        self.fn = fn

    @property
    def __wrapped__(self) -> Any:
        if not isinstance(self.fn, FunctionType):
            raise AttributeError("made of a function of NumPy")
        return self.fn

    @property
    def __signature__(self) -> inspect.Signature:
        made = self.arguments()
        theirs = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=UNSET) for name in numpy_names([p.name for p in made])]
        return inspect.Signature([*made, *theirs])

    def arguments(self) -> list[inspect.Parameter]:
        return list(inspect.signature(self.fn).parameters.values())


class OpForm(Form):
    """For a function of an op: its own one, which may take `out`, and its in-place forms."""

    __slots__ = ("op", "out")

    def __init__(self, op: Any, out: bool = False) -> None:
        self.fn = op.impl
        self.op = op
        self.out = out

    def arguments(self) -> list[inspect.Parameter]:
        op, made = self.op, []
        defaults = op.default_values()
        last = op.args[-1 - len(op.keywords)] if op.varargs else None
        for name in op.args:
            kind = inspect.Parameter.KEYWORD_ONLY if name in op.keywords else inspect.Parameter.POSITIONAL_OR_KEYWORD
            if name == last:
                made.append(inspect.Parameter(name, inspect.Parameter.VAR_POSITIONAL))
            else:
                made.append(inspect.Parameter(name, kind, default=defaults.get(name, inspect.Parameter.empty)))
        return [*made, inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)] if self.out else made


class SpreadForm(Form):
    """For a function that takes several numbers one by one, `x.reshape(2, 3)`, or as one argument of that name."""

    __slots__ = ("keyword",)

    def __init__(self, fn: Any, keyword: str) -> None:
        self.fn = fn
        self.keyword = keyword

    def arguments(self) -> list[inspect.Parameter]:
        first = inspect.Parameter("input", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [first, inspect.Parameter(self.keyword, inspect.Parameter.VAR_POSITIONAL)]


class OptionsForm(Form):
    """For a function that passes its `**options` on: with the options of the one that gets them."""

    __slots__ = ("getter",)

    def __init__(self, fn: FunctionType, getter: Any) -> None:
        self.fn = FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
        self.fn.__kwdefaults__ = fn.__kwdefaults__
        self.getter = getter

    def arguments(self) -> list[inspect.Parameter]:
        own = super().arguments()[:-1]
        names = {p.name for p in own}
        passed = [p for p in inspect.signature(self.getter).parameters.values() if p.kind is p.KEYWORD_ONLY and p.name not in names]
        return [*own, *passed]


def pass_options(getter: Any, *functions: Any) -> None:
    """Let functions that pass their `**options` on to `getter` show which there are."""
    for fn in functions:
        fn.__wrapped__ = OptionsForm(fn, getter)


class Doc(str):
    """A docstring: the words of the declaration, to which whoever reads them (`help`, `inspect.getdoc`, `print`) gets all that the
    reference says."""

    __slots__ = ("name",)
    name: str  # under which the reference knows it: "sin", "nn.Linear"

    def __str__(self) -> str:
        from .._reference import text_of

        return text_of(self.name)

    def expandtabs(self, tabsize: Any = 8) -> str:  # what `inspect.cleandoc` and `doctest` begin with
        return str(self).expandtabs(tabsize)

    def splitlines(self, keepends: bool = False) -> list[str]:
        return str(self).splitlines(keepends)

    def split(self, sep: Any = None, maxsplit: Any = -1) -> list[str]:
        return str(self).split(sep, maxsplit)

    def strip(self, chars: str | None = None) -> str:
        return str(self).strip(chars)


def documented(namespace: Mapping[str, Any], prefix: str = "") -> None:
    """Let the public functions and classes of a namespace answer with what the reference says of them."""
    for name, value in namespace.items():
        if (value.__class__ is FunctionType or isinstance(value, type)) and name[0] != "_":
            words = value.__doc__
            if words.__class__ is not Doc and value.__module__.startswith(("adjoint", "torch.")):
                doc = Doc(words or "")
                doc.name = prefix + name
                value.__doc__ = doc
