"""Libraries that are built on PyTorch, run on adjoint and beside PyTorch: `./dev ecosystem [NAME...]`, and docs/ecosystem.md.

For each library of ecosystem/libraries.toml there is a program (ecosystem/programs/NAME.py: what its README shows, in our words), whose
results have to agree, and a sample of the library's own tests. Both sides use the same installation of the libraries, in an environment
without PyTorch; the other environment has PyTorch and a path to the first. What was measured is kept in build/ecosystem/results, library
by library, so whoever stops this goes on where it was, and the page shows all that is there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import time
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "ecosystem"
BUILD = ROOT / "build" / "ecosystem"
PAGE = ROOT / "docs" / "ecosystem.md"
TORCH = "torch==2.13.0"
TOLERANCE = 1e-4


@dataclass
class Library:
    """An entry of libraries.toml."""

    name: str
    install: list[str]
    module: str = ""
    tests: list[str] = field(default_factory=list)  # in the source distribution of the first of `install`, or "installed:folder"
    needs: list[str] = field(default_factory=list)  # what the tests need besides
    deselect: dict[str, list[str]] = field(default_factory=dict)  # why, and which tests
    environment: dict[str, str] = field(default_factory=dict)  # variables that program and tests are run with

    @property
    def program(self) -> Path:
        return SOURCES / "programs" / f"{self.name}.py"

    @property
    def distribution(self) -> str:
        return self.install[0].partition("==")[0]


@dataclass
class Result:
    """What was found: the program's verdict, and for each test of the sample its outcome on both sides."""

    version: str
    program: str  # "same numbers", or what happened
    passed_both: int = 0
    passed_pytorch: int = 0
    only_pytorch: list[str] = field(default_factory=list)
    remark: str = ""


def libraries() -> dict[str, Library]:
    entries = tomllib.loads((SOURCES / "libraries.toml").read_text(encoding="utf-8"))
    return {name: Library(name, **entry) for name, entry in sorted(entries.items())}


# ---- environments -------------------------------------------------------------------------------------------------------------------


