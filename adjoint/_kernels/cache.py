"""Compiled kernels on disk, so that a kernel is compiled once per machine.

All that was compiled from one state of this package for one kind of CPU is in one file, which is read at once and grows at its end.
A record has a mark, a name (the hash of everything that its content depends on), and a hash of name and content: what was cut short or
damaged is skipped and compiled again, never trusted. A record is written by one call, so that processes can write at the same time. A
directory that cannot be written costs nothing but time.

What is in the file is executed. So it is read and written only if it, and the directory it is in, belong to the user or to the
administrator, and nobody else may write there.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

try:
    from _blake2 import blake2b  # by itself: hashlib loads all of OpenSSL, which takes longer than all kernels of a small program
except ImportError:
    from hashlib import blake2b

LIMIT = 256 * 2**20  # bytes; the oldest files go first
ENDING = ".kernels"
SHIPPED = Path(__file__).parent / "packs"  # made when the package was installed; same format, same names

_MARK = b"\xadkernel\n"
_RECORD = struct.Struct(f"<{len(_MARK)}s32s32sQ")  # mark, name, digest of name and content, length of the content
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def directory() -> Path:
    """`ADJOINT_CACHE_DIR`, or `adjoint` in the user's cache directory."""
    chosen = os.environ.get("ADJOINT_CACHE_DIR")
    if chosen:
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path("~/.cache").expanduser()) / "adjoint"


def digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=32).digest()


def key(*parts: str) -> str:
    return digest("\0".join(parts).encode()).hex()


# ---- whom to trust ------------------------------------------------------------------------------------------------------------------


def distrusted(found: os.stat_result, kind: int) -> str:
    """Why a file or directory is not used; empty if it may be. `kind` is stat.S_IFREG or stat.S_IFDIR."""
    if stat.S_IFMT(found.st_mode) != kind:
        return "is not a directory" if kind == stat.S_IFDIR else "is not an ordinary file"
    if not hasattr(os, "geteuid"):
        return ""
    if found.st_uid not in (os.geteuid(), 0):
        return "belongs to another user"
    return "may be written by other users" if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def obstacle() -> str:
    """Why the cache cannot be written, for people; empty if it can."""
    try:
        folder = directory()
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        if why := distrusted(folder.stat(), stat.S_IFDIR):
            return f"{folder} {why}"
        return "" if os.access(folder, os.W_OK | os.X_OK) and not read_only(folder) else f"{folder} cannot be written to"
    except (OSError, RuntimeError) as error:
        return f"there is no directory for it: {error}"


def read_only(folder: Path) -> bool:
    """Whether the disk is mounted so. (The administrator may write everywhere, by `access`.)"""
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


# ---- files --------------------------------------------------------------------------------------------------------------------------


def records(content: bytes, begin: int = 0) -> Iterator[tuple[bytes, int, int]]:
    """The name, begin and end of each record from a place on. After one that was cut short, the next one is looked for."""
    at = content.find(_MARK, begin)
    while 0 <= at <= len(content) - _RECORD.size:
        _, name, _, length = _RECORD.unpack_from(content, at)
        end = at + _RECORD.size + length
        if end <= len(content):
            yield name, at, end
        at = content.find(_MARK, end if content.startswith(_MARK, end) else at + 1)


