"""Every example in the documentation runs: Python blocks of the Markdown pages, and doctests of the package."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import linecache
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops._generated import Doc

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "assets" / "graphs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r'''^(?P<indent> *)```(?P<kind>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^(?P=indent)```$''', re.MULTILINE | re.DOTALL
)


class Block(NamedTuple):
    """A fenced block, the number of lines before its text, and the block that follows if nothing but space lies between."""

    kind: str
    title: str | None
    text: str
    lines_before: int
    next: Block | None


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    start = len(text)
    for match in reversed([*FENCE.finditer(text)]):
        follows = found[-1] if found and not text[match.end() : start].strip() else None
        lines_before = text.count("\n", 0, match.start("text"))
        found.append(Block(match["kind"], match["title"], textwrap.dedent(match["text"]), lines_before, follows))
        start = match.start()
    return found[::-1]


def run_doctest(test: doctest.DocTest) -> None:
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=report.append, clear_globs=False)
    assert runner.failures == 0, "".join(report)


def assert_shown(expected: str, shown: str) -> None:
    if not doctest.OutputChecker().check_output(expected, shown, doctest.ELLIPSIS):
        assert shown == expected  # pytest shows the difference


def run_python(block: Block, page: Path, namespace: dict[str, object]) -> None:
    """Run a block; the `output` block after it is what it prints and warns of, the `pytb` block the error that ends it."""
    expected = block.next if block.next and block.next.kind in {"output", "pytb"} else None
    name, text = str(page), "\n" * block.lines_before + block.text  # true line numbers in tracebacks
    if expected or block.title:  # what is shown names lines, as readers count them
        name, text = block.title or "example.py", block.text
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    code = compile(text, name, "exec")
    if expected is None:
        exec(code, namespace)
        return
    printed = io.StringIO()

    def warn(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, file: object = None, line: str | None = None
    ) -> None:
        printed.write(warnings.formatwarning(message, category, filename, lineno, line))

    with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        warnings.showwarning = warn
        try:
            exec(code, namespace)
        except Exception as error:
            if expected.kind == "output":
                raise
            printed.write("".join(traceback.format_exception_only(error)))
        else:
            assert expected.kind == "output", f"{page.name}:{block.lines_before}: this block raises no error"
    assert_shown(expected.text, printed.getvalue())


def run_console(block: Block) -> None:
    """Run what follows each `$`: commands of `python -m adjoint`, and what else a page needs (`cat`, `ls`)."""
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
        words = shlex.split(command)
        if words[0] == "python":
            words[0] = sys.executable
        environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100"}
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, check=False)
        assert_shown(expected, done.stdout)


def run_page(page: Path) -> None:
    """Run the blocks of one page in one namespace; a block with `>>>` prompts must also print what it shows."""
    namespace: dict[str, object] = {"__name__": page.stem}
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.kind == "console":
            run_console(block)
        elif block.kind != "python":
            continue
        elif block.text.lstrip().startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(block.text, namespace, page.name, str(page), block.lines_before)
            run_doctest(test)
            namespace.update(test.globs)  # a DocTest works on a copy
        elif block.next and block.next.kind == "console" and block.title:  # a file that the commands are about
            Path(block.title).write_text(block.text, encoding="utf-8")
        else:
            run_python(block, page, namespace)


class Finder(doctest.DocTestFinder):
    """Without the examples that the reference adds to a docstring, which tests/test_reference.py runs."""

    def _get_test(self, obj, name, module, globs, source_lines):
        words = obj.__doc__ if isinstance(getattr(obj, "__doc__", None), Doc) else None
        if words is None:
            return super()._get_test(obj, name, module, globs, source_lines)  # type: ignore[misc]
        return self._parser.get_doctest(words[:], globs, name, None, 0)


def module_names() -> list[str]:
    def broken(name: str) -> None:
        raise ImportError(f"cannot import {name} to look for its doctests")

    names = [module.name for module in pkgutil.walk_packages(ad.__path__, "adjoint.", onerror=broken)]
    acting = (".__main__", ".as_torch")  # to import them is to run something
    return ["adjoint", *(name for name in names if not name.endswith(acting))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # what an example writes goes away with the test
    monkeypatch.setenv("ADJOINT_DATA_DIR", str(tmp_path))
    run_page(page)
    for picture in tmp_path.glob("*.svg"):
        kept = PICTURES / picture.name
        if os.environ.get("ADJOINT_WRITE_PICTURES"):
            kept.write_text(picture.read_text(encoding="utf-8"), encoding="utf-8")
        assert words_of(picture) == words_of(kept)


def words_of(picture: Path) -> list[str]:
    """What stands in a picture. Where, and in which colours, may change, and so may the last digits of a result."""
    words = re.findall(r"<text[^>]*>([^<]*)<", picture.read_text(encoding="utf-8"))
    assert words
    return sorted(re.sub(r"\d+\.\d+", "#", word) for word in words)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_into_the_repository(name):
    """Those between pages of the site are checked when it is built (`tools/check_site.py`)."""
    text = (ROOT / name).read_text(encoding="utf-8")
    links = [link for link in re.findall(r'(?:\]\(|src=")([^)\s#"]+)', text) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_page_is_in_the_menu():
    def pages(entry: Any) -> Iterator[str]:
        for part in entry if isinstance(entry, list) else entry.values() if isinstance(entry, dict) else ():
            yield from pages(part)
        if isinstance(entry, str):
            yield entry

    menu = [*pages(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"])]
    made = {"reference/index.md", "changelog.md", "contributing.md"}  # by tools/docs.py
    assert sorted(menu) == sorted({page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")} | made)


@pytest.mark.parametrize("name", module_names())
def test_docstrings(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for test in Finder().find(importlib.import_module(name), extraglobs={"ad": ad, "np": np}):
        run_doctest(test)


@pytest.mark.parametrize(
    "text",
    [
        "```python\nx = 1\n```\nand\n```python\nassert x == 2\n```\n",
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\nprint(1)\n```\n\n```output\n2\n```\n",
        "```python\nint('x')\n```\n\n```pytb\nValueError: another text\n```\n",
        "```python\nint('1')\n```\n\n```pytb\nValueError: ...\n```\n",
        "```console\n$ python -c 'print(1)'\n2\n```\n",
        "- in a list:\n\n  ```python\n  assert False\n  ```\n",
    ],
    ids=["code", "prompt", "output", "message", "no-error", "console", "indented"],
)
def test_wrong_example_is_noticed(text, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(AssertionError):
        run_page(page)


def test_blocks_share_a_namespace(tmp_path):
    page = tmp_path / "page.md"
    blocks = ("x = 1", ">>> y = x + 1\n>>> y\n2", "assert x + y == 3")
    page.write_text("".join(f"```python\n{block}\n```\n" for block in blocks))
    run_page(page)


def test_messages_name_the_lines_of_their_block(tmp_path):
    page = tmp_path / "page.md"
    code = "import adjoint as ad\nx = ad.ones(2, requires_grad=True)\nx.numpy()\n"
    message = "RuntimeError: ...\n  here  train.py:3   x.numpy()\n...\n"
    page.write_text(f'text\n\n```python title="train.py"\n{code}```\n\n```pytb\n{message}```\n')
    run_page(page)
