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


class Name:
    """A function or class of PyTorch, by its name."""

    def __init__(self, module: str, name: str) -> None:
        self.line = f"c{module}\n{name}\n".encode()


class Persistent:
    """The description of a storage, whose bytes are elsewhere in the file."""

    def __init__(self, description: tuple[Any, ...]) -> None:
        self.description = description


_ORDERED = Name("collections", "OrderedDict")
_REBUILD_PARAMETER = Name("torch._utils", "_rebuild_parameter")


class NotPlainError(TypeError):
    """An object among the plain data."""


class Writer:
    """One pickle being written. `describe` says for a tensor which function rebuilds it, from what.

    Without `objects`, whatever is no plain data is refused, and subclasses are written as what they are made of. With it, they are
    pickled as Python does it: classes and functions by name, the rest by `__reduce_ex__`.
    """

    def __init__(self, describe: Callable[[Tensor], tuple[Name, tuple[Any, ...]]], objects: bool = False) -> None:
        self.out = bytearray(b"\x80\x02")
        self.describe = describe
        self.objects = objects
        self.memo: dict[int, int] = {}
        self.kept: list[Any] = []  # keeps the ids in the memo valid

    def dump(self, value: Any) -> bytes:
        try:
            self._write(value, "the object")
        except RecursionError:
            raise ValueError("save: the object is nested too deeply") from None
        return bytes(self.out + b".")

    def _remember(self, value: Any) -> None:
        slot = self.memo[id(value)] = len(self.memo)
        self.kept.append(value)
        self.out += b"r" + struct.pack("<I", slot)

    def _write(self, value: Any, where: str) -> None:
        slot = self.memo.get(id(value))
        if slot is not None:
            self.out += b"j" + struct.pack("<I", slot)
        elif value is None or value is True or value is False:
            self.out += {None: b"N", True: b"\x88", False: b"\x89"}[value]
        elif self.objects:
            _EXACT.get(type(value), Writer._object)(self, value, where)
        else:
            for kind, write in _WRITERS:
                if isinstance(value, kind):
                    write(self, value, where)
                    return
            raise NotPlainError(f"save: {where} is a {type(value).__module__}.{type(value).__qualname__}")

    def _integer(self, value: Any, where: str) -> None:
        number = int(value)
        if 0 <= number < 256:
            self.out += b"K" + struct.pack("<B", number)
        elif -(2**31) <= number < 2**31:
            self.out += b"J" + struct.pack("<i", number)
        else:
            content = number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True)
            if len(content) > 255:
                raise ValueError(f"save: {where} is an integer of {number.bit_length()} bits; at most 2039 can be saved")
            self.out += b"\x8a" + struct.pack("<B", len(content)) + content

    def _floating(self, value: Any, where: str) -> None:
        self.out += b"G" + struct.pack(">d", float(value))

    def _text(self, value: str, where: str) -> None:
        content = value.encode("utf-8", "surrogatepass")
        self.out += b"X" + struct.pack("<I", len(content)) + content

    def _scalar(self, value: Any, where: str) -> None:
        self._write(value.item(), where)

    def _called(self, name: Name, arguments: tuple[Any, ...], where: str) -> None:
        self.out += name.line
        self._tuple(arguments, where)
        self.out += b"R"

    def _tuple(self, value: Iterable[Any], where: str) -> None:
        self.out += b"("
        for position, item in enumerate(value):
            self._write(item, f"{where}[{position}]")
        self.out += b"t"

    def _list(self, value: list[Any], where: str) -> None:
        self.out += b"]"
        self._remember(value)
        self.out += b"("
        for position, item in enumerate(value):
            self._write(item, f"{where}[{position}]")
        self.out += b"e"

    def _dict(self, value: dict[Any, Any], where: str) -> None:
        if isinstance(value, OrderedDict):
            self._called(_ORDERED, (), where)
        else:
            self.out += b"}"
        self._remember(value)
        self.out += b"("
        for key, item in value.items():
            self._write(key, f"a key of {where}")
            self._write(item, f"{where}[{key!r}]")
        self.out += b"u"
        if isinstance(value, OrderedDict) and vars(value):
            self._attributes(vars(value), where)

    def _attributes(self, attributes: dict[str, Any], where: str) -> None:
        self._dict(attributes, where)
        self.out += b"b"

    def _namespace(self, value: argparse.Namespace, where: str) -> None:
        self._called(Name("argparse", "Namespace"), (), where)
        self._remember(value)
        self._attributes(vars(value), where)

    def _tensor(self, value: Tensor, where: str) -> None:
        name, arguments = self.describe(value)
        if isinstance(value, Parameter):
            self.out += _REBUILD_PARAMETER.line + b"("
            self._called(name, arguments, where)
            self._write(value.requires_grad, where)
            self._called(_ORDERED, (), where)
            self.out += b"tR"
        else:
            self._called(name, arguments, where)
        self._remember(value)

    def _persistent(self, value: Persistent, where: str) -> None:
        self._tuple(value.description, where)
        self.out += b"Q"

    def _name(self, value: Name, where: str) -> None:
        self.out += value.line


    # ---- objects --------------------------------------------------------------------------------------------------

    def _object(self, value: Any, where: str) -> None:
        if isinstance(value, type | FunctionType | BuiltinFunctionType):
            self._global(value, value.__qualname__, where)
            return
        reduce = copyreg.dispatch_table.get(type(value))
        try:
            reduced = value.__reduce_ex__(2) if reduce is None else reduce(value)
        except TypeError as error:
            raise PicklingError(f"save: {where} cannot be pickled: {error}") from None
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
            self._write(item, f"{where}[{key!r}]")
            self.out += b"s"
        if state is not None:
            self._write(state, where)
            self.out += b"b"

    def _global(self, value: Any, name: str, where: str) -> None:
        """A class, a function or a constant by its name, if it can be found by that."""
        module = getattr(value, "__module__", None) or "builtins"
        try:
            found = attrgetter(name)(import_module(module))
        except (ImportError, AttributeError):
            found = None
        if found is not value:
            raise PicklingError(f"Can't pickle {value!r}: it's not found as {module}.{name} ({where})")
        self.out += f"c{module}\n{name}\n".encode()


