"""The records of a `.pt` file: a zip archive, of which everything that it says of itself is checked before it is used."""

from __future__ import annotations

import mmap
import os
import struct
import sys
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np

Bytes = np.ndarray[Any, Any]

_LOCAL_HEADER = struct.Struct("<26xHH")  # the lengths of the name and of the extra field, in front of the bytes of a record


def is_zip(file: Any) -> bool:
    """Whether an archive begins where the file stands."""
    start = file.tell()
    magic = file.read(4)
    file.seek(start)
    return bool(magic == b"PK\x03\x04")


def read_into(file: Any, target: memoryview) -> int:
    """How many bytes of a file came into memory. All that is asked of it is that it can be read."""
    if hasattr(file, "readinto"):
        return int(file.readinto(target))
    content = file.read(len(target))
    target[: len(content)] = content
    return len(content)


class Archive:
    """The records of a file. Everything that the file says of itself is checked before it is used."""

    def __init__(self, file: IO[bytes], mapped: Path | None = None) -> None:
        self._file = file
        self._mapped = mapped
        self._size = file.seek(0, os.SEEK_END)
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error) as error:
            raise RuntimeError(
                f"PytorchStreamReader failed reading zip archive: failed finding central directory, the file is damaged ({error})"
            ) from None
        self._records: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            self._check(info)
            self._records[info.filename] = info
        if sum(info.file_size for info in self._records.values()) > self._size:
            raise RuntimeError("load: the records of the file overlap")
        pickles = [name for name in self._records if name.endswith("/data.pkl") and name.count("/") == 1]
        if len(pickles) != 1:
            raise RuntimeError(f"PytorchStreamReader failed locating file data.pkl: file not found ({len(pickles)} of them, 1 expected)")
        self._prefix = pickles[0].removesuffix("data.pkl")

    def foreign(self) -> bool:
        """Whether the bytes of numbers are in the other order."""
        from .utils.serialization import config

        if self.has("byteorder"):
            order = self.read("byteorder").tobytes().decode(errors="replace")
            if order not in ("little", "big"):
                raise ValueError(f"Unknown endianness type: {order[:10]}")
        else:
            order = "little" if config.load.endianness is None else config.load.endianness.name.lower()
        return order not in (sys.byteorder, "native")

    def _check(self, info: zipfile.ZipInfo) -> None:
        if info.filename in self._records:
            raise RuntimeError(f"load: the file has two records with the name {info.filename!r}")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise RuntimeError(f"load: the record {info.filename!r} is compressed, which those of a .pt file never are")
        if info.header_offset < 0 or info.header_offset + 30 + info.file_size > self._size:
            raise RuntimeError(f"load: the record {info.filename!r} reaches beyond the end of the file")

    def names(self) -> list[str]:
        return [name.removeprefix(self._prefix) for name in self._records]

    def has(self, name: str) -> bool:
        return self._prefix + name in self._records

    def size(self, name: str) -> int:
        if not self.has(name):
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        return self._records[self._prefix + name].file_size

    def read(self, name: str) -> Bytes:
        """The bytes of a record, in memory of their own or mapped from the file."""
        size = self.size(name)
        info = self._records[self._prefix + name]
        if self._mapped is not None and size:
            from .utils.serialization import config

            mode: Any = "r+" if config.load.mmap_flags == mmap.MAP_SHARED else "c"
            return np.memmap(self._mapped, np.uint8, mode, self._start(info), (size,)).view(np.ndarray)
        content = np.empty(size, np.uint8)
        self._file.seek(self._start(info))
        count = 0
        while count < size and (more := read_into(self._file, content.data[count:])):
            count += more
        # As in PyTorch, only the structure is checked by its sum: that of 100 MB takes longer than reading them.
        if count != size or (not name.startswith("data/") and info.CRC and zlib.crc32(content.data) != info.CRC):
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: the file is truncated or damaged")
        return content

    def start(self, name: str) -> int:
        """Where in the file the bytes of a record begin."""
        self.size(name)
        return self._start(self._records[self._prefix + name])

    def _start(self, info: zipfile.ZipInfo) -> int:
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\x03\x04"):
            raise RuntimeError(f"load: the record {info.filename!r} has a damaged header")
        start: int = info.header_offset + _LOCAL_HEADER.size + sum(_LOCAL_HEADER.unpack(header))
        if start + info.file_size > self._size:
            raise RuntimeError(f"load: the record {info.filename!r} reaches beyond the end of the file")
        return start
