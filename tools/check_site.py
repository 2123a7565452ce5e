"""Check a built site: every link and anchor inside it leads somewhere, and no page loads anything from elsewhere.

`python tools/check_site.py site` prints what is wrong and exits with 1 if anything is. Links that a reader may follow to other sites are
left alone; what a browser would fetch by itself (scripts, styles, fonts, pictures, frames) has to lie in the site.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href"), ("image", "href"), ("use", "href")}
CSS_REFERENCE = re.compile(r"""(?:@import\s+|url\(\s*)["']?([^"')\s;]+)""")


class Page(HTMLParser):
    """The anchors of one page, and what it refers to: pairs of an address and whether a browser fetches it by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.references: list[tuple[str, bool]] = []
        self.in_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.in_style = tag == "style"
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif (tag, name) in FETCHED:
                self.references.append((value, True))
            elif name == "style":
                self.references += [(found, True) for found in CSS_REFERENCE.findall(value)]
            elif name == "href" and tag == "a":
                self.references.append((value, False))

    def handle_data(self, data: str) -> None:
        if self.in_style:
            self.references += [(found, True) for found in CSS_REFERENCE.findall(data)]

    def handle_endtag(self, tag: str) -> None:
        self.in_style = False


def problems(site: Path) -> Iterator[str]:
    """Yield one line for each reference that leads nowhere, or to where it must not lead."""
    site = site.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    if not pages:
        yield f"{site}: no pages"
    for path, page in pages.items():
        base = site if path.name == "404.html" else path.parent  # served for any address, so its own are absolute
        for address, fetched in page.references:
            if problem := _problem(address, fetched, path, base, site, pages):
                yield f"{path.relative_to(site)}: {problem}"
    for path in sorted(site.rglob("*.css")):
        for address in CSS_REFERENCE.findall(path.read_text(encoding="utf-8")):
            if problem := _problem(address, True, path, path.parent, site, pages):
                yield f"{path.relative_to(site)}: {problem}"


def _problem(address: str, fetched: bool, path: Path, base: Path, site: Path, pages: dict[Path, Page]) -> str | None:
    parts = urlsplit(address)
    if parts.scheme in {"data", "javascript", "mailto", "blob"}:
        return None
    if parts.scheme or parts.netloc:
        return f"loads {address} from elsewhere" if fetched else None
    target = path
    if parts.path:
        start = site if parts.path.startswith("/") else base
        target = (start / unquote(parts.path).lstrip("/")).resolve()
        if target.is_dir():
            target /= "index.html"
        if not target.is_file() or not target.is_relative_to(site):
            return f"{address} leads to no file"
    anchor = unquote(parts.fragment)
    # In a page that draws itself, what follows the # is a state and no anchor.
    if anchor and "=" not in anchor and target in pages and anchor not in pages[target].anchors:
        return f"{address} leads to no anchor of {target.relative_to(site)}"
    return None


def main(arguments: list[str]) -> int:
    found = list(problems(Path(arguments[0] if arguments else "site")))
    print(*found, sep="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