class Environment:
    """A virtual environment with the libraries; what runs in it sees adjoint as torch, or PyTorch."""

    def __init__(self, adjoint: bool) -> None:
        self.adjoint = adjoint
        self.name = "without-pytorch" if adjoint else "with-pytorch"
        self.folder = BUILD / self.name
        self.python = self.folder / "bin" / "python"

    def create(self) -> None:
        if not self.python.exists():
            venv.create(self.folder, with_pip=True, clear=True)
        if self.adjoint:
            self.pip("install", "--editable", str(ROOT), "pytest", "setuptools<81")
            self.run([str(self.python), "-m", "adjoint", "install-torch-stub"])
        else:
            self.pip("install", TORCH)
            (self.packages() / "libraries.pth").write_text(f"{Environment(adjoint=True).packages()}\n", encoding="utf-8")

    def packages(self) -> Path:
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found

    def pip(self, *arguments: str) -> None:
        self.run([str(self.python), "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments])

    def run(self, command: list[str]) -> None:
        subprocess.run(command, check=True, cwd=BUILD)

    def command(self, *arguments: str) -> list[str]:
        return [str(self.python), *(["-m", "adjoint", "run"] if self.adjoint else []), *arguments]

    def variables(self, library: Library) -> dict[str, str]:
        """Nothing is downloaded while libraries run, and both sides use as many threads."""
        offline = {"HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
        path = filter(None, (str(SOURCES), os.environ.get("PYTHONPATH")))
        return {**os.environ, **offline, **library.environment, "PYTHONPATH": os.pathsep.join(path)}


# ---- measuring ----------------------------------------------------------------------------------------------------------------------


@dataclass
class Effort:
    """How much of a library's tests is run."""

    sample: int  # tests
    minutes: float  # for all of them, on one side


def measure(library: Library, sides: tuple[Environment, Environment], effort: Effort) -> Result:
    ours, theirs = sides
    result = Result(library.install[0].partition("==")[2], verdict(library, ours, theirs))
    if effort.sample and library.tests:
        compare_tests(library, ours, theirs, effort, result)
    return result


def verdict(library: Library, ours: Environment, theirs: Environment) -> str:
    """What came of the program, in a few words."""
    found: list[dict[str, Any]] = []
    for side in (theirs, ours):
        file = BUILD / "results" / f"{library.name}.npz"
        file.unlink(missing_ok=True)
        command = side.command(str(SOURCES / "program.py"), str(library.program), str(file))
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=side.variables(library), cwd=BUILD, timeout=600, check=False)
        except subprocess.TimeoutExpired:
            return f"takes longer than ten minutes {'here' if side.adjoint else 'with PyTorch'}"
        if done.returncode:
            last = (done.stderr.strip() or "no message").splitlines()[-1]
            return f"{'raises' if side.adjoint else 'with PyTorch, raises'}: {last}"
        with np.load(file) as results:
            found.append(dict(results))
    return compared(*found)


def compared(theirs: dict[str, Any], ours: dict[str, Any]) -> str:
    """Whether results agree, relative to the largest number of each."""
    for name, expected in theirs.items():
        actual = ours.get(name)
        if actual is None or actual.shape != expected.shape:
            return f"another shape: {name}"
        scale = max(1.0, float(np.abs(expected).max(initial=0))) if expected.dtype.kind in "fc" else 1.0
        if expected.dtype.kind in "US":
            same = bool((actual == expected).all())
        else:
            same = bool(np.isclose(actual, expected, rtol=0, atol=TOLERANCE * scale, equal_nan=True).all())
        if not same:
            return f"other numbers: {name}"
    return "same numbers"


def compare_tests(library: Library, ours: Environment, theirs: Environment, effort: Effort, result: Result) -> None:
    try:
        folder, paths = tests_of(library, ours)
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        result.remark = f"no tests: {error}"
        return
    sampled, _ = outcomes(library, theirs, folder, paths, effort)
    passed = {name for name, outcome in sampled.items() if outcome == "passed"}
    actual, stopped = outcomes(library, ours, folder, paths, effort, passed)
    if stopped:
        passed &= actual.keys()
        result.remark = f"as far as it came in {effort.minutes:g} minutes"
    both = {name for name in passed if actual.get(name) == "passed"}
    result.passed_pytorch, result.passed_both = len(passed), len(both)
    result.only_pytorch = sorted(passed - both)


def tests_of(library: Library, environment: Environment) -> tuple[Path, list[str]]:
    """Where the tests are, and which. They come with the library, or with its source distribution, which is fetched."""
    installed = [path.removeprefix("installed:") for path in library.tests if path.startswith("installed:")]
    if installed:
        return environment.packages(), installed
    target = BUILD / "sources" / library.name
    if not target.exists():
        fetched = BUILD / "fetched" / library.name
        environment.pip("download", "--no-deps", "--no-binary", ":all:", "--dest", str(fetched), library.install[0])
        (archive,) = [path for path in fetched.iterdir() if path.name.endswith((".tar.gz", ".zip"))]
        target.mkdir(parents=True)
        if archive.suffix == ".zip":
            zipfile.ZipFile(archive).extractall(target)
        else:
            with tarfile.open(archive) as file:
                file.extractall(target, filter="data")
    (folder,) = [path for path in target.iterdir() if path.is_dir()]
    (folder / "__init__.py").unlink(missing_ok=True)  # with which pytest would take the whole distribution for a package
    if missing := [path for path in library.tests if not (folder / path).exists()]:
        raise ValueError(f"the source distribution has no {missing[0]}")
    return folder, library.tests


def outcomes(
    library: Library, side: Environment, folder: Path, paths: list[str], effort: Effort, wanted: set[str] | None = None
) -> tuple[dict[str, str], bool]:
    """The outcome of each test of a sample, or of those that are wanted, and whether time was up before all had run."""
    file = BUILD / "results" / f"{library.name}-{side.name}.jsonl"
    file.unlink(missing_ok=True)
    left_out = [f"--deselect={test}" for tests in library.deselect.values() for test in tests]
    plugins = ["-p", "no:cacheprovider", "-p", "no:benchmark", "-p", "outcomes"]
    options = ["-q", *plugins, "--continue-on-collection-errors", "-W", "default", *left_out]
    variables = {**side.variables(library), "ECOSYSTEM_OUTCOMES": str(file), "ECOSYSTEM_SAMPLE": str(effort.sample)}
    variables["PYTHONPATH"] += f"{os.pathsep}{folder}"
    if wanted is not None:
        names = file.with_suffix(".txt")
        names.write_text("\n".join(sorted(wanted)), encoding="utf-8")
        variables["ECOSYSTEM_WANTED"] = str(names)
    log = BUILD / "results" / f"{library.name}-{side.name}.log"
    with log.open("w", encoding="utf-8") as output:
        command = side.command("-m", "pytest", *options, *paths)
        try:
            subprocess.run(command, stdout=output, stderr=output, env=variables, cwd=folder, timeout=60 * effort.minutes, check=False)
            stopped = False
        except subprocess.TimeoutExpired:
            stopped = True
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    found: dict[str, str] = {}
    for name, outcome in map(json.loads, lines):
        if found.get(name, "passed") == "passed":  # a test that fails when it is cleaned up has failed
            found[name] = outcome
    return found, stopped


# ---- the page -----------------------------------------------------------------------------------------------------------------------

HEAD = """\
# Libraries built on PyTorch

What popular libraries do on adjoint, unmodified, in an environment without PyTorch. `./dev ecosystem` measures it and writes this page; it
takes about an hour, and `./dev ecosystem einops zuko` measures two.

- **Program**: the use that the library's README shows, from `ecosystem/programs/`, run with the same seed by PyTorch 2.13 and by
  `python -m adjoint run`. "Same numbers" means every result to 1e-4 of the largest.
- **Own tests**: of a sample of the library's own tests, those that pass on PyTorch, and how many of them pass on adjoint.

"""


def page(results: dict[str, Result]) -> str:
    same = sum(result.program == "same numbers" for result in results.values())
    passed, expected = (sum(getattr(result, name) for result in results.values()) for name in ("passed_both", "passed_pytorch"))
    tested = sum(result.passed_pytorch > 0 for result in results.values())
    share = f", {100 * passed / expected:.1f} %" if expected else ""
    lines = [
        f"{same} of {len(results)} programs run with the same numbers. Of {expected} tests of {tested} libraries that pass on PyTorch, "
        f"{passed} pass here{share}.",
        "",
        "| library | version | program | own tests |",
        "|---|---|---|---|",
    ]
    for name, result in sorted(results.items()):
        counted = [f"{result.passed_both} of {result.passed_pytorch}"] if result.passed_pytorch else []
        tests = ", ".join([*counted, *filter(None, [result.remark])]) or "not sampled"
        lines.append(f"| {name} | {result.version} | {cell(result.program)} | {cell(tests)} |")
    if failing := {name: result.only_pytorch for name, result in sorted(results.items()) if result.only_pytorch}:
        lines += ["", "## Tests that pass on PyTorch only", ""]
        lines += [f"- {name}: {', '.join(f'`{test}`' for test in tests[:8])}{more(tests, 8)}" for name, tests in failing.items()]
    return HEAD + "\n".join(lines) + "\n"


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<")[:160]


def more(tests: list[str], shown: int) -> str:
    return f" and {len(tests) - shown} more" if len(tests) > shown else ""


def kept() -> Iterator[tuple[str, Result]]:
    for name in libraries():
        file = BUILD / "results" / f"{name}.json"
        if file.exists():
            yield name, Result(**json.loads(file.read_text(encoding="utf-8")))


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev ecosystem", description="libraries built on PyTorch, run on adjoint and beside PyTorch")
    parser.add_argument("names", nargs="*", help="the libraries (default: all that were not measured yet)")
    parser.add_argument("--again", action="store_true", help="measure all anew")
    parser.add_argument("--tests", type=int, default=100, help="how many tests of a library are run (default: 100)")
    parser.add_argument("--minutes", type=float, default=5, help="how long those of one library may take, on each side (default: 5)")
    parser.add_argument("--no-install", action="store_true", help="the environments have everything")
    options = parser.parse_args()
    known = libraries()
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"ecosystem/libraries.toml has no {unknown[0]}; it has {', '.join(known)}")
    sides = Environment(adjoint=True), Environment(adjoint=False)
    (BUILD / "results").mkdir(parents=True, exist_ok=True)
    if not options.no_install:
        for side in sides:
            side.create()
    wanted = options.names or [name for name in known if options.again or name not in dict(kept())]
    try:
        for number, name in enumerate(wanted, 1):
            begun = time.monotonic()
            print(f"{number:3} of {len(wanted)}  {name:<28}", end="", flush=True)
            if not options.no_install:
                sides[0].pip("install", *known[name].install, *known[name].needs)
            result = measure(known[name], sides, Effort(options.tests, options.minutes))
            (BUILD / "results" / f"{name}.json").write_text(json.dumps(asdict(result), indent=1), encoding="utf-8")
            tests = f", tests {result.passed_both} of {result.passed_pytorch}" if result.passed_pytorch else ""
            print(f"{result.program}{tests}{result.remark and ', ' + result.remark}  ({time.monotonic() - begun:.0f} s)")
    except KeyboardInterrupt:
        print("\nstopped; what was measured is kept, and the next call goes on from there")
        return 130
    finally:
        PAGE.write_text(page(dict(kept())), encoding="utf-8")
    return int(any(result.program != "same numbers" or result.only_pytorch for name, result in kept() if name in wanted))


if __name__ == "__main__":
    sys.exit(main())
