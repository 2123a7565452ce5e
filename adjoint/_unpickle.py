"""Reading the pickle inside a `.pt` file without running anything that is in it.

This is an interpreter of the opcodes that plain data needs. A pickle names functions and classes; here a name is only looked up in a short
table, and every call that the table allows is checked. What can take long or much memory with few bytes (huge memo slots, nested tuples as
dict keys, announced lengths) is refused, so that the work is in proportion to the size of the file.
"""

from __future__ import annotations

import argparse
import io
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from pickle import Unpickler, UnpicklingError
from typing import Any

_SCALARS = (str, int, float, complex, bool, bytes, type(None))
_MARK = object()
_STOP = ord(".")


class Named:
    """A name in the table: `build` makes the value that a call of it stands for."""

    def __init__(self, build: Callable[..., Any] | None, value: Any = None) -> None:
        self.build = build
        self.value = value


def _is_key(key: Any) -> bool:
    """Hashing a deeply nested tuple takes for ever or ends the process."""
    return isinstance(key, _SCALARS) or (type(key) is tuple and all(isinstance(item, _SCALARS) for item in key))


def _check_key(key: Any) -> Any:
    if not _is_key(key):
        raise UnpicklingError(f"Weights only load failed. A {type(key).__name__} is no key of a dictionary in a file that adjoint reads")
    return key


def _ordered(pairs: Any = ()) -> Any:
    return OrderedDict((_check_key(key), value) for key, value in pairs)


def _counter(counts: Any = None) -> Any:
    return Counter({_check_key(key): value for key, value in dict(counts or {}).items()})


def _set(items: Any = ()) -> Any:
    return {_check_key(item) for item in items}


def _encoded(text: Any, encoding: Any) -> bytes:
    if not isinstance(text, str) or encoding != "latin1":
        raise UnpicklingError("Weights only load failed. _codecs.encode is only known with a text and 'latin1'")
    return text.encode("latin1")


def _bytearray(content: Any = b"") -> bytearray:
    if not isinstance(content, bytes):  # a number would be the size of an allocation
        raise UnpicklingError("Weights only load failed. bytearray is only known with bytes")
    return bytearray(content)


def _complex(real: Any, imag: Any) -> complex:
    return complex(float(real), float(imag))


PLAIN: dict[str, Named] = {
    "collections.OrderedDict": Named(_ordered),
    "collections.Counter": Named(_counter),
    "_codecs.encode": Named(_encoded),
    "argparse.Namespace": Named(argparse.Namespace),
    **{
        f"{module}.{name}": Named(build)
        for module in ("builtins", "__builtin__")
        for name, build in (("set", _set), ("bytearray", _bytearray), ("complex", _complex))
    },
}


