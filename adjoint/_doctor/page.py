"""The doctor's report as a page that needs nothing else: each finding beside the source around its lines."""

from __future__ import annotations

import linecache
from html import escape

from .._site import Site
from .doctor import Doctor
from .finding import Finding, shown

AROUND = 3  # lines of source before and after a guilty one

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --paper: #fbfaf7; --line: #d9d5cb; --bad: #b3261e; --note: #8a6100; --mark: #fbe3df; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e3dc; --paper: #17181a; --line: #3a3c40; --bad: #ff8a80; --note: #e5b454; --mark: #4a2420; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid var(--line); padding: 1rem 0; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 0 0 .5rem; } .finding { color: var(--bad); } .note { color: var(--note); }
pre { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; padding: .5rem; font: 14px/1.5 ui-monospace, monospace; }
.guilty { background: var(--mark); display: block; }
dt { float: left; clear: left; width: 6rem; opacity: .7; } dd { margin: 0 0 .3rem 6rem; }
"""


def page(doctor: Doctor) -> str:
    """A whole HTML document."""
    head = str(doctor).splitlines()[0]
    sections = "\n".join(map(section, doctor.findings)) or "<p>Nothing was found.</p>"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(head)}</title><style>{STYLE}</style></head>\n<body><h1>{escape(head)}</h1>\n{sections}\n</body></html>\n"
    )


def section(finding: Finding) -> str:
    rows = [("rule", finding.rule), *((role, str(site.where)) for role, site in finding.sites.items())]
    rows += [("seen", ", ".join(f"{name} {shown(value)}" for name, value in finding.evidence.items()))] if finding.evidence else []
    rows += [("how often", f"{finding.count} times")] if finding.count > 1 else []
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in [*rows, ("fix", finding.fix)])
    source = "".join(around(site) for site in dict.fromkeys(finding.sites.values()))
    return f'<section><h2 class="{finding.grade}">{escape(finding.message)}</h2>{source}<dl>{listed}</dl></section>'


def around(site: Site) -> str:
    """The source around a line, which is marked."""
    first, lines = max(site.line - AROUND, 1), []
    for number in range(first, site.line + AROUND + 1):
        if text := linecache.getline(site.filename, number):
            shown_line = f"{number:>4}  {escape(text.rstrip())}"
            lines.append(f'<span class="guilty">{shown_line}</span>' if number == site.line else shown_line + "\n")
    return f"<pre>{''.join(lines)}</pre>" if lines else ""
