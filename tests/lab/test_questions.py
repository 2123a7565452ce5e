"""The knowledge check: each program shows what its question's right answer says, and what stands beside the pages is true."""

from __future__ import annotations

import pytest

import adjoint as ad
from adjoint.lab import pages, questions

QUESTIONS = {question["id"]: question for question in questions.questions()}


def test_there_are_ten():
    assert len(QUESTIONS) == len(questions.questions()) == 10


@pytest.mark.parametrize("name", QUESTIONS)
def test_four_answers_one_right_and_every_one_explained(name):
    answers = QUESTIONS[name]["answer"]
    assert len(answers) == len({answer["text"] for answer in answers}) == 4
    assert sum(answer.get("right", False) for answer in answers) == 1
    assert all(len(answer["why"]) > 40 for answer in answers)


def test_the_right_answer_is_not_always_in_the_same_place():
    places = [[answer.get("right", False) for answer in question["answer"]].index(True) for question in QUESTIONS.values()]
    assert set(places) == {0, 1, 2, 3}


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_program_proves_it(name, capsys):
    question = QUESTIONS[name]
    assert questions.printed(question["program"]).strip() == question["prints"].strip()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("name", "proof"), questions.proofs().items())
def test_what_stands_beside_the_pages_is_true(name, proof):
    exec(compile(proof, name, "exec"), {"ad": ad})


def test_every_aside_is_on_a_page():
    names = {page.name for page in pages.PAGES}
    for aside in questions._all()["aside"]:
        assert aside["page"] in names, aside["id"]
        assert 0 <= aside["right"] < len(aside["picks"])
