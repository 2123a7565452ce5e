"""Rows as text, Markdown or JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec

from ._timing import Row, geometric_mean

HEADER = ("case", "unit", "adjoint", "torch", "adjoint/torch")


def environment() -> dict[str, str]:
    """Return what one must know to compare figures; nothing that identifies the machine."""
    return {
        **{name: import_module(name).__version__ for name in ("adjoint", "torch", "numpy") if find_spec(name)},
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def format_ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def cells(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the table's body, the geometric mean of the times last."""
    body: list[tuple[str, ...]] = []
    for row in rows:
        body.append((row.name, row.unit, f"{row.adjoint:.1f}", f"{row.torch:.1f}", format_ratio(row.ratio)))
    if (mean := geometric_mean(rows)) is not None:
        body.append(("geometric mean of the times", "", "", "", format_ratio(mean)))
    return body


def as_text(rows: Sequence[Row]) -> str:
    table = [HEADER, *cells(rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for name, unit, *numbers in table:
        right = [cell.rjust(width) for cell, width in zip(numbers, widths[2:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), unit.ljust(widths[1]), *right]))
    return "\n".join(lines)


KINDS = ("forward", "forward+backward")
SIZES = ("64", "1k", "10k", "1M", "10M")


TABLES_BEGIN = "<!-- The rest is written by ./dev bench --markdown. -->\n\n"


def with_tables(page: str, rows: Sequence[Row]) -> str:
    """A page with these tables in the place of those that it had; its text above them stays."""
    return page.partition(TABLES_BEGIN)[0] + TABLES_BEGIN + as_markdown(rows)


def as_markdown(rows: Sequence[Row]) -> str:
    """Tables for a page: elementwise functions by size, other functions with both passes in a line, and the rest."""
    by_size: dict[str, dict[tuple[str, str], Row]] = {}
    by_kind: dict[str, dict[str, Row]] = {}
    others: list[Row] = []
    for row in rows:
        subject, _, kind = row.name.rpartition(", ")
        function, _, size = subject.rpartition(" ")
        if kind in KINDS and size in SIZES:
            by_size.setdefault(function, {})[kind, size] = row
        elif kind in KINDS:
            by_kind.setdefault(subject, {})[kind] = row
        else:
            others.append(row)
    lines = [*size_table(by_size), *kind_table(by_kind)]
    if others:
        lines += ["| " + " | ".join(HEADER) + " |", "|---|---|---:|---:|---:|"]
        lines += ["| " + " | ".join(row) + " |" for row in cells(others) if row[1]]
    versions = environment()
    system = versions.pop("system")
    measured_with = ", ".join(f"{name} {value}" for name, value in versions.items())
    mean = format_ratio(geometric_mean(rows))
    return "\n".join([*lines, "", f"Geometric mean of all times: {mean}. Measured with {measured_with} on {system}.", ""])


def size_table(functions: dict[str, dict[tuple[str, str], Row]]) -> list[str]:
    """Ratios only: a line for each function, a column for each size and pass."""
    columns = [(kind, size) for kind in KINDS for size in SIZES if any((kind, size) in found for found in functions.values())]
    if not columns:
        return []
    heads, last = [], ""
    for kind, size in columns:
        heads.append(size if kind == last else f"{kind}: {size}")
        last = kind
    lines = ["| function | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    for function, found in functions.items():
        ratios = [format_ratio(found[column].ratio) if column in found else "" for column in columns]
        lines.append(f"| {function} | {' | '.join(ratios)} |")
    return [*lines, ""]


def kind_table(functions: dict[str, dict[str, Row]]) -> list[str]:
    """Times in microseconds, and ratios."""
    if not functions:
        return []
    lines = ["| function | adjoint, forward | torch | ratio | adjoint, forward+backward | torch | ratio |", "|---|" + "---:|" * 6]
    for function, found in functions.items():
        values: list[str] = []
        for kind in KINDS:
            row = found.get(kind)
            values += ["", "", ""] if row is None else [f"{row.adjoint:.3g}", f"{row.torch:.3g}", format_ratio(row.ratio)]
        lines.append(f"| {function} | {' | '.join(values)} |")
    return [*lines, ""]


def as_json(rows: Sequence[Row]) -> str:
    report = {
        "environment": environment(),
        "rows": [asdict(row) | {"ratio": row.ratio} for row in rows],
        "geometric_mean": geometric_mean(rows),
    }
    return json.dumps(report, indent=2) + "\n"
