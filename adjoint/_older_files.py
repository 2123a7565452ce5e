"""PyTorch's file format from before version 1.6: pickles one after the other (a number that marks the format, its version, facts about the
machine, the object, the names of the storages), and then the bytes of the storages."""

from __future__ import annotations

import inspect
import pickle
import sys
import warnings
from pickle import UnpicklingError
from typing import IO, Any

import numpy as np

from ._dtype import dtype
from ._locations import restoring
from ._pickle import Writer
from ._serialization import SKIPPED, Storages, content_of, kind_of, pickled, read_structure
from ._unpickle import UNSAFE
from .storage import TypedStorage, UntypedStorage

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
_FACTS = {
    "protocol_version": PROTOCOL_VERSION,
    "little_endian": sys.byteorder == "little",
    "type_sizes": {"short": 2, "int": 4, "long": 8},
}


class SourceChangeWarning(Warning):
    """The source of a module's class is not what it was when the module was saved."""


def _sources() -> Any:
    """What stands in a pickle for a class of modules, when it is first met: the class with its source."""
    met: set[type] = set()

    def describe(cls: type) -> tuple[Any, ...] | None:
        nn = sys.modules.get(f"{__package__}.nn")
        if nn is None or not issubclass(cls, nn.Module) or cls in met:
            return None
        met.add(cls)
        file, source = _source_of(cls)
        return "module", cls, file, source

    return describe


def _source_of(cls: Any) -> tuple[Any, Any]:
    try:
        return inspect.getsourcefile(cls), inspect.getsource(cls)
    except (OSError, TypeError):
        warnings.warn(
            f"Couldn't retrieve source code for container of type {cls.__name__}. It won't be checked for correctness upon loading.",
            stacklevel=3,
        )
        return None, None


def write(obj: Any, file: IO[bytes], module: Any, protocol: int) -> None:
    storages = Storages(b"N")
    if module is None:
        structure = Writer(storages.describe, protocol, _sources()).dump(obj)
    else:
        structure = pickled(obj, storages, module, protocol)
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, _FACTS):
        file.write(pickle.dumps(part, protocol))
    file.write(structure)
    file.write(pickle.dumps(sorted(storages.records), protocol))
    for key in sorted(storages.records):
        content = content_of(storages.records[key])
        file.write((content.size // storages.widths[key]).to_bytes(8, "little"))
        file.write(content.data)


def read(file: Any, map_location: Any, module: Any, options: dict[str, Any]) -> Any:
    start = file.tell()
    data = file.read()
    if data[257:262] == b"ustar":
        if module is None:
            raise RuntimeError(f"Cannot use ``weights_only=True`` with files saved in the legacy .tar format. {UNSAFE}")
        raise RuntimeError("load: adjoint does not read PyTorch's tar files, from before version 0.2\n  fix: save it anew with PyTorch")
    older = _Older(map_location, len(data))
    at = 0

    def following(persistent: Any = None) -> Any:
        nonlocal at
        value, at = read_structure(data, persistent or _refuse, module, options, at)
        return value

    if following() != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    if (version := following()) != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    facts = following()
    result = following(older.described)
    keys = following()
    if not isinstance(keys, list):
        raise UnpicklingError(f"expected a list of the keys of storages, got {type(keys).__name__}; corrupt file?")
    foreign = isinstance(facts, dict) and facts.get("little_endian", True) != (sys.byteorder == "little")
    if not SKIPPED.data:
        for key in keys:
            at = older.fill(key, data, at, foreign)
    file.seek(start + at)  # more may follow
    return result


def _refuse(description: Any) -> Any:
    raise UnpicklingError("unsupported persistent id encountered")


class _Older:
    """The storages of a file. They are made when the object is read, and filled afterwards."""

    def __init__(self, map_location: Any, limit: int) -> None:
        self._limit = limit  # no storage can be larger than the file
        self._restore = restoring(map_location)
        self._storages: dict[Any, tuple[UntypedStorage, UntypedStorage, dtype]] = {}

    def described(self, description: Any) -> Any:
        if not isinstance(description, tuple) or not description:
            raise UnpicklingError(f"saved_id must be a tuple, got {type(description).__name__}")
        kind, *facts = description
        if kind in ("module", b"module"):
            if all(facts[1:]):
                _check_source(*facts)
            return facts[0]
        if kind not in ("storage", b"storage") or len(facts) != 5:
            raise RuntimeError(f"Unknown saved id type: {kind}")
        name, key, location, count, view = facts
        element = kind_of(name)
        whole = view is None or (isinstance(view, tuple) and [*map(type, view[1:])] == [int, int])
        if not isinstance(key, str | bytes | int) or not whole:
            raise UnpicklingError("A storage is described in an unknown way")
        if key not in self._storages:
            if type(count) is not int or not 0 <= count * element.itemsize <= self._limit:
                raise UnpicklingError("A storage is described in an unknown way")
            made = UntypedStorage(count * element.itemsize)
            restored = self._restore(made, location.decode() if isinstance(location, bytes) else location)
            self._storages[key] = made, restored if isinstance(restored, UntypedStorage) else restored.untyped(), element
        storage = self._storages[key][1]
        if view is not None:
            _, offset, size = view
            storage = storage[offset * element.itemsize : (offset + size) * element.itemsize]
        return TypedStorage(wrap_storage=storage, dtype=element, _internal=True)

    def fill(self, key: Any, data: bytes, at: int, foreign: bool) -> int:
        if not isinstance(key, str | bytes | int) or key not in self._storages:
            raise AssertionError(f"storage key {key!r} not found in deserialized_objects")
        made, _, kind = self._storages[key]
        count = int.from_bytes(data[at : at + 8], "little")
        end = at + 8 + count * kind.itemsize
        if count * kind.itemsize != made.nbytes() or end > len(data):
            raise RuntimeError(
                f"storage has wrong byte size: expected {made.nbytes()} got {count * kind.itemsize}"
                if end <= len(data) else f"unexpected EOF, expected {end - len(data)} more bytes. The file might be corrupted."
            )  # fmt: skip
        made.untyped_bytes()[:] = np.frombuffer(data, np.uint8, end - at - 8, at + 8)
        if foreign:
            made.byteswap(kind)
        return end


def _check_source(cls: Any, file: Any, source: str) -> None:
    _, current = _source_of(cls)
    if current is None or current == source:
        return
    warnings.warn(
        f"source code of class '{cls.__module__}.{cls.__qualname__}' has changed. you can retrieve the original source code by accessing "
        "the object's source attribute or set `torch.nn.Module.dump_patches = True` and use the patch tool to revert the changes.",
        SourceChangeWarning,
        stacklevel=3,
    )
