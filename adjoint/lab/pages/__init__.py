"""The pages of the lab, put together from the files beside this one.

A page `NAME` is `NAME.html` (what stands in its `<main>`), often `NAME.js`, and `NAME.py` where it shows numbers: its `record()` runs
adjoint, and the page gets what it returns as `lab.data`. So no number of a page is older than the library that it explains.
"""

from __future__ import annotations

import html
import json
import threading
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ..._version import __version__
from ..questions import asides

HERE = Path(__file__).parent
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


class Page(NamedTuple):
    name: str
    label: str  # in the navigation
    title: str


PAGES = (
    Page("index", "Overview", "Gradients, seen"),
    Page("graph", "Graph", "Watch a gradient being made"),
    Page("accumulate", "Accumulation", "Gradients add up"),
    Page("leaves", "Leaves", "Who keeps a gradient?"),
    Page("vector", "Vectors", "Backward from a vector"),
    Page("freed", "Freed", "What is freed when"),
    Page("modes", "Modes", "Forward or reverse?"),
    Page("differences", "Differences", "Measured or derived?"),
    Page("depth", "Depth", "Gradients through many layers"),
    Page("check", "Check", "Ten questions"),
)

RECORDED = "Every number was recorded with it. <code>python -m adjoint lab</code> runs programs of your own."
SHELL = """<!doctype html>
<html lang="en"{live}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · adjoint lab</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="lab.css">
<script src="lab.js"></script>
{scripts}
</head>
<body class="{name}">
<a class="skip" href="#main">To the content</a>
<div class="page">
<header class="top"><a class="brand" href="index.html">adjoint <span>lab</span></a>
<nav aria-label="Pages">{links}</nav><button id="theme" class="quiet" type="button">Dark</button></header>
<main id="main">
{body}
<section id="asides" aria-label="Commit before you look" hidden></section>
</main>
<footer class="foot">adjoint {version}. {note}</footer>
</div>
</body>
</html>
"""


def names() -> list[str]:
    """Every file that the pages consist of, by the name under which they ask for it."""
    made = [name for page in PAGES for name in (f"{page.name}.html", f"{page.name}.data.js")]
    return [*made, *sorted(path.name for path in HERE.iterdir() if path.suffix in (".css", ".js"))]


def content(name: str, live: bool) -> tuple[str, bytes] | None:
    """The type and the bytes of a file of the lab, None if there is no such file."""
    if name not in names():
        return None
    path = HERE / name
    if name.endswith(".data.js"):
        text = data(name.removesuffix(".data.js"))
    elif path.suffix == ".html":
        text = rendered(next(page for page in PAGES if page.name == path.stem), live)
    else:
        text = path.read_text(encoding="utf-8")
    return TYPES[path.suffix], text.encode()


def rendered(page: Page, live: bool) -> str:
    links = "".join(
        f'<a href="{other.name}.html"{" aria-current=page" if other == page else ""}>{html.escape(other.label)}</a>' for other in PAGES[1:]
    )
    scripts = [f"{page.name}.data.js", *([f"{page.name}.js"] if (HERE / f"{page.name}.js").exists() else [])]
    styles = [f'<link rel="stylesheet" href="{page.name}.css">'] if (HERE / f"{page.name}.css").exists() else []
    return SHELL.format(
        live=" data-live" if live else "",
        title=html.escape(page.title),
        name=page.name,
        scripts="\n".join([*styles, *(f'<script src="{name}" defer></script>' for name in scripts)]),
        links=links,
        body=(HERE / f"{page.name}.html").read_text(encoding="utf-8").strip(),
        version=__version__,
        note="Programs run on this machine." if live else RECORDED,
    )


_recording = threading.Lock()  # a recording seeds the generator that the others use too


def data(name: str) -> str:
    """What a page knows, as a script: a page opened as a file may load one, but may not fetch anything."""
    with _recording:
        return _data(name)


@cache
def _data(name: str) -> str:
    known: dict[str, Any] = {"version": __version__, "asides": asides(name)}
    if (HERE / f"{name}.py").exists():
        known |= import_module(f"{__name__}.{name}").record()
    packed = json.dumps(known, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return f"lab.data = {packed};\n"