class Store:
    """A file of records."""

    def __init__(self, path: Path, shipped: bool = False) -> None:
        self.path = path
        self.shipped = shipped
        self.looked = False
        self.content = b""
        self.places: dict[bytes, tuple[int, int]] = {}

    def read(self, name: str) -> bytes | None:
        """What was written under a name, by this process or another one; None if there is nothing that can be trusted."""
        wanted = bytes.fromhex(name)
        if wanted not in self.places and not (self.shipped and self.looked):  # which does not grow
            self.looked = True
            self.look()
        if wanted not in self.places:
            return None
        begin, end = self.places[wanted]
        kept, content = self.content[begin + len(_MARK) + 32 : begin + len(_MARK) + 64], self.content[begin + _RECORD.size : end]
        if digest(wanted + content) == kept:
            return content
        del self.places[wanted]
        return None

    def look(self) -> None:
        """Read what has been added to the file."""
        with suppress(OSError, RuntimeError):
            handle = os.open(self.path, os.O_RDONLY | _NO_LINK)
            try:
                found = os.fstat(handle)
                if found.st_size == len(self.content) or not self.trusts(found):
                    return
                with open(handle, "rb", buffering=0, closefd=False) as file:
                    content = file.read()
            finally:
                os.close(handle)
            known = len(self.content) if content.startswith(self.content) else 0
            self.places = {name: (begin, end) for name, begin, end in records(content, known)} | (self.places if known else {})
            self.content = content

    def trusts(self, found: os.stat_result) -> bool:
        if self.shipped:  # as much as the Python files beside it
            return stat.S_ISREG(found.st_mode)
        return not (distrusted(found, stat.S_IFREG) or distrusted(self.path.parent.stat(), stat.S_IFDIR))

    def write(self, name: str, content: bytes) -> None:
        with suppress(OSError, RuntimeError):
            folder = self.path.parent
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINK, 0o644)
            try:
                if not self.trusts(os.fstat(handle)):
                    return
                label = bytes.fromhex(name)
                os.write(handle, _RECORD.pack(_MARK, label, digest(label + content), len(content)) + content)
            finally:
                os.close(handle)
            if name.startswith("0"):  # about every sixteenth time
                prune(folder, self.path.name)


@cache
def _stores(of: str, *places: str | None) -> tuple[Store, Store]:
    """That of the package and that of the user, for the variables that say where it is."""
    name = of[:32] + ENDING
    return Store(SHIPPED / name, shipped=True), Store(directory() / name)


def stores(of: str) -> tuple[Store, Store]:
    return _stores(of, *map(os.environ.get, ("ADJOINT_CACHE_DIR", "XDG_CACHE_HOME", "HOME")))


def read(of: str, name: str) -> bytes | None:
    """What is kept under a name for a fingerprint, with the package or in the user's directory."""
    with suppress(RuntimeError):  # there is no home
        for store in stores(of):
            if (found := store.read(name)) is not None:
                return found
    return None


def write(of: str, name: str, content: bytes) -> None:
    with suppress(RuntimeError):
        stores(of)[1].write(name, content)


# ---- all of them --------------------------------------------------------------------------------------------------------------------


def own_files(folder: Path) -> list[os.DirEntry[str]]:
    """The files that this module has written, and no others that happen to be there."""
    with suppress(OSError), os.scandir(folder) as found:
        return [entry for entry in found if is_own(entry.name) and entry.is_file(follow_symlinks=False)]
    return []


def is_own(name: str) -> bool:
    stem, dot, ending = name.partition(".")
    return len(stem) == 32 and set(stem) <= set("0123456789abcdef") and dot + ending == ENDING


def prune(folder: Path, current: str = "", limit: int = LIMIT) -> None:
    """Remove the oldest files until the rest fits; the current one only if it is too large by itself."""
    files = [(entry.name == current, entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in own_files(folder)]
    total = 0
    for _, _, size, path in sorted(files, reverse=True):
        total += size
        if total > limit:
            Path(path).unlink(missing_ok=True)


def kept(folder: Path | None = None) -> tuple[int, int]:
    """How many kernels there are in a directory, the user's if none is named, and how many bytes."""
    contents = [Path(entry.path).read_bytes() for entry in own_files(folder or directory())]
    return len({name for content in contents for name, _, _ in records(content)}), sum(map(len, contents))


def clear() -> int:
    """Remove all that is kept; how many kernels there were."""
    count, _ = kept()
    for entry in own_files(directory()):
        with suppress(OSError):
            Path(entry.path).unlink()
    _stores.cache_clear()
    return count
