"""Writing tensors, plain Python data and, where asked, whole objects as the pickle inside a `.pt` file."""

from __future__ import annotations

import argparse
import copyreg
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from importlib import import_module
from operator import attrgetter
from pickle import PicklingError
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from ._device import device
from ._dtype import dtype
from ._size import Size
from ._tensor import Parameter, Tensor


class Spelled(bytes):
    """A piece of a pickle that stands in it as it is."""


def named(module: str, name: str) -> Spelled:
    """A function or class by its name."""
    return Spelled(f"c{module}\n{name}\n".encode())


def text(value: str) -> bytes:
    content = value.encode("utf-8", "surrogatepass")
    return b"X" + _FOUR_BYTES(len(content)) + content


def integer(number: int) -> bytes:
    """One of at most 2039 bits."""
    if 0 <= number < 256:
        return _SMALL[number]
    if -(2**31) <= number < 2**31:
        return b"J" + _SIGNED(number)
    content = number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(content)]) + content


_FOUR_BYTES, _SIGNED, _DOUBLE = struct.Struct("<I").pack, struct.Struct("<i").pack, struct.Struct(">d").pack
_SMALL = [b"K" + bytes([number]) for number in range(256)]
_SINGLE = {None: b"N", True: b"\x88", False: b"\x89"}
_ORDERED = named("collections", "OrderedDict")
NO_HOOKS = Spelled(_ORDERED + b"(tR")  # an empty one, which each tensor has of its own
_REBUILD_PARAMETER = named("torch._utils", "_rebuild_parameter")

# Where in the object something is, in case that it has to be refused: the keys and positions on the way.
Where = tuple[Any, ...]
_KEY = object()  # on the way: the key itself, not what lies under it


def _spelled(where: Where) -> str:
    text = "the object"
    for step in where:
        text = f"a key of {text}" if step is _KEY else f"{text}[{step!r}]"
    return text


class NotPlainError(TypeError):
    """An object among the plain data."""


