"""What the lab asks its readers: the questions of the knowledge check, and those beside the pages. All of them are in questions.toml."""

from __future__ import annotations

import io
import tomllib
from functools import cache, partial
from pathlib import Path
from typing import Any


@cache
def _all() -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(Path(__file__).with_name("questions.toml").read_text(encoding="utf-8"))


def questions() -> list[dict[str, Any]]:
    return _all()["question"]


def asides(page: str) -> list[dict[str, Any]]:
    """Those of a page, without their proofs."""
    shown = ("id", "ask", "picks", "right", "why")
    return [{key: aside[key] for key in shown} for aside in _all()["aside"] if aside["page"] == page]


def proofs() -> dict[str, str]:
    return {aside["id"]: aside["proof"] for aside in _all()["aside"]}


def printed(program: str) -> str:
    """What a program of a question prints. It gets a `print` of its own: the real one belongs to the whole process."""
    paper = io.StringIO()
    exec(compile(program, "<program>", "exec"), {"__name__": "__main__", "print": partial(print, file=paper)})
    return paper.getvalue()
