"""NumPy's `.npz` files: a zip archive with one array to a file. Objects, which would run code, are refused."""

from __future__ import annotations

import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from ._archive import replacing
from ._tensor import Tensor, wrap

FileName = str | os.PathLike[str]
_MAX_RATIO = 1032  # of what the compression of zip files can reach
_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def save_npz(tensors: Mapping[str, Tensor], path: FileName, compressed: bool = False) -> None:
    """Write tensors by name, as `np.savez` does. An existing file is replaced only when the new one is complete."""
    arrays = {}
    for name, tensor in tensors.items():
        arrays[name] = array = tensor.detach().numpy()
        if array.dtype.kind not in "biufc":
            raise TypeError(f"save_npz: {name!r} is {tensor.dtype}, which NumPy does not have; write {name}.float()")
    with replacing(Path(path)) as file:
        write: Any = np.savez_compressed if compressed else np.savez
        write(file, **arrays)


def load_npz(path: FileName) -> dict[str, Tensor]:
    """The tensors of a file by name. What the file says of itself is checked before memory is taken."""
    tensors: dict[str, Tensor] = {}
    with Path(path).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        try:
            with zipfile.ZipFile(file) as archive:
                for info in archive.infolist():
                    name = info.filename.removesuffix(".npy")
                    if name in tensors:
                        raise _damaged(f"it has two arrays with the name {name!r}")
                    tensors[name] = wrap(_read(archive, info, size))
        except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OSError, UnicodeDecodeError) as error:
            raise _damaged(str(error)) from None
    return tensors


def _damaged(what: str) -> RuntimeError:
    return RuntimeError(f"load_npz: the file is damaged or no .npz file: {what}")


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, size: int) -> np.ndarray[Any, Any]:
    compressed = info.compress_type == zipfile.ZIP_DEFLATED
    if info.compress_size > size or info.file_size > info.compress_size * (_MAX_RATIO if compressed else 1) + 64 or info.flag_bits & 1:
        raise _damaged(f"{info.filename!r} has an impossible size, or is encrypted")
    with archive.open(info) as record:
        try:
            shape, fortran, kind = _READERS[npy.read_magic(record)](record)
        except (ValueError, KeyError, TypeError, SyntaxError, RecursionError, MemoryError, tokenize.TokenError) as error:
            raise _damaged(f"{info.filename!r} has a header that cannot be read ({str(error)[:80]})") from None
        if kind.kind not in "biufc" or kind.hasobject:
            raise RuntimeError(f"load_npz: {info.filename!r} holds {kind}, which is no type of tensors")
        count = math.prod(shape)
        if len(shape) > 64 or any(length < 0 for length in shape) or count * kind.itemsize > info.file_size:
            raise _damaged(f"{info.filename!r} has {info.file_size} bytes, which do not fit its shape {shape[:8]}")
        content = record.read(count * kind.itemsize)
        if len(content) != count * kind.itemsize or record.read(1):
            raise _damaged(f"{info.filename!r} has another size than its shape {shape[:8]}")
    array = np.frombuffer(bytearray(content), kind) if count else np.empty(0, kind)
    return array.reshape(shape, order="F" if fortran else "C").astype(kind.newbyteorder("="), copy=False)
