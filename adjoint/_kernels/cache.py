"""Object code on disk, so that a kernel is compiled once per machine.

An entry is named by a hash of everything that the code depends on, and begins with a hash of its own content: an entry that was cut short
or damaged is compiled again, never trusted. Writing goes through a temporary file and a rename: processes never see half an entry. A
directory that cannot be written costs nothing but time.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

LIMIT = 256 * 2**20  # bytes; the oldest entries go first
ABANDONED = 3600.0  # seconds after which nobody is writing a file any more
_DIGEST = hashlib.sha256().digest_size


def directory() -> Path:
    """`ADJOINT_CACHE_DIR`, or `adjoint` in the user's cache directory."""
    chosen = os.environ.get("ADJOINT_CACHE_DIR")
    if chosen:
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path("~/.cache").expanduser()) / "adjoint"


def key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def read(name: str) -> bytes | None:
    """The object code of an entry, or None if there is none that can be trusted."""
    try:
        content = (directory() / f"{name}.o").read_bytes()
    except (OSError, RuntimeError):
        return None
    digest, code = content[:_DIGEST], content[_DIGEST:]
    return code if hashlib.sha256(code).digest() == digest else None


def write(name: str, code: bytes) -> None:
    with suppress(OSError, RuntimeError):
        folder = directory()
        folder.mkdir(parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(dir=folder, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
            Path(path).replace(folder / f"{name}.o")
        except OSError:
            Path(path).unlink(missing_ok=True)
            raise
        if name.startswith("0"):  # about every sixteenth time: looking at all entries takes as long as compiling one
            prune(folder)


def prune(folder: Path, limit: int = LIMIT) -> None:
    """Remove the oldest entries until the rest fits, and what processes left that died while they wrote."""
    with os.scandir(folder) as found:
        entries = [(entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in found if entry.name.endswith((".o", ".tmp"))]
    total = 0
    for made, size, path in sorted(entries, reverse=True):
        total += size
        if total > limit or (path.endswith(".tmp") and made < time.time() - ABANDONED):
            Path(path).unlink(missing_ok=True)


def clear() -> int:
    """Remove all entries; how many there were."""
    removed = 0
    for path in directory().glob("*.o"):
        with suppress(OSError):
            path.unlink()
            removed += 1
    return removed
