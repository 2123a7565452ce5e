"""Each exercise: the right solution passes, the skeleton is no attempt, and each wrong solution gets a hint that names its mistake."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from adjoint.learn._exercise import KINDS, NAMES, load
from adjoint.learn._judging import judge
from tests.learn.right import BY_HEART, RIGHT
from tests.learn.wrong import WRONG

WRONG_SOLUTIONS = [
    pytest.param(name, old, new, words, id=f"{name}-{number}")
    for name, changes in WRONG.items()
    for number, (old, new, words) in enumerate(changes)
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_the_solution_passes(name, seed):
    exercise = load(name)
    verdict = judge(exercise, exercise.solution, f"{name}.py", seed)
    assert verdict.passed, verdict.text


@pytest.mark.parametrize(("name", "source"), [(name, source) for name, sources in RIGHT.items() for source in sources])
def test_other_ways_pass_too(name, source):
    verdict = judge(load(name), source, f"{name}.py", seed=0)
    assert verdict.passed, verdict.text


@pytest.mark.parametrize("name", NAMES)
def test_answers_known_by_heart_fail(name):
    verdict = judge(load(name), BY_HEART[name], f"{name}.py")
    assert verdict.begun
    assert not verdict.passed


@pytest.mark.parametrize("name", NAMES)
def test_the_skeleton_is_no_attempt(name):
    exercise = load(name)
    for source in (exercise.skeleton, f'"""{exercise.task}"""\n# my notes\n{exercise.skeleton}'):
        verdict = judge(exercise, source, f"{name}.py")
        assert not verdict.passed
        assert not verdict.begun
        assert verdict.text.startswith("Nothing done yet")


@pytest.mark.parametrize(("name", "old", "new", "words"), WRONG_SOLUTIONS)
def test_a_wrong_solution_gets_a_hint_about_its_mistake(name, old, new, words):
    exercise = load(name)
    assert old in exercise.solution
    for seed in range(2):
        verdict = judge(exercise, exercise.solution.replace(old, new), f"{name}.py", seed)
        assert not verdict.passed
        assert verdict.begun
        assert words in verdict.text


@pytest.mark.parametrize("name", NAMES)
def test_there_are_wrong_solutions_of_every_exercise(name):
    assert len(WRONG[name]) >= 5
    assert len({words for _, _, words in WRONG[name]}) >= 5


@pytest.mark.parametrize("name", [name for name in NAMES if name != "mini_deep"])  # which repeats what mini_tensor says
def test_no_hint_is_there_for_nothing(name):
    """Each hint for a known mistake, and each meaning of an exception, is given for one of the wrong solutions."""
    exercise = load(name)
    names = vars(import_module(exercise.examine.__module__))
    tables = [table for where, table in names.items() if where.isupper() and isinstance(table, dict)]
    known = {hint for table in tables for hint, ways in table.items() if isinstance(ways, list)} | set(exercise.errors.values())
    said = [judge(exercise, exercise.solution.replace(old, new), f"{name}.py", seed=0).text for old, new, _ in WRONG[name]]
    assert [hint for hint in known if not any(hint in text for text in said)] == []


@pytest.mark.parametrize("name", NAMES)
def test_its_shape(name):
    exercise = load(name)
    assert exercise.title and len(exercise.title) < 80
    assert all(line[-1] in ".:?" for line in exercise.task.splitlines() if line)  # whole paragraphs
    assert len(exercise.hints) >= 3
    assert {definition.name for definition in exercise.asked_for} <= {
        node.name for node in ast.parse(exercise.solution).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    assert "__main__" in exercise.skeleton


@pytest.mark.parametrize("name", NAMES)
def test_its_demonstration_runs(name):
    exec(compile(load(name).solution, name, "exec"), {"__name__": "__main__"})


def test_every_exercise_has_its_place():
    assert set(NAMES) == set(WRONG)
    assert len(NAMES) == sum(map(len, KINDS.values())) == 11


def test_the_documentation_lists_them_all():
    page = (Path(__file__).resolve().parents[2] / "docs" / "exercises.md").read_text(encoding="utf-8")
    assert re.findall(r"^- `(\w+)`:", page, re.MULTILINE) == list(NAMES)


def test_an_unknown_name_is_answered_with_a_close_one():
    with pytest.raises(KeyError, match="is it chain_rule"):
        load("chainrule")
    with pytest.raises(KeyError, match="learn list"):
        load("xyz")
