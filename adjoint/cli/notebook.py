"""Running the code cells of a notebook one after the other, without Jupyter."""

from __future__ import annotations

import ast
import json
import linecache
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Magics that set up the notebook's page, or measure: without the page there is nothing to set up.
_FOR_THE_PAGE = {"autoreload", "capture", "config", "load_ext", "matplotlib", "reload_ext"}
_MEASURE = {"prun", "time", "timeit"}
_MAGIC = re.compile(r"(\s*)(%%?|!!?)(\w*)(.*)")


class NotebookError(Exception):
    """A notebook that cannot be run."""


def run_notebook(path: str, namespace: dict[str, Any]) -> None:
    """Run the cells in one namespace. The value of a cell's last line is printed, unless it is None."""
    cells = list(_cells(path))  # what cannot be run is found before anything is
    namespace["__file__"] = path
    for filename, tree in cells:
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, filename, "exec"), namespace)
        if isinstance(last, ast.Expr):
            sys.displayhook(eval(compile(ast.Expression(last.value), filename, "eval"), namespace))


def _cells(path: str) -> Iterator[tuple[str, ast.Module]]:
    """Each code cell: the file name that errors give for it, and what it says."""
    for number, source in enumerate(code_cells(path), 1):
        filename = f"{path}[{number}]"
        if refusal := foreign(source):
            raise NotebookError(f"{filename}: {refusal}")
        lines = []
        for at, line in enumerate(source.splitlines(), 1):
            plain, refusal = without_magic(line)
            if refusal:
                raise NotebookError(f"{filename}:{at}: {refusal}")
            lines.append(plain)
        linecache.cache[filename] = len(source), None, [line + "\n" for line in lines], filename
        yield filename, ast.parse("\n".join(lines), filename)


def code_cells(path: str) -> list[str]:
    """What the code cells of a notebook say."""
    try:
        cells = json.loads(Path(path).read_text(encoding="utf-8"))["cells"]
        code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError):
        raise NotebookError(f"{path} is not a notebook of version 4") from None
    return [source if isinstance(source, str) else "".join(source) for source in code]


def foreign(source: str) -> str | None:
    """Why a cell is not Python: a magic gives it to another program."""
    found = _MAGIC.match(source) if source.startswith("%%") else None
    return _refusal(found[0]) if found and found[3] not in _FOR_THE_PAGE | _MEASURE else None


def without_magic(line: str) -> tuple[str, str | None]:
    """The line without the magic in it, and why it cannot be run if there is one that does more than to set up the page."""
    found = _MAGIC.fullmatch(line)
    if found is None:
        return line, None
    indent, sign, name, rest = found.groups()
    if sign.startswith("%") and name in _MEASURE:
        return (indent + (rest.strip() or "pass") if sign == "%" else "pass"), None
    return f"{indent}pass", None if sign.startswith("%") and name in _FOR_THE_PAGE else _refusal(line.strip())


def _refusal(text: str) -> str:
    what = "a command for the shell" if text.startswith("!") else "a magic"
    return (
        f"{text} is {what}, and there is no Jupyter here to run it. Do it beforehand and delete the line, "
        "or start Jupyter itself with `python -m adjoint run -m jupyter lab`"
    )
