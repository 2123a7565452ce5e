"""What a learner has done, kept in a small file. It is a convenience: if it is damaged or cannot be written, nothing else changes."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass
class Record:
    """What is known of one exercise."""

    attempts: int = 0
    hints: int = 0  # how many were shown
    passed: bool = False


def file() -> Path:
    """`learn.json` in `ADJOINT_DATA_DIR`, or in `adjoint` in the user's data directory."""
    if chosen := os.environ.get("ADJOINT_DATA_DIR"):
        return Path(chosen, "learn.json")
    home = os.environ.get("XDG_DATA_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else "")
    return (Path(home) if home else Path("~/.local/share").expanduser()) / "adjoint" / "learn.json"


def read() -> dict[str, Record]:
    try:
        found = json.loads(file().read_text(encoding="utf-8"))
        return {name: Record(int(kept["attempts"]), int(kept["hints"]), bool(kept["passed"])) for name, kept in found.items()}
    except (OSError, RuntimeError, ValueError, TypeError, KeyError, AttributeError, RecursionError):  # there is none, or it is damaged
        return {}


def of(name: str) -> Record:
    return read().get(name, Record())


def write(name: str, record: Record) -> None:
    """Keep a record. The file is replaced at once, so that an end in between leaves the old one."""
    kept = {other: asdict(known) for other, known in (read() | {name: record}).items()}
    try:
        place = file()
        place.parent.mkdir(parents=True, exist_ok=True)
        new = place.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        new.replace(place)
    except (OSError, RuntimeError):
        pass
