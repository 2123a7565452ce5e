"""Writing tensors, plain Python data and whole objects as the pickle inside a `.pt` file."""

from __future__ import annotations

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

from . import _utils
from ._copying import attributes_of
from ._device import device
from ._dtype import dtype
from ._layout import layout
from ._size import Size
from ._tensor import Parameter, Tensor
from .storage import TypedStorage, UntypedStorage


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
_GETATTR = named("__builtin__", "getattr")
_NO_HOOKS = _ORDERED + b"(tR"  # an empty one, which each tensor has of its own
_REBUILD = named("torch._utils", "_rebuild_tensor_v2")
_REBUILD_PARAMETER = named("torch._utils", "_rebuild_parameter")
# The functions and classes, by identity, that files name as PyTorch does.
_PYTORCHS = {
    id(function): named("torch._tensor" if name.startswith("_rebuild_from_type") else "torch._utils", name)
    for name, function in vars(_utils).items() if name.startswith("_rebuild")
}  # fmt: skip
_PYTORCHS |= {id(cls): named("torch", cls.__name__) for cls in (Tensor, Size, device, dtype)}
_PYTORCHS |= {id(cls): named("torch.storage", cls.__name__) for cls in (TypedStorage, UntypedStorage)}
_PYTORCHS |= {id(Parameter): named("torch.nn.parameter", "Parameter")}

# Where in the object something is, in case that it has to be refused: the keys and positions on the way.
Where = tuple[Any, ...]
_KEY = object()  # on the way: the key itself, not what lies under it


def _spelled(where: Where) -> str:
    text = "the object"
    for step in where:
        text = f"a key of {text}" if step is _KEY else f"{text}[{step!r}]"
    return text


class NotFoundError(PicklingError, AttributeError):
    """A function or class that cannot be found by its name. Python raises the one or the other, by its version."""


class Writer:
    """One pickle being written. `describe` says for a storage what stands in the pickle in its place, `container` for a class of modules
    (None: its name).

    Plain data is written in as few bytes as there are, the rest as Python does it: classes and functions by name, objects by
    `__reduce_ex__`.
    """

    def __init__(
        self, describe: Callable[[Any], bytes], protocol: int = 2, container: Callable[[type], tuple[Any, ...] | None] = lambda cls: None
    ) -> None:
        self.out = bytearray(b"\x80" + bytes([protocol]))
        self.describe = describe
        self.container = container
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
        else:
            _EXACT.get(type(value), Writer._object)(self, value, where)

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

    def _called(self, name: Spelled, arguments: tuple[Any, ...], where: Where) -> None:
        self.out += name
        self._items(arguments, where)
        self.out += b"tR"

    def _items(self, values: Iterable[Any], where: Where) -> None:
        self.out += b"("
        for position, item in enumerate(values):
            self._write(item, (*where, position))

    def _tuple(self, value: tuple[Any, ...], where: Where) -> None:
        if not value:
            self.out += b")"
            return
        self._items(value, where)
        if id(value) in self.memo:  # it holds itself, by way of a list: the items are not needed
            self.out += b"1"
            self._write(value, where)
        else:
            self.out += b"t"
            self._remember(value)

    def _list(self, value: list[Any], where: Where) -> None:
        self.out += b"]"
        self._remember(value)
        self._items(value, where)
        self.out += b"e"

    def _dict(self, value: dict[Any, Any], where: Where) -> None:
        ordered = isinstance(value, OrderedDict)
        if ordered:
            self._called(_ORDERED, (), where)
        else:
            self.out += b"}"
        self._remember(value)
        self._pairs(value, where)
        if ordered and vars(value):
            self._dict(vars(value), where)
            self.out += b"b"

    def _pairs(self, value: dict[Any, Any], where: Where) -> None:
        self.out += b"("
        for key, item in value.items():
            self._write(key, (*where, _KEY))
            self._write(item, (*where, key))
        self.out += b"u"

    def _tensor(self, value: Tensor, where: Where) -> None:
        """A plain tensor or parameter, which most are; what carries more is an object like others."""
        if value._data.__class__ is not np.ndarray or attributes_of(value):
            self._object(value, where)
            return
        trained = value.__class__ is Parameter
        if trained:
            self.out += _REBUILD_PARAMETER + b"("
        rebuild, arguments = _utils.parts_of(value)
        if rebuild is _utils._rebuild_tensor_v2:
            storage, offset, shape, strides, requires_grad, _ = arguments
            self.out += _REBUILD + b"(" + self.describe(storage) + integer(offset)
            for numbers in (shape, strides):
                self.out += b"(" + b"".join(map(integer, numbers)) + b"t"
            self.out += _SINGLE[requires_grad and not trained] + _NO_HOOKS + b"tR"  # a parameter says so itself
        else:
            self._called(_PYTORCHS[id(rebuild)], arguments, where)
        if trained:
            self.out += _SINGLE[value.requires_grad] + _NO_HOOKS + b"tR"
        self._remember(value)

    def _storage(self, value: Any, where: Where) -> None:
        self.out += self.describe(value)

    def _as_it_is(self, value: Spelled, where: Where) -> None:
        self.out += value

    # ---- objects --------------------------------------------------------------------------------------------------

    def _object(self, value: Any, where: Where) -> None:
        if isinstance(value, type) and (source := self.container(value)) is not None:
            self._items(source, where)
            self.out += b"tQ"
            return
        if isinstance(value, type | FunctionType | BuiltinFunctionType) and type(value) not in copyreg.dispatch_table:
            self._global(value, value.__qualname__, where)
            return
        reduce = copyreg.dispatch_table.get(type(value))
        try:
            reduced = value.__reduce_ex__(2) if reduce is None else reduce(value)
        except TypeError as error:
            error.add_note(f"save: {_spelled(where)} cannot be pickled")
            raise
        if isinstance(reduced, str):
            self._global(value, reduced, where)
            return
        function, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        if function is dict and len(arguments) == 1 and type(arguments[0]) is dict:  # it is to come back as a plain dictionary
            self._dict(arguments[0], where)
            self.memo[id(value)] = self.memo[id(arguments[0])]
            self.kept.append(value)
            return
        if getattr(function, "__name__", "") == "__newobj__":
            self._write(arguments[0], where)
            self._items(arguments[1:], where)
            self.out += b"t\x81"
        else:
            self._write(function, where)
            self._items(arguments, where)
            self.out += b"tR"
        if id(value) in self.memo:  # it is among its own arguments
            self.out += b"0"
            self._write(value, where)
        else:
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
        if known := _PYTORCHS.get(id(value)):
            self.out += known
            return
        module = getattr(value, "__module__", None) or "builtins"
        if "<locals>" in name:
            raise NotFoundError(f"Can't pickle local object {name!r} ({_spelled(where)})")
        try:
            found = attrgetter(name)(import_module(module))
        except (ImportError, AttributeError):
            raise NotFoundError(f"Can't pickle {value!r}: attribute lookup {name} on {module} failed ({_spelled(where)})") from None
        if found is not value:
            raise PicklingError(f"Can't pickle {value!r}: it's not the same object as {module}.{name} ({_spelled(where)})")
        owner, _, last = name.rpartition(".")
        if owner:  # in this protocol only what stands in a module has a name
            self._called(_GETATTR, (attrgetter(owner)(import_module(module)), last), where)
        else:
            self.out += f"c{module}\n{name}\n".encode()


