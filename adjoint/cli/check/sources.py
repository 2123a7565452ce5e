"""What is to be checked, as trees of syntax: files, the files of a folder or of an installed package, and the cells of notebooks."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from importlib.metadata import packages_distributions
from pathlib import Path

from ..notebook import NotebookError, code_cells, foreign, without_magic

NOTEBOOK = ".ipynb"
SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})


@dataclass
class Source:
    """A program: one piece for a file, one for each cell of code of a notebook."""

    path: Path
    pieces: list[tuple[int | None, ast.Module]] = field(default_factory=list)
    foreign: list[tuple[int, int, str]] = field(default_factory=list)  # cell, line, and what there is for Jupyter only
    error: str | None = None  # why it could not be read


class UnknownPackageError(Exception):
    """No package of that name is installed."""


def files_of(paths: Iterable[str]) -> Iterator[Path]:
    """The files among the paths, and those in the folders among them."""
    for text in paths:
        path = Path(text)
        if path.is_dir():
            yield from sorted(
                file
                for file in path.rglob("*")
                if file.suffix in (".py", NOTEBOOK) and not any(_skipped(part) for part in file.relative_to(path).parts)
            )
        else:
            yield path


def _skipped(part: str) -> bool:
    return part in SKIPPED or part.startswith(".")


def package_paths(name: str) -> list[str]:
    """Where the files of an installed package are, by its name for `import` or for `pip install`."""
    modules = [name, *(module for module, owners in packages_distributions().items() if _same(name, owners))]
    for module in modules:
        spec = PathFinder.find_spec(module)
        if spec is not None and (spec.submodule_search_locations or spec.origin):
            return list(spec.submodule_search_locations or [str(spec.origin)])
    raise UnknownPackageError(f"there is no package {name} here; `pip list` shows those that are installed")


def _same(name: str, owners: list[str]) -> bool:
    return re.sub(r"[-_.]+", "-", name).lower() in {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners}


def read(path: Path) -> Source:
    source = Source(path)
    try:
        if path.suffix == NOTEBOOK:
            _read_cells(source)
        else:
            with tokenize.open(path) as file:  # in the encoding that the file declares
                source.pieces = [(None, ast.parse(file.read(), str(path)))]
    except FileNotFoundError:
        source.error = "there is no such file"
    except NotebookError as error:
        source.error = str(error)
    except SyntaxError as error:
        source.error = f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)
    except (OSError, ValueError, RecursionError) as error:
        source.error = f"{type(error).__name__}: {error}"
    return source


def _read_cells(source: Source) -> None:
    """The code cells; what Jupyter would do beyond Python is left out, and noted."""
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    for number, text in enumerate(code_cells(str(source.path)), 1):
        if why := foreign(text):
            source.foreign.append((number, 1, why))
            continue
        lines = []
        for at, line in enumerate(text.splitlines(), 1):
            python, why = _python(line)
            lines.append(python)
            source.foreign += [(number, at, why)] if why else []
        try:
            source.pieces.append((number, compile("\n".join(lines), str(source.path), "exec", flags)))
        except SyntaxError as error:
            raise NotebookError(f"cell {number}, line {error.lineno}: {error.msg}") from None


def _python(line: str) -> tuple[str, str | None]:
    """A line of a cell, which may ask for help (`torch.ones?`) or for the output of a command (`files = !ls`)."""
    bare = line.strip()
    if bare.startswith("?") or re.fullmatch(r"[\w.]+\?\??", bare):
        return "pass", None
    if found := re.fullmatch(r"([\w, ]+=\s*)([%!].*)", bare):
        return f"{found[1]}None", without_magic(found[2])[1]
    return without_magic(line)
