"""Files of other formats: safetensors, and NumPy's `.npz`.

A safetensors file is the length of a header, the header (JSON: the type, shape and place of every tensor), and the bytes of the tensors.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ._archive import replacing
from ._dtype import by_name
from ._npz import load_npz, save_npz
from ._tensor import Tensor, wrap

__all__ = ["load_npz", "load_safetensors", "save_npz", "save_safetensors"]

_TYPES = {
    "BOOL": "bool", "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64", "I8": "int8", "I16": "int16", "I32": "int32",
    "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
}  # fmt: skip
_NAMES = {name: code for code, name in _TYPES.items()}
_METADATA = "__metadata__"
_MAX_HEADER = 100_000_000  # the format's own limit

FileName = str | os.PathLike[str]


def save_safetensors(tensors: Mapping[str, Tensor], path: FileName, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors by name. An existing file is replaced only when the new one is complete."""
    header: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    arrays: list[Any] = []
    end = 0
    # The widest types first, so that every tensor is aligned.
    for name in sorted(tensors, key=lambda name: (-tensors[name].itemsize, name)):
        tensor = tensors[name]
        if tensor.dtype.name not in _NAMES:
            raise TypeError(f"save_safetensors: {name!r} is {tensor.dtype}, which the format does not have")
        array = tensor.detach().contiguous().numpy()
        header[name] = {
            "dtype": _NAMES[tensor.dtype.name], "shape": list(array.shape), "data_offsets": [end, end + array.nbytes],
        }  # fmt: skip
        end += array.nbytes
        arrays.append(array)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with replacing(Path(path)) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays:
            file.write(array.reshape(-1).view(np.uint8).data)


def load_safetensors(path: FileName) -> dict[str, Tensor]:
    """The tensors of a file by name. Everything that the header says is checked before memory is touched."""
    with Path(path).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        header, start = _header(file, size)
        _check(header, size - start)
        content = np.empty(size - start, np.uint8)
        if file.readinto(content.data) != content.size:
            raise _damaged("it is truncated")
    return {name: wrap(_array(content, entry)) for name, entry in header.items()}


def _damaged(what: str) -> RuntimeError:
    return RuntimeError(f"load_safetensors: the file is damaged or no safetensors file: {what}")


def _header(file: Any, size: int) -> tuple[dict[str, Any], int]:
    if size < 8:
        raise _damaged("it has no header")
    (length,) = struct.unpack("<Q", file.read(8))
    if length > min(_MAX_HEADER, size - 8):
        raise _damaged(f"its header should have {length} bytes")
    try:
        header = json.loads(file.read(length), object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise _damaged(f"its header cannot be read ({error})") from None
    if not isinstance(header, dict):
        raise _damaged("its header is no table of tensors")
    header.pop(_METADATA, None)
    return header, 8 + length


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a name appears twice")
    return table


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**62


def _check(header: dict[str, Any], available: int) -> None:
    """The tensors must lie side by side and fill the file."""
    places = []
    for name, entry in header.items():
        try:
            kind, shape, (begin, end) = by_name(_TYPES[entry["dtype"]]), entry["shape"], entry["data_offsets"]
        except (KeyError, TypeError, ValueError):
            raise _damaged(f"the entry of {name!r} is incomplete or of an unknown type") from None
        if not isinstance(shape, list) or not all(map(_is_size, (*shape, begin, end))) or len(shape) > 64:
            raise _damaged(f"{name!r} has an impossible shape or place")
        if end - begin != math.prod(shape) * kind.itemsize:
            raise _damaged(f"{name!r} has {end - begin} bytes, which do not fit its shape {shape[:8]}")
        places.append((begin, end))
    last = 0
    for begin, end in sorted(places):
        if begin != last:
            raise _damaged("its tensors overlap or leave gaps")
        last = end
    if last != available:
        raise _damaged(f"its tensors have {last} bytes, but there are {available}")


def _array(content: Any, entry: Mapping[str, Any]) -> Any:
    begin, _ = entry["data_offsets"]
    shape, kind = tuple(entry["shape"]), by_name(_TYPES[entry["dtype"]]).numpy
    return np.ndarray(shape, kind, content, begin) if all(shape) else np.empty(shape, kind)
