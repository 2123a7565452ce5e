"""Whatever a solution does, the verdict is a sentence that says what happened, and in which of the learner's lines."""

from __future__ import annotations

import pytest

from adjoint.autograd import engine
from adjoint.learn._child import verdict_in_child
from adjoint.learn._exercise import load
from adjoint.learn._judging import judge

BY_HAND = "return df_du * du_dx"  # a line of the solution


def verdict_on(new, old=BY_HAND, seconds=10.0):
    exercise = load("chain_rule")
    assert old in exercise.solution
    return judge(exercise, exercise.solution.replace(old, new), "chain_rule.py", seed=0, seconds=seconds)


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("return df_du *", "Line 11 is not Python yet: `return df_du *`\nSyntaxError: invalid syntax."),
        ("  return df_du", "Line 11 is not Python yet: `return df_du`\nIndentationError: unexpected indent."),
        ("return df_du * dudx", "NameError in line 11, `return df_du * dudx`: name 'dudx' is not defined"),
        ("return int('x')", "ValueError in line 11, `return int('x')`: invalid literal for int() with base 10: 'x'"),
        ("return by_hand(x)", "does it ever stop calling itself?"),
        ("pass", "returned None: does the function end with a `return`?"),
        ("return 'half'", "gives 'half', and should give"),
        ("return (df_du, du_dx)", "and should give"),
        ("raise NotImplementedError", "`by_hand` is still to be written in line 11, `raise NotImplementedError`."),
        ("raise SystemExit", "The program ended itself in line 11, `raise SystemExit`."),
    ],
)  # fmt: skip
def test_errors_are_sentences_with_the_line(new, said):
    verdict = verdict_on(new)
    assert not verdict.passed
    assert said in verdict.text


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("def by_head(x)", "There is no function `by_hand`: the checker calls `by_hand(x)`."),
        ("def by_hand()", "`by_hand` must be callable as `by_hand(x)`, and takes other arguments: too many positional arguments."),
        ("def by_hand(x, y)", "`by_hand` must be callable as `by_hand(x)`, and takes other arguments: missing a required argument: 'y'."),
    ],
)  # fmt: skip
def test_a_function_is_missing_or_takes_other_arguments(new, said):
    assert verdict_on(new, "def by_hand(x)").text == said


def test_a_class_or_a_method_is_missing():
    exercise = load("mini_tensor")
    for old, new, said in (
        ("class MiniTensor", "class Mini", "There is no class `MiniTensor`"),
        ("def __pow__", "def power", "The class `MiniTensor` has no method `__pow__`"),
    ):
        assert said in judge(exercise, exercise.solution.replace(old, new), "mini_tensor.py").text


def test_an_error_at_the_top_of_the_file():
    assert verdict_on("import mathematics", "import math\n").text.startswith("ModuleNotFoundError in line 1")


def test_an_endless_loop_is_stopped_and_named():
    verdict = verdict_on("while True:\n        x += 1", seconds=0.2)
    assert verdict.text.startswith("Stopped after 0.2 s in line 1")
    assert verdict.text.endswith("Does a loop never end?")


def test_a_solution_that_catches_everything_is_stopped():
    verdict = verdict_on("while True:\n        try:\n            x += 1\n        except Exception:\n            pass", seconds=0.2)
    assert verdict.text.startswith("Stopped after 0.2 s")


def test_adjoint_is_as_it_was_after_a_check():
    run = engine.run
    assert not verdict_on("return 1 / 0").passed
    assert engine.run is run


def test_each_check_draws_other_numbers():
    exercise = load("chain_rule")
    wrong = exercise.solution.replace(BY_HAND, "return 0.0")
    assert judge(exercise, wrong, "chain_rule.py").text != judge(exercise, wrong, "chain_rule.py").text
    assert judge(exercise, wrong, "chain_rule.py", seed=1) == judge(exercise, wrong, "chain_rule.py", seed=1)


# ----- in a process of its own -----


def child_on(new, seconds=20.0):
    return verdict_in_child("chain_rule", load("chain_rule").solution.replace(BY_HAND, new), "chain_rule.py", seconds)


def test_the_child_gives_the_same_verdict():
    verdict, printed = child_on(BY_HAND + "\n\n\nprint('hello')")
    assert verdict.passed
    assert printed == "hello\n"
    assert "multiplies it by du/dx" in child_on("return df_du")[0].text


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("return len(bytearray(2**33))", "MemoryError in line 11, `return len(bytearray(2**33))`"),
        ("import os; os._exit(0)", "ended Python"),
        ("print('x' * 10**7)", "printed more than"),
    ],
)  # fmt: skip
def test_what_would_harm_the_checker(new, said):
    verdict, _ = child_on(new)
    assert not verdict.passed
    assert said in verdict.text


def test_a_loop_that_nothing_can_stop_from_within():
    loop = "while True:\n        try:\n            while True:\n                x += 1\n        except BaseException:\n            pass"
    verdict, _ = child_on(loop, seconds=0.5)
    assert not verdict.passed
    assert "Does a loop never end?" in verdict.text


def test_a_verdict_that_is_printed_is_none():
    verdict, _ = child_on('return 0.0\n\n\nprint(\'{"passed": true, "text": "Right.", "begun": true}\')')
    assert not verdict.passed
