"""Build the documentation site: `python tools/docs.py` writes site/, and `--serve` shows it and builds again what changes.

The pages of docs/, the change log and the guide for contributors are put together in build/docs, with what other tools make: the API
reference (tools/reference.py) and the pages of the lab. Zensical makes the site of that, and tools/check_site.py looks at the result.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.check_site import problems  # noqa: E402

BUILD = ROOT / "build"
STAGE = BUILD / "docs"
SITE = ROOT / "site"
# Pages that stand at the root of the repository, where readers of the source look for them.
ROOT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md")


def stage_pages() -> None:
    """Copy what people wrote; a file that did not change is left alone, so that a running server builds only what did."""
    for source in sorted((ROOT / "docs").rglob("*")):
        if source.is_file():
            _write(STAGE / source.relative_to(ROOT / "docs"), source.read_bytes())
    for name in ROOT_PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        _write(STAGE / name.lower(), re.sub(r"\]\(docs/", "](", text).encode())


def _write(path: Path, content: bytes) -> None:
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def stage() -> None:
    from adjoint.lab import static
    from tools.reference import write_pages

    shutil.rmtree(STAGE, ignore_errors=True)
    stage_pages()
    static.write(STAGE / "lab")
    write_pages(STAGE / "reference")
    stage_sources()


LISTING = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{name}</title>
<style>:root {{ color-scheme: light dark; font-family: system-ui, sans-serif; }} body {{ margin: 2rem; }}
h1 {{ font-size: 1.4rem; overflow-wrap: anywhere; }}
pre {{ line-height: 1.5; overflow-x: auto; }} :target {{ background: #ffd54f55; display: inline-block; width: 100%; }}
{light} @media (prefers-color-scheme: dark) {{ {dark} }}
span.linenos {{ background: none; color: inherit; opacity: .5; padding-right: 1.5em; }}</style></head>
<body><h1>{name}</h1>{listing}</body></html>
"""


def stage_sources() -> None:
    """A listing of each file that the reference points to."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    pages = [page.read_text(encoding="utf-8") for page in (STAGE / "reference").glob("*.md")]
    light, dark = (HtmlFormatter(style=style).get_style_defs(".highlight pre") for style in ("default", "github-dark"))
    for name in sorted({name for page in pages for name in re.findall(r"\(\.\./source/(.+?)\.html#", page)}):
        formatter = HtmlFormatter(linenos="inline", linespans="L")
        listing = highlight((ROOT / name).read_text(encoding="utf-8"), PythonLexer(), formatter)
        _write(STAGE / "source" / f"{name}.html", LISTING.format(name=name, light=light, dark=dark, listing=listing).encode())


def reference_menu() -> Iterator[str]:
    """The entries of the menu for the pages of the reference, which are known only when they are there."""
    yield '"reference/index.md",'
    index = (STAGE / "reference" / "index.md").read_text(encoding="utf-8")
    for title, name in re.findall(r"^## \[(.+)\]\((.+)\)$", index, re.MULTILINE):
        yield f'{{ {json.dumps(title)} = "reference/{name}" }},'


def zensical(*arguments: str) -> list[str]:
    configuration = BUILD / "zensical.toml"
    text = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    _write(configuration, text.replace('"reference/index.md",', "\n    ".join(reference_menu())).encode())
    return [sys.executable, "-m", "zensical", *arguments, "--config-file", str(configuration)]


def build() -> int:
    stage()
    for old in (SITE, BUILD / "site"):
        shutil.rmtree(old, ignore_errors=True)
    done = subprocess.run(zensical("build", "--clean"), capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout, done.stderr, sep="", file=sys.stderr)
        return done.returncode
    (BUILD / "site").rename(SITE)  # Zensical writes beside its configuration only
    found = list(problems(SITE))  # what it warns of is found here too, one line for each
    for problem in found:
        print(problem, file=sys.stderr)
    pages = sum(1 for _ in SITE.rglob("*.html"))
    print(f"site: {pages} pages, {len(found)} links or files that lead nowhere or elsewhere")
    return 1 if found else 0


def serve(address: str) -> int:
    stage()

    def follow() -> None:
        while True:
            time.sleep(0.5)
            stage_pages()

    threading.Thread(target=follow, daemon=True).start()
    with subprocess.Popen(zensical("serve", "--dev-addr", address)) as server:
        try:
            return server.wait()
        except KeyboardInterrupt:
            return 0
        finally:
            server.terminate()


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the documentation site into site/.")
    parser.add_argument("--serve", nargs="?", const="localhost:8000", metavar="HOST:PORT", help="show it in a browser, and follow changes")
    arguments = parser.parse_args()
    return serve(arguments.serve) if arguments.serve else build()


if __name__ == "__main__":
    sys.exit(main())
