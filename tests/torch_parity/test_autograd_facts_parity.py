"""PyTorch still answers as facts.json says. Run as a program this file writes its answers there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.autograd.facts import FACTS, answer

torch = pytest.importorskip("torch")

FILE = Path(__file__).parents[1] / "autograd" / "facts" / "facts.json"


@pytest.mark.parametrize("name", FACTS)
def test_fact(name):
    assert answer(FACTS[name], torch) == json.loads(FILE.read_text())[name]


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(answer(fact, torch))}" for name, fact in FACTS.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
