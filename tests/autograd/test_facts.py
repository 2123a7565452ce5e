"""Facts about autograd (see facts/): adjoint answers as PyTorch did when facts.json was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import adjoint as ad
from adjoint.autograd import warnings
from tests.autograd.facts import FACTS, answer

ANSWERS = json.loads((Path(__file__).parent / "facts" / "facts.json").read_text())


@pytest.mark.parametrize("name", FACTS)
def test_fact(name, monkeypatch):
    monkeypatch.setattr(warnings, "_scalars_told", [])  # what is said once has not been said
    assert answer(FACTS[name], ad) == ANSWERS[name]


def test_every_answer_belongs_to_a_fact():
    assert set(ANSWERS) == set(FACTS)