class Reader:
    """One pickle being read. `names` are the known names, `persistent` makes a storage of its description."""

    def __init__(self, data: bytes, names: Mapping[str, Named], persistent: Callable[[Any], Any]) -> None:
        self.data = data
        self.at = 0
        self.names = names
        self.persistent = persistent
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def load(self) -> Any:
        try:
            self._run()
            value = self._pop()
        except UnpicklingError:
            raise
        except (IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError, struct.error) as error:
            raise UnpicklingError(f"Weights only load failed. The pickle in the file is damaged at byte {self.at}: {error}") from error
        if self.stack:
            raise UnpicklingError("Weights only load failed. The pickle in the file is damaged: values are left over")
        return value

    def _run(self) -> None:
        data, end = self.data, len(self.data)
        while self.at < end:
            code = data[self.at]
            self.at += 1
            if code == _STOP:
                return
            action = _ACTIONS.get(code)
            if action is None:
                raise UnpicklingError(f"Weights only load failed. Unsupported operand {code}: the file holds more than plain data")
            action(self)
        raise UnpicklingError("Weights only load failed. The pickle is truncated")

    # ---- bytes ----------------------------------------------------------------------------------------------------

    def _take(self, count: int) -> bytes:
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise UnpicklingError(f"Weights only load failed. The pickle is truncated: {count} bytes are missing at byte {self.at}")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _line(self) -> str:
        end = self.data.find(b"\n", self.at, self.at + 1000)
        if end < 0:
            raise UnpicklingError("Weights only load failed. The pickle is truncated inside a name")
        line = self.data[self.at : end].decode()
        self.at = end + 1
        return line

    # ---- stack ----------------------------------------------------------------------------------------------------

    def _pop(self) -> Any:
        value = self.stack.pop()
        if value is _MARK:
            raise UnpicklingError("Weights only load failed. The pickle in the file is damaged: a value is missing")
        return value

    def _pop_to_mark(self) -> list[Any]:
        position = len(self.stack) - 1
        while self.stack[position] is not _MARK:  # runs into an IndexError where there is no mark
            position -= 1
            if position < 0:
                raise UnpicklingError("Weights only load failed. The pickle in the file is damaged: no mark")
        items = self.stack[position + 1 :]
        del self.stack[position:]
        return items

    def _tuple(self, count: int) -> None:
        last = self._pop()
        if count == 1:  # by far the most frequent in a file that is made to take long
            self.stack.append((last,))
        else:
            self.stack.append((*reversed([self._pop() for _ in range(count - 1)]), last))

    def _top(self, kind: type[Any]) -> Any:
        target = self.stack[-1]
        if not isinstance(target, kind):
            raise UnpicklingError(f"Weights only load failed. A {type(target).__name__} is filled where a {kind.__name__} is expected")
        return target

    def _append(self, items: list[Any]) -> None:
        self._top(list).extend(items)

    def _set_items(self, items: list[Any]) -> None:
        target = self._top(dict)
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[_check_key(key)] = value

    def _add_items(self, items: list[Any]) -> None:
        self._top(set).update(map(_check_key, items))

    # ---- memo -----------------------------------------------------------------------------------------------------

    def _put(self, slot: int) -> None:
        self.memo[slot] = self.stack[-1]

    def _get(self, slot: int) -> None:
        self.stack.append(self.memo[slot])

    # ---- names and calls ------------------------------------------------------------------------------------------

    def _name(self, module: Any, name: Any) -> None:
        full = f"{module}.{name}"
        known = self.names.get(full)
        if known is None:
            raise refusal(full)
        self.stack.append(known if known.build else known.value)

    def _stack_name(self) -> None:
        name = self._pop()
        self._name(self._pop(), name)

    def _call(self) -> None:
        arguments = self._pop()
        function = self._pop()
        if not isinstance(function, Named) or function.build is None or type(arguments) is not tuple:
            raise UnpicklingError("Weights only load failed. The pickle calls something that is no known function")
        self.stack.append(function.build(*arguments))

    def _build(self) -> None:
        """Attributes: of the metadata of a state dict, or of a namespace."""
        state = self._pop()
        target = self.stack[-1]
        if type(target) not in (OrderedDict, argparse.Namespace) or type(state) is not dict or not all(type(key) is str for key in state):
            raise UnpicklingError(f"Weights only load failed. Attributes of a {type(target).__name__} are not read")
        vars(target).update(state)

    def _persistent(self) -> None:
        self.stack.append(self.persistent(self._pop()))