class Writer:
    """One pickle being written. `describe` says for a tensor which function rebuilds it, from what.

    Without `objects`, whatever is no plain data is refused, and subclasses are written as what they are made of. With it, they are
    pickled as Python does it: classes and functions by name, the rest by `__reduce_ex__`.
    """

    def __init__(self, describe: Callable[[Tensor], tuple[Spelled, tuple[Any, ...]]], objects: bool = False) -> None:
        self.out = bytearray(b"\x80\x02")
        self.describe = describe
        self.objects = objects
        self.memo: dict[int, int] = {}
        self.kept: list[Any] = []  # keeps the ids in the memo valid

    def dump(self, value: Any) -> bytes:
        try:
            self._write(value, ())
        except RecursionError:
            raise ValueError("save: the object is nested too deeply") from None
        return bytes(self.out + b".")

    def _remember(self, value: Any) -> None:
        slot = self.memo[id(value)] = len(self.memo)
        self.kept.append(value)
        self.out += b"r" + _FOUR_BYTES(slot)

    def _write(self, value: Any, where: Where) -> None:
        slot = self.memo.get(id(value))
        if slot is not None:
            self.out += b"j" + _FOUR_BYTES(slot)
            return
        write = _EXACT.get(type(value))
        if write is None:
            write = Writer._object if self.objects else self._writer_of_base(value, where)
        write(self, value, where)

    def _writer_of_base(self, value: Any, where: Where) -> Callable[[Writer, Any, Where], None]:
        for kind, write in _WRITERS:
            if isinstance(value, kind):
                return write
        raise NotPlainError(f"save: {_spelled(where)} is a {type(value).__module__}.{type(value).__qualname__}")

    def _single(self, value: Any, where: Where) -> None:
        self.out += _SINGLE[value]

    def _integer(self, value: Any, where: Where) -> None:
        number = int(value)
        if number.bit_length() >= 8 * 255:
            raise ValueError(f"save: {_spelled(where)} is an integer of {number.bit_length()} bits; at most 2039 can be saved")
        self.out += integer(number)

    def _floating(self, value: Any, where: Where) -> None:
        self.out += b"G" + _DOUBLE(float(value))

    def _text(self, value: str, where: Where) -> None:
        self.out += text(value)

    def _scalar(self, value: Any, where: Where) -> None:
        self._write(value.item(), where)

    def _called(self, name: Spelled, arguments: tuple[Any, ...], where: Where) -> None:
        self.out += name
        self._tuple(arguments, where)
        self.out += b"R"

    def _tuple(self, value: Iterable[Any], where: Where) -> None:
        self.out += b"("
        for position, item in enumerate(value):
            self._write(item, (*where, position))
        self.out += b"t"

    def _list(self, value: list[Any], where: Where) -> None:
        self.out += b"]"
        self._remember(value)
        self.out += b"("
        for position, item in enumerate(value):
            self._write(item, (*where, position))
        self.out += b"e"

    def _dict(self, value: dict[Any, Any], where: Where) -> None:
        if isinstance(value, OrderedDict):
            self._called(_ORDERED, (), where)
        else:
            self.out += b"}"
        self._remember(value)
        self.out += b"("
        for key, item in value.items():
            self._write(key, (*where, _KEY))
            self._write(item, (*where, key))
        self.out += b"u"
        if isinstance(value, OrderedDict) and vars(value):
            self._attributes(vars(value), where)

    def _attributes(self, attributes: dict[str, Any], where: Where) -> None:
        self._dict(attributes, where)
        self.out += b"b"

    def _namespace(self, value: argparse.Namespace, where: Where) -> None:
        self._called(named("argparse", "Namespace"), (), where)
        self._remember(value)
        self._attributes(vars(value), where)

    def _tensor(self, value: Tensor, where: Where) -> None:
        name, arguments = self.describe(value)
        if isinstance(value, Parameter):
            self.out += _REBUILD_PARAMETER + b"("
            self._called(name, arguments, where)
            self.out += _SINGLE[value.requires_grad] + NO_HOOKS + b"tR"
        else:
            self._called(name, arguments, where)
        self._remember(value)

    def _as_it_is(self, value: Spelled, where: Where) -> None:
        self.out += value

    # ---- objects --------------------------------------------------------------------------------------------------

    def _object(self, value: Any, where: Where) -> None:
        if isinstance(value, type | FunctionType | BuiltinFunctionType):
            self._global(value, value.__qualname__, where)
            return
        reduce = copyreg.dispatch_table.get(type(value))
        try:
            reduced = value.__reduce_ex__(2) if reduce is None else reduce(value)
        except TypeError as error:
            raise PicklingError(f"save: {_spelled(where)} cannot be pickled: {error}") from None
        if isinstance(reduced, str):
            self._global(value, reduced, where)
            return
        function, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        if getattr(function, "__name__", "") == "__newobj__":
            self._write(arguments[0], where)
            self._tuple(arguments[1:], where)
            self.out += b"\x81"
        else:
            self._write(function, where)
            self._tuple(arguments, where)
            self.out += b"R"
        self._remember(value)
        for item in items or ():
            self._write(item, where)
            self.out += b"a"
        for key, item in pairs or ():
            self._write(key, where)
            self._write(item, (*where, key))
            self.out += b"s"
        if state is not None:
            self._write(state, where)
            self.out += b"b"

    def _global(self, value: Any, name: str, where: Where) -> None:
        """A class, a function or a constant by its name, if it can be found by that."""
        module = getattr(value, "__module__", None) or "builtins"
        try:
            found = attrgetter(name)(import_module(module))
        except (ImportError, AttributeError):
            found = None
        if found is not value:
            raise PicklingError(f"Can't pickle {value!r}: it's not found as {module}.{name} ({_spelled(where)})")
        self.out += f"c{module}\n{name}\n".encode()


def _bytes(writer: Writer, value: bytes, where: Where) -> None:
    # In this protocol bytes are a text that is encoded again.
    writer._called(named("_codecs", "encode"), (value.decode("latin1"), "latin1"), where)


# In order: subclasses come before the classes that they are made of. What has no row of its own is written as its base class.
_WRITERS: tuple[tuple[Any, Callable[[Writer, Any, Where], None]], ...] = (
    (Tensor, Writer._tensor),
    (np.generic, Writer._scalar),
    (str, Writer._text),
    (int, Writer._integer),
    (float, Writer._floating),
    (Size, lambda writer, value, where: writer._called(named("torch", "Size"), (tuple(value),), where)),
    (tuple, Writer._tuple),
    (list, Writer._list),
    (Counter, lambda writer, value, where: writer._called(named("collections", "Counter"), (dict(value),), where)),
    (dict, Writer._dict),
    (argparse.Namespace, Writer._namespace),
    (Spelled, Writer._as_it_is),
    (dtype, lambda writer, value, where: writer._as_it_is(named("torch", value.name), where)),
    (device, lambda writer, value, where: writer._called(
        named("torch", "device"), (value.type,) if value.index is None else (value.type, value.index), where)),
    (bytes, _bytes),
    (bytearray, lambda writer, value, where: writer._called(named("builtins", "bytearray"), (bytes(value),), where)),
    (complex, lambda writer, value, where: writer._called(named("builtins", "complex"), (value.real, value.imag), where)),
    (set, lambda writer, value, where: writer._called(named("builtins", "set"), (list(value),), where)),
)  # fmt: skip
# Without a look at base classes, which objects may not be taken for: with objects, only these are plain.
_EXACT = {kind: write for kind, write in _WRITERS if kind is not np.generic}
_EXACT |= {Parameter: Writer._tensor, bool: Writer._single, type(None): Writer._single}
