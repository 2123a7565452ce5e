"""What the doctor says of a program: which rule, what is wrong, on which line, by what evidence, and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from .._site import Site

FINDING, NOTE = "finding", "note"


@dataclass
class Finding:
    """One mistake. A *finding* is certain or nearly; a *note* is a habit that is often wrong."""

    rule: str
    grade: str
    message: str
    fix: str
    sites: dict[str, Site] = field(default_factory=dict)  # the lines that had a part in it, by their roles; the guiltiest first
    evidence: dict[str, Any] = field(default_factory=dict)
    count: int = 1

    @property
    def site(self) -> Site | None:
        """The line to look at first."""
        return next(iter(self.sites.values()), None)

    @property
    def page(self) -> str:
        """Where the documentation explains the rule."""
        return f"docs/doctor/{self.rule}.md"

    def __str__(self) -> str:
        lines = [f"{self.grade}: {self.message} [{self.rule}]"]
        width = max(map(len, self.sites), default=0)
        for role, site in self.sites.items():
            lines.append(f"  {role:<{width}}  {site}")
            if site.caret:
                lines.append(f"  {'':<{width}}  {site.caret}")
        if self.evidence:
            lines.append("  seen: " + ", ".join(f"{name} {shown(value)}" for name, value in self.evidence.items()))
        if self.count > 1:
            lines.append(f"  {self.count} times")
        return "\n".join([*lines, f"  fix: {self.fix}", f"  more: {self.page}"])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def as_dict(self) -> dict[str, Any]:
        """The same for programs to read."""
        lines = [{"role": role, "file": site.filename, "line": site.line, "text": site.text} for role, site in self.sites.items()]
        evidence = {name: shown(value) for name, value in self.evidence.items()}
        return {
            "rule": self.rule,
            "grade": self.grade,
            "message": self.message,
            "lines": lines,
            "evidence": evidence,
            "fix": self.fix,
            "count": self.count,
            "page": self.page,
        }


def shown(value: Any) -> str:
    """A piece of evidence as text.

    >>> shown(0.00012345678), shown([4, 1]), shown("step 3")
    ('0.0001235', '[4, 1]', 'step 3')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {shown(one)}" for name, one in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(list(value) if isinstance(value, tuple) else value)