class ObjectReader(Unpickler):
    """A pickle read by Python itself, which runs what it names: all of it, or only the classes and functions in `allowed`."""

    def __init__(
        self, data: bytes, names: Mapping[str, Named], persistent: Callable[[Any], Any], allowed: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(io.BytesIO(data))
        self._names = names
        self._persistent = persistent
        self._allowed = allowed

    def persistent_load(self, pid: Any) -> Any:
        return self._persistent(pid)

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if module.startswith("torch") and (known := self._names.get(full)):
            return known.build or known.value
        if self._allowed is None:
            package, dot, rest = module.partition(".")
            return super().find_class(f"{__package__}{dot}{rest}" if package == "torch" else module, name)
        if full in self._allowed:
            return self._allowed[full]
        if known := self._names.get(full):
            return known.build or known.value
        raise refusal(full)


def refusal(full: str) -> UnpicklingError:
    """The error for a name in a file that is to hold plain data only."""
    return UnpicklingError(
        "Weights only load failed. This file can still be loaded, if you trust whoever made it: torch.load(path, weights_only=False)\n"
        f"  WeightsUnpickler error: Unsupported global: GLOBAL {full} was not an allowed global by default: reading it may run code\n"
        "  fix: where the file was made, save tensors and plain Python data: torch.save(model.state_dict(), path)\n"
        f"  or allow just this one: torch.serialization.add_safe_globals([{full}])"
    )


def _skip(count: int) -> Callable[[Reader], None]:
    def skip(reader: Reader) -> None:
        reader._take(count)

    return skip


def _text(form: str) -> Callable[[Reader], None]:
    return lambda reader: reader.stack.append(reader._take(reader._number(form)).decode("utf-8", "surrogatepass"))


def _bytes(form: str) -> Callable[[Reader], None]:
    return lambda reader: reader.stack.append(reader._take(reader._number(form)))


def _value(form: str) -> Callable[[Reader], None]:
    return lambda reader: reader.stack.append(reader._number(form))


def _constant(make: Callable[[], Any]) -> Callable[[Reader], None]:
    return lambda reader: reader.stack.append(make())


def _pair(reader: Reader) -> list[Any]:
    value = reader._pop()
    return [reader._pop(), value]


_OPCODES: dict[bytes, Callable[[Reader], None]] = {
    b"\x80": _skip(1),  # PROTO
    b"\x95": _skip(8),  # FRAME
    b"(": _constant(lambda: _MARK),
    b"N": _constant(lambda: None),
    b"\x88": _constant(lambda: True),
    b"\x89": _constant(lambda: False),
    b")": _constant(tuple),
    b"]": _constant(list),
    b"}": _constant(dict),
    b"\x8f": _constant(set),
    b"K": _value("<B"),
    b"M": _value("<H"),
    b"J": _value("<i"),
    b"G": _value(">d"),
    b"\x8a": lambda reader: reader.stack.append(int.from_bytes(reader._take(reader._number("<B")), "little", signed=True)),
    b"X": _text("<I"),
    b"\x8c": _text("<B"),
    b"\x8d": _text("<Q"),
    b"C": _bytes("<B"),
    b"B": _bytes("<I"),
    b"\x8e": _bytes("<Q"),
    b"t": lambda reader: reader.stack.append(tuple(reader._pop_to_mark())),
    b"\x85": lambda reader: reader._tuple(1),
    b"\x86": lambda reader: reader._tuple(2),
    b"\x87": lambda reader: reader._tuple(3),
    b"a": lambda reader: reader._append([reader._pop()]),
    b"e": lambda reader: reader._append(reader._pop_to_mark()),
    b"s": lambda reader: reader._set_items(_pair(reader)),
    b"u": lambda reader: reader._set_items(reader._pop_to_mark()),
    b"\x90": lambda reader: reader._add_items(reader._pop_to_mark()),
    b"q": lambda reader: reader._put(reader._number("<B")),
    b"r": lambda reader: reader._put(reader._number("<I")),
    b"\x94": lambda reader: reader._put(len(reader.memo)),
    b"h": lambda reader: reader._get(reader._number("<B")),
    b"j": lambda reader: reader._get(reader._number("<I")),
    b"c": lambda reader: reader._name(reader._line(), reader._line()),
    b"\x93": Reader._stack_name,
    b"R": Reader._call,
    b"\x81": Reader._call,  # NEWOBJ: the same for the classes in the table
    b"b": Reader._build,
    b"Q": Reader._persistent,
}
_ACTIONS = {code[0]: action for code, action in _OPCODES.items()}
