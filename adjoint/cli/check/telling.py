"""What was found, in words or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from .checking import Checked, Report
from .program import Finding

_UNKNOWN = "not known until it runs: "


def text(report: Report) -> str:
    """A line for each thing that is missing, refused, without effect or not known, and what they amount to."""
    lines = [line for file in report.files for line in _about(file)]
    if report.packages:
        lines.append(f"uses torch too, and was read only as far as an import runs it (--deep reads on): {', '.join(report.packages)}")
    return "\n".join([*lines, _sum(report)])


def _about(file: Checked) -> Iterator[str]:
    if file.error is not None:
        yield f"{file.path}: cannot be read: {file.error}"
    told: dict[str, list[Finding]] = {}
    for finding in file.findings:  # in the order of their lines
        if not finding.handled:
            told.setdefault(finding.what, []).append(finding)
    for what, (first, *others) in told.items():
        more = f" (also {', '.join(map(_place, others))})" if others else ""
        yield f"{file.path}{_at(first)}: {_UNKNOWN if first.kind == 'unknown' else ''}{what}{more}"


def _at(finding: Finding) -> str:
    return f":{finding.line}" if finding.cell is None else f", {_place(finding)}"


def _place(finding: Finding) -> str:
    return f"line {finding.line}" if finding.cell is None else f"cell {finding.cell}, line {finding.line}"


def _sum(report: Report) -> str:
    words = {"missing": "missing", "refused": "refused", "inert": "without effect", "unknown": "not known until it runs"}
    counts = {kind: len({(finding.name, finding.what) for finding in report.having(kind)}) for kind in words}
    found = [f"{count} {words[kind]}" for kind, count in counts.items() if count]
    unread = sum(file.error is not None for file in report.files)
    files = f"{len(report.files)} file{'s' * (len(report.files) != 1)}"
    return f"{files}: {', '.join([*found, *([f'{unread} unreadable'] if unread else [])]) or 'nothing in the way'}"


def as_json(report: Report) -> str:
    """All of it, also what programs handle themselves."""
    files = [
        {"path": str(file.path), "error": file.error, "findings": [asdict(finding) for finding in file.findings], "packages": file.packages}
        for file in report.files
    ]
    return json.dumps({"files": files, "packages": report.packages, "exit_code": report.exit_code}, indent=1)
