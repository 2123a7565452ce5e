"""Reading the pickle inside a `.pt` file without running anything that is in it.

This is an interpreter of the opcodes that plain data needs. A pickle names functions and classes; here a name is only looked up in a short
table, and every call that the table allows is checked. What can take long or much memory with few bytes (huge memo slots, nested tuples as
dict keys, announced lengths) is refused, so that the work is in proportion to the size of the file.
"""

from __future__ import annotations

import _compat_pickle
import re
import struct
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from pickle import UnpicklingError
from pickletools import genops
from typing import Any

from ._device import device
from ._dtype import dtype
from ._tensor import Parameter, Tensor

_SCALARS = (str, int, float, complex, bool, bytes, type(None), dtype, device)
_BLOCKED = ("sys", "os", "posix", "nt")  # modules of which nothing is ever called
_MARK = object()
_STOP = ord(".")


class Named:
    """A name in the table: `build` makes the value that a call of it stands for."""

    def __init__(self, build: Callable[..., Any] | None, value: Any = None) -> None:
        self.build = build
        self.value = value


_MANY = 100_000


def _is_key(key: Any) -> bool:
    """Hashing a deeply nested tuple takes for ever or ends the process."""
    if type(key) is not tuple:
        return isinstance(key, _SCALARS) or not isinstance(key, list | dict | set)
    level, count, depth = [key], 0, 0
    while level:
        count, depth = count + sum(map(len, level)), depth + 1
        if count > _MANY or depth > 20:
            return False
        level = [item for one in level for item in one if isinstance(item, tuple)]
    return True


def _check_key(key: Any) -> Any:
    if not _is_key(key):
        raise UnpicklingError(f"A {type(key).__name__} is no key of a dictionary in a file that adjoint reads")
    return key


def _ordered(pairs: Any = ()) -> Any:
    return OrderedDict((_check_key(key), value) for key, value in pairs)


def _counter(counts: Any = None) -> Any:
    return Counter({_check_key(key): value for key, value in dict(counts or {}).items()})


def _set(items: Any = ()) -> Any:
    return {_check_key(item) for item in items}


def _encoded(text: Any, encoding: Any) -> bytes:
    if not isinstance(text, str) or encoding != "latin1":
        raise UnpicklingError("_codecs.encode is only known with a text and 'latin1'")
    return text.encode("latin1")


def _bytearray(content: Any = b"") -> bytearray:
    if not isinstance(content, bytes):  # a number would be the size of an allocation
        raise UnpicklingError("bytearray is only known with bytes")
    return bytearray(content)


def _complex(real: Any, imag: Any) -> complex:
    return complex(float(real), float(imag))


PLAIN: dict[str, Named] = {
    "collections.OrderedDict": Named(_ordered),
    "collections.Counter": Named(_counter),
    "_codecs.encode": Named(_encoded),
    **{
        f"{module}.{name}": Named(build)
        for module in ("builtins", "__builtin__")
        for name, build in (("set", _set), ("bytearray", _bytearray), ("complex", _complex))
    },
}


