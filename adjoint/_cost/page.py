"""The page: one file that fetches nothing. The source with the heat of each line, and what called what as a flame graph.

The look is the lab's (`lab/pages/lab.css`).
"""

from __future__ import annotations

import json
import linecache
import re
from collections.abc import Iterator
from html import escape
from importlib import resources
from itertools import groupby
from typing import Any

from .result import Cost, Frame, Line
from .table import percent, seconds, size, totals

CONTEXT = 3  # lines that are shown around those that ran; longer stretches are folded
SMALLEST = 1 / 2000  # the share of a box in the flame graph that is worth drawing
HOTTEST = 8  # lines that are listed at the top


def own_file(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def page(cost: Cost) -> str:
    """The whole page."""
    files = {name: list(lines) for name, lines in groupby(cost.lines, key=lambda line: line.filename)}
    outside = files.pop("", [])
    busiest = sorted(files, key=lambda name: -sum(line.total for line in files[name]))
    names = {name: files[name][0].file for name in busiest}
    parts = {
        "title": escape(", ".join(names.values()) or "nothing was measured"),
        "style": own_file("adjoint.lab.pages", "lab.css") + own_file("adjoint._cost", "page.css"),
        "summary": summary(cost, outside),
        "hottest": "".join(hottest(cost, busiest)),
        "files": "".join(source(cost, names[name], files[name], number) for number, name in enumerate(busiest)),
        "data": json.dumps(flame(cost.tree), separators=(",", ":")).replace("</", "<\\/"),
        "script": own_file("adjoint._cost", "page.js"),
    }
    # All at once, so that what is put in is not searched again.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], own_file("adjoint._cost", "page.html"))


def framed(cost: Cost) -> str:
    """The page inside a notebook's cell: it runs its own script and can reach nothing of the notebook."""
    style = "width:100%;height:640px;border:1px solid #8884;border-radius:6px"
    return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(page(cost))}"></iframe>'


def summary(cost: Cost, outside: list[Line]) -> str:
    """A bar of all the time by what it was spent on, and its legend."""
    parts = {**totals(cost), "measuring": max(0.0, cost.overhead)}
    whole = sum(parts.values()) or 1.0
    bar = "".join(f'<i class="{name}" style="width:{part / whole:.2%}"></i>' for name, part in parts.items())
    legend = "".join(f'<li><i class="{name}"></i>{name} <b>{seconds(part) or "0 s"}</b></li>' for name, part in parts.items())
    start = "".join(f"<li>outside of all lines <b>{seconds(line.total) or '0 s'}</b></li>" for line in outside if line.share >= 0.001)
    whole_time = f"<li>in all <b>{seconds(cost.wall)}</b></li>"
    return f'<div class="whole" aria-hidden="true">{bar}</div><ul class="legend">{whole_time}{legend}{start}</ul>'


def hottest(cost: Cost, files: list[str]) -> Iterator[str]:
    for line in sorted(cost.lines, key=lambda line: -line.total)[:HOTTEST]:
        if line.number and line.share >= 0.005:
            place = f"f{files.index(line.filename)}-{line.number}"
            yield f'<li><a href="#{place}">{escape(line.where)}</a> <b>{percent(line.share)}</b> <code>{escape(line.text)}</code></li>'


def source(cost: Cost, name: str, lines: list[Line], number: int) -> str:
    """A file as a table; what did not run and lies far from what did is folded."""
    found = {line.number: line for line in lines}
    text = linecache.getlines(lines[0].filename)
    titles = ["calls", "forward", "backward", "optimizer", "kept", *(["peak"] if cost.with_peaks else [])]
    near = {i for line in found for i in range(line - CONTEXT, line + CONTEXT + 1)}
    bodies = []
    for shown, group in groupby(range(1, len(text) + 1), key=lambda i: i in near):
        these = list(group)
        rows = "".join(row(i, text[i - 1], found.get(i), titles, f"f{number}-{i}") for i in these)
        if not shown:
            label = f"{len(these)} line{'s' if len(these) > 1 else ''} that did not run"
            bodies.append(f'<tbody><tr class="fold"><td colspan="{len(titles) + 3}"><button>{label}</button></td></tr></tbody>')
        bodies.append(f"<tbody{'' if shown else ' hidden'}>{rows}</tbody>")
    share = sum(line.share for line in lines)
    head = "".join(f"<th>{title}</th>" for title in ("line", "share", *titles))
    return (
        f"<section><h2>{escape(name)} <small>{percent(share)} of the time</small></h2>"
        f'<table class="source"><thead><tr>{head}<th class="text">source</th></tr></thead>{"".join(bodies)}</table></section>'
    )


def row(number: int, text: str, line: Line | None, titles: list[str], place: str) -> str:
    code = f'<td class="text"><code>{escape(text.rstrip()) or " "}</code></td>'
    if line is None:
        return f'<tr class="cold" id="{place}"><td class="n">{number}</td><td colspan="{len(titles) + 1}" class="none"></td>{code}</tr>'
    inside = f"({seconds(line.elsewhere)})" if seconds(line.elsewhere) else ""
    values = {
        "calls": str(line.calls or ""), "forward": seconds(line.forward), "backward": seconds(line.backward) or inside,
        "optimizer": seconds(line.optimizer), "kept": size(line.kept), "peak": size(line.peak),
    }  # fmt: skip
    cells = "".join(f'<td data-title="{title}">{values[title]}</td>' for title in titles)
    bar = f'<td class="share"><i style="width:{line.share:.0%}"></i>{percent(line.share)}</td>'
    heat = min(1.0, 2 * line.share) ** 0.5  # the root, so that differences among small shares can be seen too
    cool = "" if percent(line.share) else ' class="cool"'
    return f'<tr id="{place}"{cool} style="--heat:{heat:.0%}"><td class="n">{number}</td>{bar}{cells}{code}</tr>'


def flame(root: Frame) -> list[list[Any]]:
    """The frames that are wide enough to be seen, for the page: name, seconds, and the place of the one above."""
    least = root.total * SMALLEST
    places: dict[Frame | None, int] = {None: -1}
    found: list[list[Any]] = []
    for frame in root.walk():
        total = frame.total
        if frame.above in places and total >= least:
            places[frame] = len(found)
            found.append([frame.name, total, places[frame.above]])
    return found
