"""Signatures of operators as PyTorch writes them: `scale(Tensor x, float by=1., *, Tensor(a!)? out=None) -> Tensor`.

They are read from text or from the annotations of a function, bind the arguments of a call, check their types and fill in defaults.
"""

from __future__ import annotations

import ast
import collections.abc
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ._device import device
from ._dtype import by_name, dtype
from ._layout import layout, memory_format
from ._tensor import Tensor

NUMBERS = (bool, int, float, complex)
ACCEPTED: dict[str, tuple[Any, ...]] = {
    "Tensor": (Tensor,), "int": (int,), "SymInt": (int,), "float": (int, float), "bool": (bool,), "str": (str,), "Scalar": NUMBERS,
    "complex": NUMBERS, "number": NUMBERS, "Device": (device, str), "ScalarType": (dtype,), "Layout": (layout,),
    "MemoryFormat": (memory_format,), "Generator": (object,), "Any": (object,), "Storage": (object,),
}  # fmt: skip
SAID = {"SymInt": "int"}  # what errors call a type


@dataclass(frozen=True)
class Type:
    """`Tensor(a!)?[]`: a base, what it is a list of, and whether it may be absent."""

    base: str
    alias: str = ""
    writes: bool = False
    optional: bool = False  # an element, or the thing itself where it is no list
    size: int | None = None  # of a list; 0 for any
    optional_list: bool = False

    def __str__(self) -> str:
        mark = f"({self.alias}{'!' if self.writes else ''})" if self.alias else ""
        brackets = "" if self.size is None else f"[{self.size or ''}]"
        return f"{self.base}{mark}{'?' if self.optional else ''}{brackets}{'?' if self.optional_list else ''}"

    @property
    def is_list(self) -> bool:
        return self.size is not None

    def accept(self, value: Any) -> Any:
        """A value as the operator gets it; TypeError if it is of another type."""
        if value is None:
            if self.optional_list or (self.optional and not self.is_list):
                return None
            raise TypeError
        if not self.is_list:
            return self._accept_one(value)
        if isinstance(value, list | tuple):
            return [None if item is None and self.optional else self._accept_one(item) for item in value]
        if self.size:  # one number stands for all
            return [self._accept_one(value)] * self.size
        raise TypeError

    def _accept_one(self, value: Any) -> Any:
        if not isinstance(value, ACCEPTED.get(self.base, (object,))):
            raise TypeError
        if self.base == "float":
            return float(value)
        return device(value) if self.base == "Device" else value


@dataclass(frozen=True)
class Argument:
    name: str
    type: Type
    default: Any = inspect.Parameter.empty
    kwarg_only: bool = False

    def has_default_value(self) -> bool:
        return self.default is not inspect.Parameter.empty

    @property
    def default_value(self) -> Any:
        return self.default if self.has_default_value() else None

    @property
    def is_write(self) -> bool:
        return self.type.writes

    @property
    def alias_info(self) -> Any:
        return self.type if self.type.alias else None

    def __str__(self) -> str:
        text = f"{self.type} {self.name}" if self.name else str(self.type)
        return f"{text}={default_text(self.default)}" if self.has_default_value() else text


def default_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return f"{int(value)}."
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(default_text, value))}]"
    return str(value)


