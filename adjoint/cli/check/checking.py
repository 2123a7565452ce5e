"""Files, one after the other: what each does with torch, which of its imports fail, and which packages that it imports use torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .imports import Modules, absolute, home_of
from .names import is_torch
from .program import Finding, Imported, Program
from .sources import Source, files_of, package_paths, read


@dataclass
class Checked:
    """What was found out about a file."""

    path: Path
    error: str | None = None  # why it could not be read
    findings: list[Finding] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)  # imported ones that use torch and are not looked at


@dataclass
class Report:
    files: list[Checked]

    def having(self, *kinds: str) -> list[Finding]:
        """What is in the way, or not known: what a program handles itself is not counted."""
        return [finding for file in self.files for finding in file.findings if finding.kind in kinds and not finding.handled]

    @property
    def packages(self) -> list[str]:
        """The packages that use torch, and were not looked at beyond what an import of them runs."""
        return sorted({package for file in self.files for package in file.packages})

    @property
    def exit_code(self) -> int:
        """0: nothing in the way, 1: something missing or refused, 2: something could not be read."""
        if any(file.error for file in self.files):
            return 2
        return int(bool(self.having("missing", "refused")))


def check(paths: Iterable[str], packages: Iterable[str] = (), deep: bool = False) -> Report:
    """Check files, folders and installed packages; `deep` adds the packages that they import and that use torch."""
    files = list(dict.fromkeys(files_of([*paths, *(path for name in packages for path in package_paths(name))])))
    modules = Modules(home_of(file)[0] for file in files)
    done: dict[Path, Checked] = {}
    looked_at: set[str] = set()
    while files:
        looked_at |= {home_of(file)[1].partition(".")[0] for file in files}
        for file in files:
            done[file] = checked(read(file), modules)
        found = {package for result in done.values() for package in result.packages} - looked_at
        files = [file for package in sorted(found) for file in modules.files(package) if file not in done] if deep else []
        looked_at |= found if deep else set()
    for result in done.values():
        result.packages = [package for package in result.packages if package not in looked_at]
    return Report(list(done.values()))


def checked(source: Source, modules: Modules) -> Checked:
    if source.error is not None:
        return Checked(source.path, source.error)
    package = home_of(source.path)[1]
    program = Program(source)
    foreign = [Finding(line, cell, "Jupyter", "unknown", why) for cell, line, why in source.foreign]
    findings = [*program.findings, *_failing_imports(program, modules, package), *foreign]
    tops = {absolute(imported, package).partition(".")[0] for imported in program.imports} - {package.partition(".")[0]}
    return Checked(source.path, None, _in_order(findings), sorted(top for top in tops if modules.spec(top) and modules.uses_torch(top)))


def _failing_imports(program: Program, modules: Modules, package: str) -> Iterable[Finding]:
    # A file in a package is imported after the package itself.
    around = [Imported(1, None, package, (), False, True)] if package else []
    for imported in [*around, *program.imports]:
        name = absolute(imported, package)
        stop = modules.stop_of(imported, package)
        if stop is not None:
            certain = imported.certain and stop.finding.certain
            kind, when = ("missing", "") if certain else ("unknown", " if it gets there")
            what = f"importing {name} fails here{when}: {stop.path}:{stop.finding.line}: {stop.finding.what}"
        elif not modules.is_there(name) and not is_torch(name) and not imported.handled:
            kind, what = "unknown", f"{name} is not installed here, so it could not be looked at"
        else:
            continue
        yield Finding(imported.line, imported.cell, name, kind, what, imported.handled, imported.on_import)


def _in_order(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (finding.cell or 0, finding.line, finding.name))
