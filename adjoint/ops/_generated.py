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

Names = tuple[str, ...]


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
    return [theirs for theirs, ours in NUMPY_NAMES.items() if ours in args and theirs not in args] if "dim" in args else []


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


def public(fn: FunctionType, name: str) -> FunctionType:
    """The form of a function that is called from outside: it says which argument is no tensor, and takes NumPy's names as well as ours."""
    positional, keywords, (any_more, any_named) = arguments_of(fn)
    theirs = numpy_names((*positional, *keywords))
    opened = left_open(positional, written(fn).__defaults__)

    def generate() -> None:
        given, named = [*positional, *any_more], [*(f"{name}={name}" for name in keywords), *any_named]
        form = [*positional, *(any_more or ["*"] if keywords or theirs or any_more else []), *keywords, *theirs, *any_named]
        lines = [f"def {fn.__name__}({', '.join(form)}):", *renaming(fn.__name__, (*positional, *keywords), opened)]
        lines += [f" try: return fn({', '.join(given + named)})"]
        # Whatever went wrong, it is because of an argument that is no tensor, if there is one. To ask before would cost time in every call.
        lines += [f" except Exception as error: refuse_others(error, [{', '.join(given)}], dict({', '.join(named)})); raise"]
        made = function_from("\n".join(lines), fn.__name__, namespace)
        outer.__defaults__ = (UNSET,) * len(opened) + (written(fn).__defaults__ or ())
        outer.__kwdefaults__ = (written(fn).__kwdefaults__ or {}) | dict.fromkeys(theirs, UNSET)
        outer.__code__ = made.__code__

    namespace = {"fn": fn, "UNSET": UNSET, "missing": missing, "refuse_others": partial(refuse_others, name, fn)}
    outer = generated_when_called(fn.__name__, namespace, generate)
    outer.__module__, outer.__doc__, outer.__annotations__ = fn.__module__, fn.__doc__, fn.__annotations__
    outer.__dict__.update(fn.__dict__)
    outer.__wrapped__ = Form(fn)  # type: ignore[attr-defined]
    return outer


def written(fn: FunctionType) -> FunctionType:
    """The function whose arguments it has, if a decorator takes any and passes them on."""
    return fn.__wrapped__ if isinstance(getattr(fn, "__wrapped__", None), FunctionType) else fn  # type: ignore[attr-defined]


def arguments_of(fn: FunctionType) -> tuple[Names, Names, tuple[Names, Names]]:
    """The names of a function's arguments: those that can be given by position, by keyword only, and `*rest` and `**rest`."""
    code = written(fn).__code__
    cut = code.co_argcount + code.co_kwonlyargcount
    several, named = bool(code.co_flags & inspect.CO_VARARGS), bool(code.co_flags & inspect.CO_VARKEYWORDS)
    rest = code.co_varnames[cut : cut + several + named]
    stars = tuple(f"*{name}" for name in rest[:several]), tuple(f"**{name}" for name in rest[several:])
    return code.co_varnames[: code.co_argcount], code.co_varnames[code.co_argcount : cut], stars


def tensors_among(fn: FunctionType) -> list[str]:
    """The names of those that are declared to be tensors."""
    positional, keywords, (any_more, _) = arguments_of(fn)
    notes = fn.__annotations__
    return [name for name in (*positional, *any_more, *keywords) if name == "input" or notes.get(name.strip("*")) in ("Array", "Tensor")]


def refuse_others(function: str, fn: FunctionType, error: Exception, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Raise an error that names the argument of a failed call that should be a tensor and is none, if there is one: one that is declared to
    be a tensor, or whose attribute was missed. Numbers may stand for tensors in many places."""
    names, _, (any_more, _) = arguments_of(fn)
    tensors, blamed = tensors_among(fn), getattr(error, "obj", None)
    optional = {*names[len(names) - len(written(fn).__defaults__ or ()) :], *(written(fn).__kwdefaults__ or ())}

    def wrong(value: Any, declared: bool) -> bool:
        if hasattr(value, "_data") or hasattr(value, "__array_interface__") or hasattr(value, "__torch_function__"):
            return False
        return declared if value is None else value is blamed or (declared and not isinstance(value, int | float | complex))

    for place, (name, value) in enumerate({**dict(zip(names, args, strict=False)), **kwargs}.items(), 1):
        if wrong(value, name in tensors and not (value is None and name in optional)):
            raise TypeError(f"{function}(): argument '{name}' (position {place}) must be Tensor, not {type(value).__name__}") from None
    if any_more and any_more[0] in tensors:
        one_list = len(args) == 1 and isinstance(args[0], tuple | list) and args[0] is not blamed
        for place, value in enumerate(args[0] if one_list else args):
            if wrong(value, True):
                raise TypeError(f"expected Tensor as element {place} in argument 0, but got {type(value).__name__}") from None


def publish(namespace: dict[str, Any], prefix: str, names: Iterable[str]) -> None:
    """Give functions that a module defines their public form."""
    made: dict[FunctionType, FunctionType] = {}  # several names may stand for one
    for name in names:
        fn = namespace[name]
        if isinstance(fn, FunctionType) and fn.__globals__ is namespace and fn.__code__.co_argcount:
            namespace[name] = made[fn] = made.get(fn) or public(fn, prefix + fn.__name__)


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
                if isinstance(form := getattr(value, "__wrapped__", None), Form) and isinstance(form.fn, FunctionType):
                    form.fn.__doc__ = doc  # which may be the method of that name
