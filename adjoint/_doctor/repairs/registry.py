"""What a repair is: a function that reads a diagnosis and the program's files, and yields what could be written instead, the best first."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..finding import Finding
from .source import ByHandError, Edit, Place, Source


@dataclass(frozen=True)
class Diagnosis:
    """A finding of the doctor, with the places of its lines, so that it can be told from one process to another."""

    rule: str
    grade: str
    message: str
    fix: str
    places: dict[str, Place] = field(default_factory=dict)
    texts: tuple[str, ...] = ()  # of the lines: what stays when other lines move them

    @classmethod
    def of(cls, finding: Finding) -> Diagnosis:
        places = {role: Place.of(site) for role, site in finding.sites.items()}
        return cls(finding.rule, finding.grade, finding.message, finding.fix, places, tuple(site.text for site in finding.sites.values()))

    def is_same(self, other: Diagnosis) -> bool:
        """Whether it is said of the same lines."""
        return (self.rule, self.texts) == (other.rule, other.texts)

    def place(self, role: str) -> Place:
        if role not in self.places:
            raise ByHandError(self.fix)
        return self.places[role]


class Program:
    """The files of a program, as they are or as they were repaired. Only those in the working directory are the user's to change."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self.texts = dict(texts or {})
        self._sources: dict[str, Source] = {}

    def source(self, place: Place) -> Source:
        file = str(Path(place.file).resolve())
        if file not in self._sources:
            if not file.endswith(".py") or not Path(file).is_file():
                raise ByHandError(f"{place.file} is no file of Python")
            if not is_own(Path(file)):
                raise ByHandError(f"{place.file} is not in the working directory, so it is left alone")
            self._sources[file] = Source(file, self.texts[file] if file in self.texts else read(file))
        return self._sources[file]


def read(file: str) -> str:
    """The text of a file, with the ends of its lines as they are."""
    with Path(file).open(encoding="utf-8", newline="") as stream:
        return stream.read()


def is_own(path: Path) -> bool:
    """Whether a file is the user's: in the working directory, and not installed there."""
    others = [Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib", "stdlib")] + [Path(__file__).resolve().parents[2]]
    installed = "site-packages" in path.parts or any(path.is_relative_to(folder) for folder in others)
    return path.is_relative_to(Path.cwd().resolve()) and not installed


Change = tuple[Source, list[Edit]]
Repair = Callable[[Diagnosis, Program], Iterator[Change]]
REPAIRS: dict[str, Repair] = {}


def repairs(rule: str) -> Callable[[Repair], Repair]:
    """The function that follows repairs what a rule finds."""

    def register(repair: Repair) -> Repair:
        REPAIRS[rule] = repair
        return repair

    return register
