"""`save` and `load`: PyTorch's `.pt` files, read and written without PyTorch, and without running anything that is in them unless asked.

A file is a zip archive of uncompressed records (`_archive.py`, `_records.py`): `data.pkl` holds the structure, `data/0`, `data/1`, ... the
bytes of the storages. The older format, one pickle after the other and then the bytes, is in `_older_files.py`.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
import threading
import warnings
from pathlib import Path
from pickle import UnpicklingError
from typing import IO, Any, TypeAlias

import numpy as np

from . import _narrow, _utils
from ._archive import replacing, write_archive
from ._device import device
from ._dtype import PUBLIC, dtype
from ._layout import layout
from ._locations import is_meta, location_tag, restoring
from ._pickle import Writer, integer, named, text
from ._records import Archive, is_zip
from ._size import Size
from ._tensor import Parameter, Tensor
from ._unpickle import PLAIN, UNSAFE, Named, Reader, object_reader
from ._untyped_storage import bytes_of
from .storage import CLASSES, STORAGE_NAMES, TypedStorage, UntypedStorage

File: TypeAlias = "str | os.PathLike[str] | IO[bytes]"


class _Skipping(threading.local):
    """Whether the bytes of storages are left out (`serialization.skip_data`)."""

    data = False


SKIPPED = _Skipping()
ALLOWED: dict[Any, None] = {}  # what `serialization.add_safe_globals` has added: files may name these classes and functions too

_NAMES = {kind: named("torch", name) for kind, name in STORAGE_NAMES.items()}
_UNTYPED = named("torch.storage", "UntypedStorage")
_STORAGE = b"(" + text("storage")

# ---- writing ------------------------------------------------------------------------------------------------------


class Storages:
    """The memory that the saved tensors lie in: each piece once, however many tensors share it."""

    def __init__(self, last: bytes = b"") -> None:
        self.records: dict[str, UntypedStorage] = {}
        self.widths: dict[str, int] = {}
        self._last = last  # what follows in a description
        self._known: dict[int, tuple[str, dtype]] = {}

    def key(self, storage: Any) -> tuple[str, dtype]:
        """The name of a storage, and the type of its elements."""
        untyped, kind = (storage, _BYTE) if isinstance(storage, UntypedStorage) else (storage._untyped_storage, storage.dtype)
        known = self._known.get(untyped._cdata)
        if known is None:
            known = self._known[untyped._cdata] = str(len(self._known)), kind
            self.records[known[0]], self.widths[known[0]] = untyped, kind.itemsize
        elif known[1] is not kind and untyped.data_ptr():
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        return known[0], kind

    def describe(self, storage: Any) -> bytes:
        """A storage by what PyTorch calls a persistent id: ("storage", its type, its name in the archive, its device, its size)."""
        key, kind = self.key(storage)
        name = _UNTYPED if isinstance(storage, UntypedStorage) else _NAMES.get(kind, _UNTYPED)
        size = self.records[key].nbytes() // (1 if name is _UNTYPED else kind.itemsize)
        return _STORAGE + name + text(key) + text(location_tag(self.records[key])) + integer(size) + self._last + b"tQ"

    def identified(self, value: Any) -> tuple[Any, ...] | None:
        """The same for a pickler that is not ours."""
        if not isinstance(value, UntypedStorage | TypedStorage):
            return None
        key, kind = self.key(value)
        untyped = isinstance(value, UntypedStorage)
        size = self.records[key].nbytes() // (1 if untyped else kind.itemsize)
        return "storage", UntypedStorage if untyped else CLASSES[STORAGE_NAMES[kind]], key, location_tag(self.records[key]), size


_BYTE = PUBLIC["uint8"]


def save(
    obj: Any, f: File, pickle_module: Any = pickle, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:  # fmt: skip
    """Write tensors and Python data to a file that PyTorch can read too.

    A file with that name is replaced only when the new one is complete. Objects that are neither tensors nor plain data (dicts, lists,
    numbers, strings, ...), such as whole modules, are pickled as Python does it; `load` reads those only if they are allowed
    (`serialization.safe_globals`) or the file is trusted (`weights_only=False`), so rather save `model.state_dict()`.
    """
    named_file = isinstance(f, str | os.PathLike)
    if not named_file and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if not named_file and not callable(getattr(f, "write", None)):
        raise TypeError(f"Buffer of {str(type(f)).strip('<>')} has no callable attribute 'write'")
    if not _use_new_zipfile_serialization and SKIPPED.data:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    module = None if pickle_module is None or pickle_module is pickle else pickle_module

    def write(file: IO[bytes], name: str) -> None:
        if _use_new_zipfile_serialization:
            _write(obj, file, name, module, pickle_protocol, _disable_byteorder_record)
        else:
            from ._older_files import write

            write(obj, file, module, pickle_protocol)

    if not named_file:
        write(f, "archive")  # type: ignore[arg-type]
        if hasattr(f, "flush"):
            f.flush()
        return
    path = Path(f)  # type: ignore[arg-type]
    if not path.parent.is_dir():
        raise RuntimeError(f"Parent directory {path.parent} does not exist.")
    with replacing(path) as file:
        write(file, path.stem or "archive")


def pickled(obj: Any, storages: Storages, module: Any, protocol: int) -> bytes:
    """The structure of an object, by our own writer or by another pickle module."""
    if module is None:
        return Writer(storages.describe, protocol).dump(obj)

    class Pickler(module.Pickler):  # type: ignore[misc]
        def persistent_id(self, value: Any) -> Any:
            return storages.identified(value)

    buffer = io.BytesIO()
    Pickler(buffer, protocol=protocol).dump(obj)
    return buffer.getvalue()


def _write(obj: Any, file: IO[bytes], name: str, module: Any, protocol: int, unmarked: bool) -> None:
    from .utils.serialization import config

    storages = Storages()
    structure = pickled(obj, storages, module, protocol)  # before anything is written: it may refuse
    alignment = config.save.storage_alignment
    described = [("data.pkl", structure), (".format_version", b"1"), (".storage_alignment", str(alignment).encode())]
    if not unmarked:
        described.append(("byteorder", sys.byteorder.encode()))
    skipping = SKIPPED.data
    contents = [np.zeros(x.nbytes(), np.uint8) if skipping else content_of(x) for x in storages.records.values()]
    records: list[tuple[str, Any]] = [(f"data/{key}", content.data) for key, content in zip(storages.records, contents, strict=True)]
    last = [("version", b"3\n"), (".data/serialization_id", b"0" * 40)]
    every = [(f"{name}/{record}", content) for record, content in (*described, *records, *last)]
    write_archive(file, every, alignment, config.save.compute_crc32)


def content_of(storage: UntypedStorage) -> Any:
    return np.ascontiguousarray(bytes_of(storage.cpu().untyped_bytes()))


# ---- reading ------------------------------------------------------------------------------------------------------


class StorageType:
    """A type of storage, as files name it."""

    def __init__(self, name: str) -> None:
        self._dtype = CLASSES[name].dtype  # type: ignore[attr-defined]

    @property
    def dtype(self) -> dtype:
        return self._dtype  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


def get_layout(name: str) -> Any:
    from . import _layout

    found = getattr(_layout, str(name).removeprefix("torch."), None)
    if not isinstance(found, layout):
        raise KeyError(name)
    return found


# The names that a file may use without being trusted.
SAFE = {
    **PLAIN,
    **{f"torch.{name}": Named(None, kind) for name, kind in {**PUBLIC, **_narrow.NAMES}.items()},
    **{f"torch.{name}": Named(None, StorageType(name)) for name in CLASSES},
    "torch.storage.UntypedStorage": Named(None, UntypedStorage),
    "torch.storage.TypedStorage": Named(None, TypedStorage),
    "torch.serialization._get_layout": Named(get_layout),
    "torch.Size": Named(Size, Size),
    "torch.device": Named(device, device),
    "torch.Tensor": Named(None, Tensor),
    "torch._tensor.Tensor": Named(None, Tensor),
    "torch.nn.parameter.Parameter": Named(None, Parameter),
    **{
        f"torch.{home}.{name}": Named(function, function)
        for name, function in vars(_utils).items()
        if name.startswith("_rebuild")
        for home in ("_utils", "_tensor", "tensor")
    },
}


def allowed_names() -> dict[str, Any]:
    """What the user has allowed, by name."""
    found: dict[str, Any] = {}
    for one in ALLOWED:
        if isinstance(one, tuple):
            if len(one) != 2:
                raise ValueError(f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: {len(one)}")
            if type(one[1]) is not str:
                raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(one[1])}")
            found[one[1]] = one[0]
        else:
            found[f"{one.__module__}.{one.__qualname__}"] = one
    return found


def read_structure(data: bytes, persistent: Any, module: Any, options: dict[str, Any], at: int = 0) -> tuple[Any, int]:
    """The object that a pickle describes, and where the pickle ends. `module` reads it if the file is trusted, otherwise we do."""
    if module is None:
        reader = Reader(data, SAFE, persistent, allowed_names(), at)
        return reader.load(), reader.at
    file = io.BytesIO(data)
    file.seek(at)
    return object_reader(module, file, SAFE, persistent, **options).load(), file.tell()


def kind_of(name: Any) -> dtype:
    """The type of the elements of a storage that a file describes."""
    if isinstance(name, StorageType):
        return name.dtype
    if name is UntypedStorage:
        return _BYTE
    if isinstance(name, type) and issubclass(name, TypedStorage) and isinstance(getattr(name, "dtype", None), dtype):
        return name.dtype  # type: ignore[no-any-return]
    raise UnpicklingError("A storage is described in an unknown way")


class _Loader:
    """One archive being read."""

    def __init__(self, archive: Archive, map_location: Any) -> None:
        self._archive = archive
        self._restore = restoring(map_location)
        self._to_meta = is_meta(map_location)
        self._foreign = archive.foreign()
        self._storages: dict[str, UntypedStorage] = {}

    def load(self, module: Any, options: dict[str, Any]) -> Any:
        return read_structure(self._archive.read("data.pkl").tobytes(), self._storage, module, options)[0]

    def _storage(self, description: Any) -> TypedStorage:
        if not isinstance(description, tuple) or len(description) != 5 or description[0] not in ("storage", b"storage"):
            raise UnpicklingError("A storage is described in an unknown way")
        _, name, key, location, count = description
        kind = kind_of(name)
        if not isinstance(key, str) or type(count) is not int:
            raise UnpicklingError("A storage is described in an unknown way")
        if key not in self._storages:
            place = location.decode() if isinstance(location, bytes) else location
            self._storages[key] = self._read(key, kind, count * kind.itemsize, place)
        return TypedStorage(wrap_storage=self._storages[key], dtype=kind, _internal=True)

    def _read(self, key: str, kind: dtype, size: int, location: str) -> UntypedStorage:
        record = f"data/{key}"
        if self._archive.size(record) != size:
            raise RuntimeError(f"load: storage {key} should have {size} bytes but has {self._archive.size(record)} in the file")
        if self._to_meta:
            return UntypedStorage(size, device="meta")
        storage = UntypedStorage(size) if SKIPPED.data else UntypedStorage(self._archive.read(record))
        if self._foreign:
            storage.byteswap(kind)
        restored = self._restore(storage, location)
        return restored if isinstance(restored, UntypedStorage) else restored.untyped()


def load(
    f: File, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None, mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read a file that `save` or PyTorch's `torch.save` wrote: tensors and plain Python data.

    No code out of the file runs, unless `weights_only=False` says that it is trusted: then it may hold any object. All tensors come to
    the CPU, or where `map_location` says. `mmap=True` reads the elements when they are first used.
    """
    module = _trusted_module(pickle_module, weights_only)
    if module is None and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    pickle_load_args.setdefault("encoding", "utf-8")
    if mmap is None:
        from .utils.serialization import config

        mmap = config.load.mmap
    if isinstance(f, str | os.PathLike):
        with Path(f).open("rb") as file:
            return _load(file, Path(f), map_location, module, mmap, pickle_load_args)
    check_seekable(f)
    return _load(f, None, map_location, module, mmap, pickle_load_args)