@dataclass(frozen=True)
class FunctionSchema:
    """The signature of an operator. `str` of it is the text that PyTorch shows."""

    name: str  # with its namespace
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    _positional: tuple[Argument, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_positional", tuple(arg for arg in self.arguments if not arg.kwarg_only))

    @property
    def is_mutable(self) -> bool:
        return any(arg.type.writes for arg in self.arguments)

    def signature(self) -> str:
        """Without the name."""
        keyword_only = [arg for arg in self.arguments if arg.kwarg_only]
        arguments = [*map(str, self._positional), *(["*", *map(str, keyword_only)] if keyword_only else [])]
        returns = ", ".join(map(str, self.returns))
        single = len(self.returns) == 1 and not self.returns[0].name
        return f"({', '.join(arguments)}) -> {returns if single else f'({returns})'}"

    def __str__(self) -> str:
        return f"{self.name}{f'.{self.overload_name}' if self.overload_name else ''}{self.signature()}"

    # ---- calls ------------------------------------------------------------------------------------------------------------------

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The values of all arguments, in the order of the signature."""
        given = len(args) + len(kwargs)
        if given > len(self.arguments) or len(args) > len(self._positional):
            self.refuse(f"expected at most {len(self.arguments)} argument(s) but received {given} argument(s).")
        values = list(args)
        rest = dict(kwargs)
        for argument in self.arguments[len(args) :]:
            if argument.name in rest:
                values.append(rest.pop(argument.name))
            elif argument.has_default_value():
                values.append(argument.default)
            else:
                self.refuse(f"is missing value for argument '{argument.name}'.")
        if rest:
            self.refuse(f"got an unexpected or repeated keyword argument '{next(iter(rest))}'.")
        return [self._accepted(place, argument, value) for place, (argument, value) in enumerate(zip(self.arguments, values, strict=True))]

    def _accepted(self, place: int, argument: Argument, value: Any) -> Any:
        try:
            return argument.type.accept(value)
        except TypeError:
            kind = str(argument.type).replace(f"({argument.type.alias}!)", "")
            raise RuntimeError(
                f"{self.name}() Expected a value of type '{SAID.get(kind, kind)}' for argument '{argument.name}' but instead found type "
                f"'{type(value).__name__}'.\nPosition: {place}\nValue: {value}\nDeclaration: {self}"
            ) from None

    def split(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Bound values as a function is called with them."""
        cut = len(self._positional)
        return tuple(values[:cut]), {arg.name: value for arg, value in zip(self.arguments[cut:], values[cut:], strict=True)}

    def refuse(self, words: str) -> NoReturn:
        raise RuntimeError(f"{self.name}() {words} Declaration: {self}")


# ---- from text ----------------------------------------------------------------------------------------------------------------------

TYPE = re.compile(
    r"\s*(?P<base>[A-Za-z_][\w.]*)(\((?P<alias>\w+)(?P<writes>!)?[^)]*\))?(?P<optional>\?)?(\[(?P<size>\d*)\])?(?P<maybe>\?)?\s*"
)


def parse_schema(text: str) -> FunctionSchema:
    """`name(...) -> ...`, with or without a namespace and an overload."""
    found = re.fullmatch(r"\s*([\w:]+)(?:\.(\w+))?\s*(\(.*)", text, re.DOTALL)
    if found is None:
        raise RuntimeError(f"expected name(arguments) -> returns but found here:\n{text}")
    name, overload, rest = found.groups()
    inside, rest = in_parentheses(rest, text)
    arguments, keyword_only = [], False
    for part in parts_of(inside):
        if part == "*":
            keyword_only = True
        else:
            arguments.append(parse_argument(part, keyword_only, text))
    arrow, _, returned = rest.partition("->")
    if arrow.strip() or "->" not in rest:
        raise RuntimeError(f"expected -> but found {rest.strip()[:20] or 'eof'!r} here:\n{text}")
    returned = returned.strip()
    several = parts_of(in_parentheses(returned, text)[0]) if returned.startswith("(") else [returned]
    returns = tuple(parse_argument(part, False, text, named=False) for part in several)
    return FunctionSchema(name, overload or "", tuple(arguments), returns)


def with_depths(text: str) -> Iterator[tuple[str, int]]:
    """Each character, with the number of brackets and quotes that are open after it."""
    depth, quote = 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        else:
            depth += (char in "([") - (char in ")]")
        yield char, depth + bool(quote)


def in_parentheses(text: str, whole: str) -> tuple[str, str]:
    """What stands in the parentheses that a text begins with, and what follows."""
    for place, (char, within) in enumerate(with_depths(text)):
        if char in ")]" and not within:
            return text[1:place], text[place + 1 :]
    raise RuntimeError(f"expected ) but found 'eof' here:\n{whole}")


def parts_of(text: str) -> list[str]:
    """What commas separate outside of brackets and quotes."""
    parts = [""]
    for char, within in with_depths(text):
        if char == "," and not within:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def parse_argument(text: str, keyword_only: bool, whole: str, named: bool = True) -> Argument:
    found = TYPE.match(text)
    if found is None:
        raise RuntimeError(f"unknown type {text!r} here:\n{whole}")
    size = found["size"]
    kind = Type(
        found["base"], found["alias"] or "", bool(found["writes"]), bool(found["optional"]), None if size is None else int(size or 0),
        bool(found["maybe"]),
    )  # fmt: skip
    name, equals, default = text[found.end() :].partition("=")
    if named and not name.strip().isidentifier():
        raise RuntimeError(f"expected the name of an argument after {str(kind)!r} here:\n{whole}")
    return Argument(name.strip(), kind, parse_default(default.strip(), kind) if equals else inspect.Parameter.empty, keyword_only)


def parse_default(text: str, kind: Type) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):  # a word such as contiguous_format
        return by_name(text) if kind.base == "ScalarType" else device(text) if kind.base == "Device" else text
    return float(value) if kind.base == "float" and not kind.is_list and isinstance(value, int) else value


