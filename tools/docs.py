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

    shutil.rmtree(STAGE, ignore_errors=True)
    stage_pages()
    static.write(STAGE / "lab")


def reference_menu() -> Iterator[str]:
    """The entries of the menu for the pages of the reference, which are known only when they are there."""
    yield '"reference/index.md",'
    for page in sorted((STAGE / "reference").glob("*.md")):
        if page.stem != "index":
            title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
            yield f'{{ {json.dumps(title)} = "reference/{page.name}" }},'


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
