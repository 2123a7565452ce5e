"""Facts about transforms (see facts/): adjoint answers as PyTorch did when facts.json was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import adjoint as ad
from tests.func.facts import FACTS, answer

ANSWERS = json.loads((Path(__file__).parent / "facts" / "facts.json").read_text())


@pytest.mark.parametrize("name", FACTS)
def test_fact(name):
    assert answer(FACTS[name], ad) == ANSWERS[name]


def test_every_answer_belongs_to_a_fact():
    assert set(ANSWERS) == set(FACTS)