def _trusted_module(pickle_module: Any, weights_only: bool | None) -> Any:
    """The module that reads the pickle if the file is trusted, otherwise None."""
    safe, unsafe = (os.getenv(f"TORCH_FORCE_{name}_LOAD", "0").lower() in ("1", "y", "yes", "true") for name in _FORCED)
    if safe and unsafe:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both were set."
        )
    if safe:
        weights_only = True
    elif unsafe and weights_only is None:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was not explicitly passed to "
            "`torch.load`, forcing weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        weights_only = False
    if weights_only is None:
        weights_only = pickle_module is None
    if not weights_only:
        return pickle if pickle_module is None else pickle_module
    if pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    return None


_FORCED = ("WEIGHTS_ONLY", "NO_WEIGHTS_ONLY")


def _load(file: Any, path: Path | None, map_location: Any, module: Any, mapped: bool, options: dict[str, Any]) -> Any:
    if not is_zip(file):
        from ._older_files import read

        if mapped:
            name = "" if path is None else f"{path}, "
            raise RuntimeError(
                f"mmap can only be used with files saved with `torch.save({name}_use_new_zipfile_serialization=True), please torch.save "
                "your checkpoint with this option in order to use mmap."
            )
        return read(file, map_location, module, options)
    if mapped and path is None:
        raise ValueError("f must be a file path in order to use the mmap argument")
    archive = Archive(file, path if mapped else None)
    if archive.has("constants.pkl"):
        warnings.warn(
            "'torch.load' received a zip file that looks like a TorchScript archive dispatching to 'torch.jit.load' (call "
            "'torch.jit.load' directly to silence this warning)",
            UserWarning,
            stacklevel=3,
        )
        if module is None:
            raise RuntimeError(f"Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. {UNSAFE}")
        raise RuntimeError("load: adjoint does not run TorchScript")
    return _Loader(archive, map_location).load(module, options)


def check_seekable(f: Any) -> None:
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        if "seek" not in str(error) and "tell" not in str(error):
            raise
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer like io.BytesIO and "
            "try to load from it instead."
        ) from None