def _bytes(writer: Writer, value: bytes, where: str) -> None:
    # In this protocol bytes are a text that is encoded again.
    writer._called(Name("_codecs", "encode"), (value.decode("latin1"), "latin1"), where)


# In order: subclasses come before the classes that they are made of. What has no row of its own is written as its base class.
_WRITERS: tuple[tuple[Any, Callable[[Writer, Any, str], None]], ...] = (
    (Tensor, Writer._tensor),
    (np.generic, Writer._scalar),
    (str, Writer._text),
    (int, Writer._integer),
    (float, Writer._floating),
    (Size, lambda writer, value, where: writer._called(Name("torch", "Size"), (tuple(value),), where)),
    (tuple, Writer._tuple),
    (list, Writer._list),
    (Counter, lambda writer, value, where: writer._called(Name("collections", "Counter"), (dict(value),), where)),
    (dict, Writer._dict),
    (argparse.Namespace, Writer._namespace),
    (Persistent, Writer._persistent),
    (Name, Writer._name),
    (dtype, lambda writer, value, where: writer._name(Name("torch", value.name), where)),
    (device, lambda writer, value, where: writer._called(
        Name("torch", "device"), (value.type,) if value.index is None else (value.type, value.index), where)),
    (bytes, _bytes),
    (bytearray, lambda writer, value, where: writer._called(Name("builtins", "bytearray"), (bytes(value),), where)),
    (complex, lambda writer, value, where: writer._called(Name("builtins", "complex"), (value.real, value.imag), where)),
    (set, lambda writer, value, where: writer._called(Name("builtins", "set"), (list(value),), where)),
)  # fmt: skip
# With objects, only these exactly are plain.
_EXACT = {kind: write for kind, write in _WRITERS if kind is not np.generic} | {Parameter: Writer._tensor}
