"""Imports of other modules: which packages use torch themselves, and whether a module can be imported at all.

An import runs the module's own code, and that of the modules which it imports. So these are followed, through files beside the program
and packages that use torch, and what a module does when it is imported is looked at; the bodies of its functions are not.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import NamedTuple

from .program import Finding, Imported, Program
from .sources import files_of, read

_MENTIONS = re.compile(rb"^\s*(?:import|from)\s+torch\b", re.MULTILINE)


class Stop(NamedTuple):
    """What keeps a module from being imported."""

    path: Path
    finding: Finding


def home_of(path: Path) -> tuple[Path, str]:
    """The folder from which a file is imported, and the name of the package that it is in ("" for a script)."""
    folder, parts = path.resolve().parent, []
    while (folder / "__init__.py").exists():
        parts.append(folder.name)
        folder = folder.parent
    return folder, ".".join(reversed(parts))


def absolute(imported: Imported, package: str) -> str:
    """The full name of an imported module."""
    level = len(imported.module) - len(imported.module.lstrip("."))
    if not level:
        return imported.module
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - level + 1], *filter(None, [imported.module.lstrip(".")])])


class Modules:
    """The modules that programs import, found without importing them. `roots` are searched before what is installed."""

    def __init__(self, roots: Iterable[Path]) -> None:
        self._roots = list(dict.fromkeys(str(root) for root in roots))
        self._installed = {str(Path(entry).resolve()) for entry in sys.path if entry}
        self._specs: dict[str, ModuleSpec | None] = {}
        self._users: dict[str, bool] = {}
        self._looked_at: dict[str, tuple[Stop | None, list[str]]] = {}
        self._clean: set[str] = set()  # modules that can be imported, as far as torch is concerned

    def spec(self, name: str) -> ModuleSpec | None:
        if name not in self._specs:
            parent = name.rpartition(".")[0]
            if parent:
                above = self.spec(parent)
                path = list(above.submodule_search_locations or []) if above is not None else []
            else:
                path = [*self._roots, *(entry for entry in sys.path if entry)]
            self._specs[name] = PathFinder.find_spec(name.rpartition(".")[2], path) if path else None
        return self._specs[name]

    def is_there(self, name: str) -> bool:
        """Whether a package is part of Python, or installed, or beside the program."""
        top = name.partition(".")[0]
        return top in sys.stdlib_module_names or top in sys.builtin_module_names or self.spec(top) is not None

    def uses_torch(self, name: str) -> bool:
        """Whether any file of a package imports torch."""
        top = name.partition(".")[0]
        if top not in self._users:
            self._users[top] = top not in sys.stdlib_module_names and any(_MENTIONS.search(file.read_bytes()) for file in self.files(top))
        return self._users[top]

    def files(self, top: str) -> list[Path]:
        """The files of a package."""
        spec = self.spec(top)
        if spec is None:
            return []
        paths = list(spec.submodule_search_locations or [str(spec.origin)])
        return [file for file in files_of(paths) if file.suffix == ".py" and file.is_file()]

    # ---- what happens on import ---------------------------------------------------------------------------------------------------

    def stop_of(self, imported: Imported, package: str) -> Stop | None:
        """What keeps an import from succeeding: the file in which it happens, and what it is."""
        seen: dict[str, None] = dict.fromkeys(self._targets(imported, package))
        perhaps: Stop | None = None
        for module in seen_while_growing(seen):
            if module not in self._clean:
                stop, further = self._look(module)
                if stop is not None and stop.finding.certain:
                    return stop
                perhaps = perhaps or stop
                seen |= dict.fromkeys(further)
        if perhaps is None:
            self._clean |= seen.keys()
        return perhaps

    def _targets(self, imported: Imported, package: str) -> list[str]:
        """The modules whose code an import runs: each package on the way, the module, and what it takes from it if those are modules."""
        module = absolute(imported, package)
        parts = module.split(".")
        names = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
        names += [f"{module}.{name}" for name in imported.names]
        return [name for name in names if self._follows(name) and self.spec(name) is not None]

    def _follows(self, name: str) -> bool:
        """Whether a module can matter: one beside the program, or of a package that uses torch."""
        spec = self.spec(name.partition(".")[0])
        if spec is None or not spec.origin:
            return False
        folder = Path(spec.origin).parent
        beside = str(folder.parent if spec.submodule_search_locations else folder)
        return (beside in self._roots and beside not in self._installed) or self.uses_torch(name)

    def _look(self, name: str) -> tuple[Stop | None, list[str]]:
        """What in a module's own code stops an import of it, and the modules that it imports."""
        if name not in self._looked_at:
            self._looked_at[name] = self._looked_into(name)
        return self._looked_at[name]

    def _looked_into(self, name: str) -> tuple[Stop | None, list[str]]:
        spec = self.spec(name)
        if spec is None or not spec.origin or not spec.origin.endswith(".py"):
            return None, []
        source = read(Path(spec.origin))
        program = Program(source, whole=False)
        stops = [finding for finding in program.findings if finding.on_import and finding.raises and not finding.handled]
        stop = min(stops, key=lambda finding: not finding.certain, default=None)
        package = name if spec.submodule_search_locations else name.rpartition(".")[0]
        return Stop(source.path, stop) if stop else None, [
            target for imported in program.imports if imported.on_import and imported.certain and not imported.handled
            for target in self._targets(imported, package)
        ]  # fmt: skip


def seen_while_growing(seen: dict[str, None]) -> Iterator[str]:
    """The keys in order, with those that are added meanwhile."""
    done = 0
    while done < len(seen):
        fresh = list(seen)[done:]
        done = len(seen)
        yield from fresh