class Reader:
    """One pickle being read. `names` are the known names, `allowed` those that the user has added, `persistent` makes a storage of its
    description."""

    def __init__(
        self, data: bytes, names: Mapping[str, Named], persistent: Callable[[Any], Any], allowed: Mapping[str, Any], at: int = 0
    ) -> None:
        self.data = data
        self.at = at
        self.names = names
        self.allowed = allowed
        self.trusted = {id(value) for value in self.allowed.values()}
        self.persistent = persistent
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def load(self) -> Any:
        if self.at >= len(self.data):
            raise EOFError
        try:
            self._run()
            value = self._pop()
        except UnpicklingError as error:
            raise UnpicklingError(_explained(str(error))) from None
        except (IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError, struct.error) as error:
            if self.trusted:  # it may come from what the user has allowed
                raise
            raise UnpicklingError(_explained(f"The pickle in the file is damaged at byte {self.at}: {error}")) from error
        if self.stack:
            raise UnpicklingError(_explained("The pickle in the file is damaged: values are left over"))
        return value.value if isinstance(value, Named) else value

    def _run(self) -> None:
        data, end = self.data, len(self.data)
        while self.at < end:
            code = data[self.at]
            self.at += 1
            if code == _STOP:
                return
            action = _ACTIONS.get(code)
            if action is None:
                raise UnpicklingError(f"Unsupported operand {code}: the file holds more than plain data")
            action(self)
        raise UnpicklingError("The pickle is truncated")

    def _protocol(self) -> None:
        number = self._number("<B")
        if number != 2:
            warnings.warn(
                f"Detected pickle protocol {number} in the checkpoint, which was not the default pickle protocol used by `torch.load` (2). "
                "The weights_only Unpickler might not support all instructions implemented by this protocol, please file an issue for "
                "adding support if you encounter this.",
                stacklevel=5,
            )

    # ---- bytes ----------------------------------------------------------------------------------------------------

    def _take(self, count: int) -> bytes:
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise UnpicklingError(f"The pickle is truncated: {count} bytes are missing at byte {self.at}")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _line(self) -> str:
        end = self.data.find(b"\n", self.at, self.at + 1000)
        if end < 0:
            raise UnpicklingError("The pickle is truncated inside a name")
        line = self.data[self.at : end].decode()
        self.at = end + 1
        return line

    # ---- stack ----------------------------------------------------------------------------------------------------

    def _pop(self) -> Any:
        value = self.stack.pop()
        if value is _MARK:
            raise UnpicklingError("The pickle in the file is damaged: a value is missing")
        return value

    def _pop_to_mark(self) -> list[Any]:
        position = len(self.stack) - 1
        while self.stack[position] is not _MARK:  # runs into an IndexError where there is no mark
            position -= 1
            if position < 0:
                raise UnpicklingError("The pickle in the file is damaged: no mark")
        items = self.stack[position + 1 :]
        del self.stack[position:]
        return items

    def _tuple(self, count: int) -> None:
        last = self._pop()
        if count == 1:  # by far the most frequent in a file that is made to take long
            self.stack.append((last,))
        else:
            self.stack.append((*reversed([self._pop() for _ in range(count - 1)]), last))

    def _append(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not list:
            raise UnpicklingError(f"Can only {'append to' if len(items) == 1 else 'extend'} lists, but got {type(target)}")
        target.extend(items)

    def _set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise UnpicklingError(
                f"Can only {'SETITEM' if len(items) == 2 else 'SETITEMS'} for dict, collections.OrderedDict, collections.Counter, "
                f"but got {type(target)}"
            )
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[_check_key(key)] = value

    def _add_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not set:
            raise UnpicklingError(f"Can only add to sets, but got {type(target)}")
        target.update(map(_check_key, items))

    # ---- memo -----------------------------------------------------------------------------------------------------

    def _put(self, slot: int) -> None:
        self.memo[slot] = self.stack[-1]

    def _get(self, slot: int) -> None:
        self.stack.append(self.memo[slot])

    # ---- names and calls ------------------------------------------------------------------------------------------

    def _name(self, module: Any, name: Any) -> None:
        if (module, name) in _compat_pickle.NAME_MAPPING:
            module, name = _compat_pickle.NAME_MAPPING[module, name]
        module = _compat_pickle.IMPORT_MAPPING.get(module, module)
        full = f"{module}.{name}"
        if module in _BLOCKED:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
        known = self.names.get(full)
        if known is not None:
            self.stack.append(known if known.build else known.value)
        elif full in self.allowed:
            self.stack.append(self.allowed[full])
        else:
            raise refusal(full)

    def _stack_name(self) -> None:
        name = self._pop()
        self._name(self._pop(), name)

    def _call(self) -> None:
        arguments = self._arguments()
        function = self._pop()
        if isinstance(function, Named) and function.build is not None:
            self.stack.append(function.build(*arguments))
        elif id(function) in self.trusted:
            self.stack.append(function(*arguments))
        else:
            owner = f" which belongs to {function.__self__}" if hasattr(function, "__self__") else ""
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {function}{owner}")

    def _arguments(self) -> tuple[Any, ...]:
        """Names among them as what they stand for: a function that rebuilds a tensor is an argument of another."""
        arguments = self._pop()
        if type(arguments) is not tuple:
            raise UnpicklingError("The pickle in the file is damaged: a call without arguments")
        return tuple([item.build or item.value if isinstance(item, Named) else item for item in arguments])

    def _make(self) -> None:
        arguments = self._arguments()
        cls = self._pop()
        if isinstance(cls, Named) and cls.build is not None:
            self.stack.append(cls.build(*arguments))
        elif id(cls) in self.trusted:
            self.stack.append(cls.__new__(cls, *arguments))
        elif cls is Parameter:
            self.stack.append(Parameter(*arguments))
        else:
            raise UnpicklingError(
                f"Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got {cls}"
            )

    def _build(self) -> None:
        """Attributes: of the metadata of a state dict, of a tensor, or of what the user has allowed."""
        state = self._pop()
        target = self.stack[-1]
        if type(target) is OrderedDict and type(state) is dict and all(type(key) is str for key in state):
            vars(target).update(state)
        elif type(target) is Tensor:
            target.set_(*state)
        elif type(target) is Parameter:
            target.__setstate__(state)
        elif id(type(target)) not in self.trusted:
            raise UnpicklingError(
                f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got {type(target)}"
            )
        elif hasattr(target, "__setstate__"):
            target.__setstate__(state)
        else:
            own, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            vars(target).update(own or {})
            for name, value in (slots or {}).items():
                setattr(target, name, value)

    def _persistent(self) -> None:
        description = self._pop()
        if type(description) is not tuple:
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(description)}")
        if description and description[0] not in ("storage", b"storage"):
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(description[0])}")
        self.stack.append(self.persistent(tuple([item.value if isinstance(item, Named) else item for item in description])))


