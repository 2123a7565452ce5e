"""Every example in the documentation runs: Python blocks of the Markdown pages, and doctests of the package."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def python_blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield each ```python block with the number of lines before it."""
    for match in PYTHON_BLOCK.finditer(text):
        yield text.count("\n", 0, match.start(1)), match[1]


def run_doctest(test: doctest.DocTest) -> None:
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=report.append, clear_globs=False)
    assert runner.failures == 0, "".join(report)


def run_page(page: Path) -> None:
    """Run the blocks of one page in one namespace; a block with `>>>` prompts must also print what it shows."""
    namespace: dict[str, object] = {"__name__": page.stem}
    for lines_before, block in python_blocks(page.read_text(encoding="utf-8")):
        if block.lstrip().startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(block, namespace, page.name, str(page), lines_before)
            run_doctest(test)
            namespace.update(test.globs)  # a DocTest works on a copy
        else:
            exec(compile("\n" * lines_before + block, str(page), "exec"), namespace)  # true line numbers in tracebacks


def module_names() -> list[str]:
    def broken(name: str) -> None:
        raise ImportError(f"cannot import {name} to look for its doctests")

    names = [module.name for module in pkgutil.walk_packages(ad.__path__, "adjoint.", onerror=broken)]
    return ["adjoint", *(name for name in names if not name.endswith(".__main__"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # what an example writes goes away with the test
    run_page(page)


@pytest.mark.parametrize("name", module_names())
def test_docstrings(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for test in doctest.DocTestFinder().find(importlib.import_module(name), extraglobs={"ad": ad, "np": np}):
        run_doctest(test)


@pytest.mark.parametrize(
    "text",
    ["```python\nx = 1\n```\nand\n```python\nassert x == 2\n```\n", "```python\n>>> 1 + 1\n3\n```\n"],
    ids=["code", "prompt"],
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
