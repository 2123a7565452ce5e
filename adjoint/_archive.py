"""Files that appear only when they are complete, and zip archives of uncompressed records, written in one go.

Python's `zipfile` takes longer to describe a small record than to write it, and a model has hundreds.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import stat
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import IO, Any

_ALIGNMENT = 64
_LARGE = 2**23  # bytes that it takes to occupy another thread, or a disk
_SYNC_FILE_RANGE_WRITE = 2  # Linux: begin to write, and do not wait
_ELSEWHERE, _SHORT_ELSEWHERE = 0xFFFFFFFF, 0xFFFF  # say, in 32 and 16 bits, that a number takes 64 and stands elsewhere
_LONG = _ELSEWHERE  # from which number on that is so
_LOCAL = struct.Struct("<4s5H3I2H")  # in front of each record, followed by its name and by padding
_CENTRAL = struct.Struct("<4s6H3I5H2I")  # the same once more, in the directory at the end
_END = struct.Struct("<4s4H2IH")  # where the directory is
_LONG_END, _LONG_END_PLACE = struct.Struct("<4sQ2H2I4Q"), struct.Struct("<4sIQI")  # the same in 64 bits, and where that is
_VERSION, _UTF8_NAME, _FIRST_OF_1980, _MADE_ON_UNIX, _READ_AND_WRITE = 45, 0x800, 33, 3 << 8, 0o600 << 16


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to that takes the place of `path` when it is complete, and disappears when it is not.

    As with PyTorch, the system brings it to the disk in its own time, for which nobody waits here.
    """
    target = path.resolve()
    try:
        present = target.stat()
    except FileNotFoundError:
        present = None
    if present is not None and not stat.S_ISREG(present.st_mode):  # a pipe, /dev/null
        with target.open("wb") as file:
            yield file
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    nameless = _nameless(target.parent)
    try:
        with temporary.open("xb") if nameless is None else os.fdopen(nameless, "wb") as file:
            yield file
            if nameless is not None:
                file.flush()
                os.link(f"/proc/self/fd/{nameless}", temporary, src_dir_fd=nameless)  # (which makes it follow the link there)
        if present is not None:
            temporary.chmod(stat.S_IMODE(present.st_mode))
        _replace(target, temporary, 0 if present is None else present.st_size)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _nameless(directory: Path) -> int | None:
    """A new file without a name, which is gone if the process is killed before it gets one. None where the system cannot make one."""
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.open(directory, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except OSError:
        return None


def _replace(target: Path, temporary: Path, size: int) -> None:
    """Let a file take the place of one of the given size. To give up what a large one occupies takes as long as to write it, and happens
    when the last who has it open closes it: another thread."""
    held = None
    if size >= _LARGE and os.name == "posix":
        with suppress(OSError):
            held = os.open(target, os.O_RDONLY)
    try:
        temporary.replace(target)
    finally:
        if held is not None:
            Thread(target=os.close, args=(held,)).start()


def write_archive(
    file: IO[bytes], records: Sequence[tuple[str, bytes | memoryview]], alignment: int = _ALIGNMENT, checked: bool = True
) -> None:
    """Write a zip archive. The bytes of each record start at a multiple of `alignment`, so that they can be mapped into memory. With
    `checked` they have checksums.

    All that is asked of the file is that it can be written to.
    """
    parts = _parts(records, alignment, checked)
    if sum(len(content) for _, content in records) < _LARGE:
        file.write(b"".join(parts))
    else:
        hurry = _hurrying(file)
        waiting = 0
        for part in parts:
            file.write(part)
            waiting += len(part)
            if hurry is not None and waiting >= _LARGE:
                hurry()
                waiting = 0


def _hurrying(file: IO[bytes]) -> Callable[[], Any] | None:
    """What asks the system to begin to store what was written to a file; None where there is no such thing. Left to the end, when the
    file takes the place of another, that would take as long as the writing."""
    try:
        number = file.fileno()
        begin = ctypes.CDLL(None).sync_file_range
    except (AttributeError, OSError, TypeError):
        return None
    begin.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
    return partial(begin, number, 0, 0, _SYNC_FILE_RANGE_WRITE)


def _parts(records: Sequence[tuple[str, bytes | memoryview]], alignment: int, checked: bool) -> Iterator[bytes | memoryview]:
    directory = []
    place = 0
    checksums = _checksums([content for _, content in records]) if checked else [0] * len(records)
    for (text, content), checksum in zip(records, checksums, strict=True):
        name, size = text.encode(), len(content)
        flags = 0 if text.isascii() else _UTF8_NAME
        facts = _VERSION, flags, 0, 0, _FIRST_OF_1980, checksum  # the first 0: not compressed
        sizes, long_sizes = (size, size), b""
        if size >= _LONG:
            sizes, long_sizes = (_ELSEWHERE, _ELSEWHERE), struct.pack("<2H2Q", 1, 16, size, size)
        padding = -(place + _LOCAL.size + len(name) + len(long_sizes) + 4) % alignment
        header = _LOCAL.pack(b"PK\3\4", *facts, *sizes, len(name), len(long_sizes) + 4 + padding) + name + long_sizes
        header += struct.pack("<2sH", b"FB", padding) + b"Z" * padding

        start, long_facts = place, b""
        if size >= _LONG or place >= _LONG:
            sizes, start, long_facts = (_ELSEWHERE, _ELSEWHERE), _ELSEWHERE, struct.pack("<2H3Q", 1, 24, size, size, place)
        rest = len(name), len(long_facts), 0, 0, 0, _READ_AND_WRITE, start
        directory.append(_CENTRAL.pack(b"PK\1\2", _MADE_ON_UNIX | _VERSION, *facts, *sizes, *rest) + name + long_facts)
        place += len(header) + size
        yield header
        yield content
    yield from directory
    count, length = len(records), sum(map(len, directory))
    end = count, count, length, place
    if count >= _SHORT_ELSEWHERE or length >= _LONG or place >= _LONG:
        yield _LONG_END.pack(b"PK\6\6", 44, _MADE_ON_UNIX | _VERSION, _VERSION, 0, 0, *end)
        yield _LONG_END_PLACE.pack(b"PK\6\7", 0, place + length, 1)
        end = _SHORT_ELSEWHERE, _SHORT_ELSEWHERE, _ELSEWHERE, _ELSEWHERE
    yield _END.pack(b"PK\5\6", 0, 0, *end, 0)


def _checksums(contents: list[Any]) -> Iterator[int]:
    """The checksums of records: those of large ones are computed, by another thread, while others are written."""
    if sum(map(len, contents)) < _LARGE:
        yield from map(zlib.crc32, contents)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        yield from thread.map(zlib.crc32, contents)
