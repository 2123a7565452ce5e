"""`python -m adjoint check script.py`: the names of PyTorch that a script uses and adjoint does not have."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from .._place.names import OURS, TORCH


def missing_names(source: str, filename: str = "<script>") -> list[tuple[int, str]]:
    """The line and the name of every use of something that is missing, in order.

    >>> missing_names("import torch\\ntorch.nn.Linear(1, 2)\\ntorch.nn.Quadratic(1, 2)")
    [(3, 'torch.nn.Quadratic')]
    """
    tree = ast.parse(source, filename)
    aliases: dict[str, str] = {}
    used: set[tuple[int, str]] = set()
    for line, name, alias in _imports(tree):
        used.add((line, name))
        aliases[alias] = name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (dotted := _dotted(node, aliases)):
            used.add((node.lineno, dotted))
    found = {(line, missing) for line, name in used if (missing := _first_missing(name))}
    return sorted(found)


def _imports(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Line, full name and local name of whatever is imported from torch."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                if item.name.partition(".")[0] == TORCH:
                    yield node.lineno, item.name, item.asname or TORCH
                    if item.asname is None:
                        yield node.lineno, TORCH, TORCH
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level and node.module.partition(".")[0] == TORCH:
            for item in node.names:
                if item.name != "*":
                    yield node.lineno, f"{node.module}.{item.name}", item.asname or item.name


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str | None:
    """The full name that a chain of attributes stands for, None when it does not start at something imported from torch."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in aliases:
        return None
    return ".".join([aliases[node.id], *reversed(parts)])


def _first_missing(name: str) -> str | None:
    """The shortest part of a dotted name that adjoint does not have; None when it has all of it.

    Only modules and classes are looked into: what an attribute of another object is, is known when the script runs.
    """
    owner: Any = import_module(OURS)
    parts = name.split(".")[1:]
    for position, part in enumerate(parts):
        if not isinstance(owner, ModuleType) and not inspect.isclass(owner):
            return None
        try:
            owner = _member(owner, part)
        except (AttributeError, ImportError):
            return ".".join([TORCH, *parts[: position + 1]])
    return None


def _member(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        if not hasattr(owner, "__path__"):
            raise
        return import_module(f"{owner.__name__}.{name}")


def report(scripts: list[str]) -> tuple[str, int]:
    """What to print about the scripts, and how many names are missing."""
    lines, count = [], 0
    for script in scripts:
        found = missing_names(Path(script).read_text(encoding="utf-8"), script)
        count += len(found)
        lines += [f"{script}:{line}: adjoint has no {name}" for line, name in found]
        if not found:
            lines.append(f"{script}: adjoint has every name of torch that it uses")
    return "\n".join(lines), count