def object_reader(module: Any, file: Any, names: Mapping[str, Named], persistent: Callable[[Any], Any], **options: Any) -> Any:
    """A reader of the pickle in a file by a pickle module, Python's own or another, which runs what it names."""

    class ObjectReader(module.Unpickler):  # type: ignore[misc]
        def persistent_load(self, pid: Any) -> Any:
            return persistent(pid)

        def find_class(self, module: str, name: str) -> Any:
            package, dot, rest = module.partition(".")
            if package in ("torch", __package__) and (known := names.get(f"torch{dot}{rest}.{name}")):
                return known.value if known.build is None else known.build
            return super().find_class(f"{__package__}{dot}{rest}" if package == "torch" else module, name)

    return ObjectReader(file, **options)


def names_in(data: bytes) -> set[str]:
    """The functions and classes that a pickle names."""
    found: set[str] = set()
    texts: list[Any] = []
    for code, argument, _ in genops(data):
        if code.name in ("GLOBAL", "STACK_GLOBAL"):
            module, name = str(argument).split(" ", 1) if code.name == "GLOBAL" else texts[-2:]
            module, name = _compat_pickle.NAME_MAPPING.get((module, name), (_compat_pickle.IMPORT_MAPPING.get(module, module), name))
            found.add(f"{module}.{name}")
        elif isinstance(argument, str):
            texts.append(argument)
    return found


UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`. Re-running "
    "`torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code execution. Do it only if you "
    "got the file from a trusted source."
)


def _explained(message: str) -> str:
    """What can be done about a file that holds more than plain data, in PyTorch's words."""
    if "was not an allowed global by default" in message:
        return (
            "Weights only load failed. This file can still be loaded, to do so you have two options, "
            "\033[1mdo those steps only if you trust the source of the checkpoint\033[0m. "
            f"\n\t(1) {UNSAFE}\n\t(2) Alternatively, to load with `weights_only=True` please check the recommended steps in the following "
            f"error message.\n\tWeightsUnpickler error: {message}"
        )
    known = re.search(r"whose module (\S+) is blocked", message)
    report = "" if known else "WeightsUnpickler error: "
    return f"Weights only load failed. {UNSAFE}\n{report}\n\n{message}"


def refusal(full: str) -> UnpicklingError:
    """The error for a name in a file that is to hold plain data only."""
    full = full.removeprefix("builtins.")
    return UnpicklingError(
        f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{full}])` or the "
        f"`torch.serialization.safe_globals([{full}])` context manager to allowlist this global if you trust this class/function.\n"
        "  fix: where the file was made, save tensors and plain Python data: torch.save(model.state_dict(), path)"
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
    b"\x80": Reader._protocol,
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
    b"\x81": Reader._make,
    b"0": lambda reader: reader.stack.pop(),
    b"1": lambda reader: reader._pop_to_mark().clear(),
    b"U": _bytes("<B"),
    b"b": Reader._build,
    b"Q": Reader._persistent,
}
_ACTIONS = {code[0]: action for code, action in _OPCODES.items()}