def _bytes(writer: Writer, value: bytes, where: Where) -> None:
    # In this protocol bytes are a text that is encoded again.
    writer._called(named("_codecs", "encode"), (value.decode("latin1"), "latin1"), where)


def _calling(module: str, name: str, arguments: Callable[[Any], tuple[Any, ...]]) -> Callable[[Writer, Any, Where], None]:
    spelled = named(module, name)

    def write(writer: Writer, value: Any, where: Where) -> None:
        writer._called(spelled, arguments(value), where)
        writer._remember(value)

    return write


# By the very class: what is derived from it is an object.
_EXACT: dict[type, Callable[[Writer, Any, Where], None]] = {
    type(None): Writer._single,
    bool: Writer._single,
    int: Writer._integer,
    float: Writer._floating,
    str: Writer._text,
    bytes: _bytes,
    tuple: Writer._tuple,
    list: Writer._list,
    dict: Writer._dict,
    OrderedDict: Writer._dict,
    Tensor: Writer._tensor,
    Parameter: Writer._tensor,
    TypedStorage: Writer._storage,
    UntypedStorage: Writer._storage,
    Spelled: Writer._as_it_is,
    Counter: _calling("collections", "Counter", lambda value: (dict(value),)),
    Size: _calling("torch", "Size", lambda value: (tuple(value),)),
    device: _calling("torch", "device", lambda value: (value.type,) if value.index is None else (value.type, value.index)),
    layout: _calling("torch.serialization", "_get_layout", lambda value: (str(value),)),
    bytearray: _calling("builtins", "bytearray", lambda value: (bytes(value),)),
    complex: _calling("builtins", "complex", lambda value: (value.real, value.imag)),
    set: _calling("builtins", "set", lambda value: (list(value),)),
    dtype: lambda writer, value, where: writer._as_it_is(named("torch", value.name), where),
}