# ---- from annotations ---------------------------------------------------------------------------------------------------------------

NAMES: dict[Any, str] = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", dtype: "ScalarType", device: "Device", Any: "Any",
    complex: "Scalar",
}  # fmt: skip
LISTS = {list, typing.Sequence, collections.abc.Sequence, tuple}
NUMBER_SETS = ({int, float, bool}, {int, float, complex}, {int, float, bool, complex})


def infer_schema(prototype_function: Callable[..., Any], *, mutates_args: str | Iterable[str], op_name: str | None = None) -> str:
    """The signature of an operator from the annotations of a function.

    >>> from adjoint import Tensor
    >>> from adjoint.library import infer_schema
    >>> def scale(x: Tensor, by: float = 2.0) -> Tensor: ...
    >>> infer_schema(scale, mutates_args=())
    '(Tensor x, float by=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def refuse(words: str) -> NoReturn:
        raise ValueError(f"infer_schema(func): {words} Got func with signature {signature})")

    try:
        hints = typing.get_type_hints(prototype_function)
    except Exception as error:
        refuse(f"Unsupported type annotation ({error}). It is not a type.")
    writes = mutates_args if isinstance(mutates_args, str) else set(mutates_args)
    if not isinstance(writes, str) and writes - signature.parameters.keys():
        refuse(
            f"{writes - signature.parameters.keys()} in mutates_args were not found in the custom op's signature. mutates_args should "
            "contain the names of all args that the custom op mutates, or just the string 'unknown' if you don't know."
        )
    parts, starred = [], False
    for place, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            refuse("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind == parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        if name not in hints:
            refuse(f"Parameter {name} must have a type annotation.")
        kind = name_of(hints[name])
        if kind is None:
            refuse(f"Parameter {name} has unsupported type {hints[name]}. Use Tensor, int, float, bool, str, dtype, device, or lists.")
        if (writes == "unknown" and kind.startswith("Tensor")) or (not isinstance(writes, str) and name in writes):
            if not kind.startswith("Tensor"):
                refuse(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated.")
            kind = f"Tensor(a{place}!){kind[6:]}"
        default = ""
        if parameter.default is not parameter.empty:
            if not isinstance(parameter.default, (int, float, bool, str, dtype, device, types.NoneType)):
                refuse(f"Parameter {name} has an unsupported default value type {type(parameter.default)}.")
            default = f"={annotated_default(parameter.default)}"
        parts.append(f"{kind} {name}{default}")
    if "return" not in hints:
        refuse("No return type annotation was provided. Please add one.")
    returns = returns_of(hints["return"])
    if returns is None:
        refuse(f"Return has unsupported type {hints['return']}. Return Tensors, numbers, lists of Tensors, or tuples of these.")
    return f"{op_name or ''}({', '.join(parts)}) -> {returns}"


def annotated_default(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).removeprefix("torch.")


def name_of(hint: Any) -> str | None:
    """PyTorch's name for a type; None if it has none."""
    if hint in NAMES:
        return NAMES[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        present = [arg for arg in arguments if arg is not types.NoneType]
        base = "Scalar" if set(present) in NUMBER_SETS else name_of(present[0]) if len(present) == 1 else None
        return base if base is None or len(present) == len(arguments) else f"{base}?"
    if origin in LISTS and arguments and (len(arguments) == 1 or arguments[-1] is ...):
        item = name_of(arguments[0])
        return None if item is None else f"{item}[]"
    return None


def returns_of(hint: Any) -> str | None:
    if hint is types.NoneType or hint is None:
        return "()"
    if typing.get_origin(hint) is tuple:
        parts = [name_of(item) for item in typing.get_args(hint)]
        return None if None in parts else f"({', '.join(part or '' for part in parts)})"
    return name_of(hint)
