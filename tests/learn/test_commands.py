"""`python -m adjoint learn` as a learner uses it, and what it keeps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from adjoint.learn import _commands as commands
from adjoint.learn import _progress as progress
from adjoint.learn._exercise import NAMES, load

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder to work in, and one for the progress."""
    monkeypatch.setenv("ADJOINT_DATA_DIR", str(tmp_path / "data"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def learn(*arguments, answer=""):
    command = [sys.executable, "-m", "adjoint", "learn", *arguments]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        command, input=answer, capture_output=True, encoding="utf-8", check=False, env=os.environ | {"PYTHONPATH": paths, "PYTHONUTF8": "1"}
    )


def test_from_the_first_command_to_the_last(folder):
    started = learn("start", "chain_rule")
    assert started.stdout.startswith("The chain rule by hand, and by autograd.")
    assert "python -m adjoint learn check" in started.stdout
    path = folder / "chain_rule.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("raise NotImplementedError", "return math.cos(3 * x**2 + 1)", 1), encoding="utf-8")
    checked = learn("check")
    assert checked.returncode == 1
    assert checked.stdout.startswith("chain_rule: not yet.\nby_hand(")
    assert "multiplies it by du/dx" in checked.stdout

    path.write_text(learn("solution").stdout, encoding="utf-8")
    checked = learn("check", "chain_rule.py")
    assert checked.returncode == 0
    assert checked.stdout == f"chain_rule: right. 1 of {len(NAMES)} done.\nNext: python -m adjoint learn start absolute\n"
    assert "done   chain_rule      The chain rule by hand" in learn().stdout


def test_a_solution_is_shown_after_an_attempt(folder, capsys):
    commands.run("start", "modes")
    assert commands.run("check") == 1
    assert "Nothing done yet" in capsys.readouterr().out
    assert commands.run("solution", "modes") == 2
    assert capsys.readouterr().err.startswith("Try it first")
    progress.write("modes", progress.Record(attempts=1))
    assert commands.run("solution") == 0
    assert capsys.readouterr().out.strip() == load("modes").solution.strip()


def test_a_file_is_not_replaced_without_asking(folder):
    path = folder / "modes.py"
    path.write_text("mine")
    refused = learn("start", "modes")
    assert refused.returncode == 2
    assert "modes.py exists and is left as it is" in refused.stderr
    assert path.read_text() == "mine"
    assert commands.run("start", "modes", force=True) == 0
    assert "def passes" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("answer", "replaced"), [("y", True), ("n", False), ("", False)])
def test_at_a_terminal_it_asks(folder, monkeypatch, answer, replaced):
    path = folder / "modes.py"
    path.write_text("mine")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: answer)
    assert commands.run("start", "modes") == (0 if replaced else 2)
    assert (path.read_text(encoding="utf-8") != "mine") == replaced


def test_what_is_written_fits_an_editor(folder):
    for name in NAMES:
        commands.run("start", name)
        assert max(map(len, (folder / f"{name}.py").read_text(encoding="utf-8").splitlines())) <= 99


def test_lines_end_between_words_in_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "50")
    for name in NAMES:
        commands.run("hint", name)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 50
    assert len(lines) > len(NAMES)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["start", "chainrule"], "there is no exercise 'chainrule'; is it chain_rule?"),
        (["start", None], "Which exercise?"),
        (["check", None], "No exercise is begun in this folder."),
        (["check", "modes"], "There is no modes.py here."),
        (["check", "other.py"], "There is no other.py here."),
        (["hint", "nothing"], "there is no exercise 'nothing'"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said(arguments, said, capsys):
    assert commands.run(*arguments) == 2
    assert said in capsys.readouterr().err


def test_the_file_that_was_changed_last_is_checked(folder, capsys):
    for age, name in enumerate(("modes", "leaves", "chain_rule")):
        path = folder / f"{name}.py"
        path.write_text(load(name).skeleton, encoding="utf-8")
        os.utime(path, (1000 - age, 1000 - age))
    assert commands.run("check") == 1
    assert capsys.readouterr().out.startswith("modes: not yet.")


def test_hints_go_on_to_the_last_and_stay_there(capsys):
    count = len(load("leaves").hints)
    for number in [*range(1, count + 1), count]:
        commands.run("hint", "leaves")
        assert capsys.readouterr().out.startswith(f"Hint {number} of {count}")


def test_a_hint_for_a_file(folder, capsys):
    assert commands.run("hint", "leaves.py") == 0
    assert capsys.readouterr().out.startswith("Hint 1 of 3")


def test_a_solution_may_use_one_beside_it(folder, capsys):
    (folder / "mini_tensor.py").write_text(load("mini_tensor").solution, encoding="utf-8")
    source = load("mini_train").solution
    (folder / "mini_train.py").write_text("from mini_tensor import MiniTensor\n" + source[source.index("\ndef fit") :], encoding="utf-8")
    assert commands.run("check", "mini_train") == 0


def test_what_a_solution_prints_is_shown(folder, capsys):
    (folder / "modes.py").write_text("print('a note to myself')\n" + load("modes").solution, encoding="utf-8")
    assert commands.run("check") == 0
    assert capsys.readouterr().out.startswith("It printed:\na note to myself\n\nmodes: right.")


DAMAGED = ["", "{", "[]", "null", '{"modes": 3}', '{"modes": {"attempts": "x", "hints": 0, "passed": true}}', "\0\xff"]


@pytest.mark.parametrize("content", DAMAGED)
def test_damaged_progress_costs_nothing(content, capsys):
    place = progress.file()
    place.parent.mkdir()
    place.write_text(content, encoding="latin-1")
    assert progress.read() == {}
    assert commands.run("hint", "modes") == 0
    assert progress.of("modes").hints == 1
    assert list(place.parent.iterdir()) == [place]


def test_progress_that_cannot_be_kept_costs_nothing(monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ADJOINT_DATA_DIR", str(tmp_path / "file" / "below"))
    assert commands.run("hint", "modes") == 0
    assert commands.run("list") == 0


def test_where_progress_is_kept(monkeypatch, tmp_path):
    monkeypatch.delenv("ADJOINT_DATA_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert progress.file() == tmp_path / "adjoint" / "learn.json"
    progress.write("modes", progress.Record(2, 1, True))
    assert json.loads(progress.file().read_text()) == {"modes": {"attempts": 2, "hints": 1, "passed": True}}


def test_what_is_passed_stays_so(folder):
    progress.write("modes", progress.Record(1, 0, True))
    (folder / "modes.py").write_text("x = 1\n")
    assert commands.run("check") == 1
    assert progress.of("modes") == progress.Record(2, 0, True)
