"""Rows as text, Markdown or JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module

from ._timing import Row, geometric_mean

HEADER = ("case", "unit", "adjoint", "torch", "adjoint/torch")


def environment() -> dict[str, str]:
    """Return what one must know to compare figures; nothing that identifies the machine."""
    return {
        **{name: import_module(name).__version__ for name in ("adjoint", "torch", "numpy")},
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


def as_markdown(rows: Sequence[Row]) -> str:
    lines = ["| " + " | ".join(HEADER) + " |", "|---|---|---:|---:|---:|"]
    lines += ["| " + " | ".join(row) + " |" for row in cells(rows)]
    versions = environment()
    system = versions.pop("system")
    measured_with = ", ".join(f"{name} {value}" for name, value in versions.items())
    return "\n".join([*lines, "", f"Measured with {measured_with} on {system}.", ""])


def as_json(rows: Sequence[Row]) -> str:
    report = {
        "environment": environment(),
        "rows": [asdict(row) | {"ratio": row.ratio} for row in rows],
        "geometric_mean": geometric_mean(rows),
    }
    return json.dumps(report, indent=2) + "\n"
