"""The doctor's report as a page that needs nothing else: each finding beside the source around its lines."""

from __future__ import annotations

import linecache
from html import escape

from .._site import relative
from .doctor import Doctor
from .finding import Finding, shown

AROUND = 3  # lines of source before and after a guilty one

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --paper: #fbfaf7; --line: #d9d5cb; --bad: #b3261e; --note: #8a6100; --mark: #fbe3df; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e3dc; --paper: #17181a; --line: #3a3c40; --bad: #ff8a80; --note: #e5b454; --mark: #4a2420; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); padding: 1rem 0; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 0 0 .5rem; } .finding { color: var(--bad); } .note { color: var(--note); }
pre { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; padding: .5rem; font: 14px/1.5 ui-monospace, monospace; }
pre code { display: block; width: max-content; min-width: 100%; font: inherit; }
.guilty { background: var(--mark); display: block; } .role { color: var(--bad); padding-left: 2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; } dt { opacity: .7; } dd { margin: 0; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } }
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
    seen = ", ".join(f"{name} {shown(value)}" for name, value in finding.evidence.items())
    often = f"{finding.count} times" if finding.count > 1 else ""
    rows = {"fix": finding.fix, "seen": seen, "how often": often, "rule": f"{finding.rule} ({finding.page})"}
    listed = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in rows.items() if value)
    files: dict[str, dict[int, list[str]]] = {}  # the roles of lines
    for role, site in finding.sites.items():
        files.setdefault(site.filename, {}).setdefault(site.line, []).append(role)
    source = "".join(excerpt(filename, roles) for filename, roles in files.items())
    return f'<section><h2 class="{finding.grade}">{escape(finding.message)}</h2>{source}<dl>{listed}</dl></section>'


def excerpt(filename: str, roles: dict[int, list[str]]) -> str:
    """The source around guilty lines, which are marked and say what they are."""
    wanted = sorted({number for line in roles for number in range(max(line - AROUND, 1), line + AROUND + 1)})
    parts, last = [], 0
    for number in wanted:
        if not (text := linecache.getline(filename, number)):
            continue
        parts += ["      ...\n"] if last and number > last + 1 else []
        shown_line, last = f"{number:>4}  {escape(text.rstrip())}", number
        role = f'<span class="role">{escape(", ".join(roles.get(number, ())))}</span>'
        parts.append(f'<span class="guilty">{shown_line}{role}</span>' if number in roles else shown_line + "\n")
    return f"<p>{escape(relative(filename))}</p><pre><code>{''.join(parts)}</code></pre>" if parts else ""
