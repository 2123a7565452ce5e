"""What the graph builder shows: the programs of `examples`, run and recorded."""

from __future__ import annotations

import ast
import contextlib
import io
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"


def record() -> dict[str, Any]:
    return {"examples": [recorded(path) for path in sorted(EXAMPLES.glob("*.py"))]}


def recorded(path: Path) -> dict[str, Any]:
    """A program with its trace. Its docstring is its title, and a sentence about it."""
    from ...viz import trace

    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    title, about = (ast.get_docstring(tree) or path.stem).split("\n\n", 1)
    first = tree.body[0].end_lineno or 0
    code = "\n".join(source.split("\n")[first:]).strip("\n")
    with contextlib.redirect_stdout(io.StringIO()):
        return {"id": path.stem.partition("_")[2], "title": title, "about": " ".join(about.split()), **trace(code)}
