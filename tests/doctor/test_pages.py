"""The doctor's pages: one for each rule, with a program that is found and a repair that is not; tests/test_docs.py runs them."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from adjoint._doctor.finding import Finding
from adjoint._doctor.rules import RULES

from .examine import examine

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "doctor"
NAMES = [rule.name for rule in RULES]


def test_every_rule_has_a_page():
    assert sorted(page.stem for page in FOLDER.glob("*.md")) == NAMES
    assert all((ROOT / Finding(name, "finding", "", "").page).exists() for name in NAMES)


def test_the_table_has_every_rule():
    text = (ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[`([\w-]+)`\]\(doctor/([\w-]+)\.md\) \| (\w+) \| \S.* \|$", text, re.MULTILINE)
    assert rows == [(rule.name, rule.name, rule.grade) for rule in RULES]


def test_the_readme_quotes_what_is_said():
    quoted = re.findall(r"`(finding: [^`]+)`", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert quoted and all(words in (FOLDER / "missing-zero-grad.md").read_text(encoding="utf-8") for words in quoted)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_page_names_its_rule(rule):
    text = (FOLDER / f"{rule.name}.md").read_text(encoding="utf-8")
    assert f"\n`{rule.name}`, a {rule.grade}. " in text
    assert f"{rule.grade}: " in text and f"[{rule.name}]\n" in text


@pytest.mark.parametrize("name", NAMES)
def test_the_repair_is_found_healthy(name, tmp_path):
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    (program,) = re.findall(r'^```python title="repaired.py"\n(.*?)^```$', text, re.MULTILINE | re.DOTALL)
    (path := tmp_path / "repaired.py").write_text(program, encoding="utf-8")
    state = random.getstate()
    report = examine(str(path))  # which seeds it
    random.setstate(state)
    assert (report["error"], report["findings"], report["failed rules"]) == ("", [], {})
