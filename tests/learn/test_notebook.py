"""Exercises as notebooks: the files are valid, their cells run, and the check cell answers about what the cells have defined."""

from __future__ import annotations

import json
import linecache

import pytest

from adjoint.learn import _commands as commands
from adjoint.learn import _progress as progress
from adjoint.learn._exercise import NAMES, load
from adjoint.learn._notebook import notebook, program


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ADJOINT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def definitions(name):
    """The right solution, as a cell."""
    return load(name).solution.partition("\n\nif __name__")[0]


def code_cells(text):
    return ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]


@pytest.fixture
def run(monkeypatch):
    """Run cells as a notebook does, which lets Python know their lines."""

    def run_cells(cells, known_to_python=True):
        namespace = {"__name__": "__main__"}
        for number, cell in enumerate(cells):
            file = f"<cell {number}>"
            if known_to_python:
                monkeypatch.setitem(linecache.cache, file, (len(cell), None, cell.splitlines(keepends=True), file))
            exec(compile(cell, file, "exec"), namespace)

    return run_cells


@pytest.mark.parametrize("name", NAMES)
def test_a_new_notebook_runs_and_says_that_nothing_is_done(name, run, capsys):
    run(code_cells(notebook(load(name))))
    assert f"{name}: not yet.\nNothing done yet" in capsys.readouterr().out
    assert progress.of(name).attempts == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_with_the_solution_passes(name, run, capsys):
    _, check = code_cells(notebook(load(name)))
    run([definitions(name), check])
    assert capsys.readouterr().out.startswith(f"{name}: right.")
    assert progress.of(name).passed


def test_a_mistake_gets_its_hint(run, capsys):
    _, check = code_cells(notebook(load("chain_rule")))
    run([definitions("chain_rule").replace("df_du * du_dx", "df_du"), check])
    assert "multiplies it by du/dx" in capsys.readouterr().out


def test_an_error_has_its_line(run, capsys):
    _, check = code_cells(notebook(load("chain_rule")))
    run([definitions("chain_rule").replace("df_du * du_dx", "dfdu"), check])
    assert "NameError in line 11, `return dfdu`" in capsys.readouterr().out


def test_definitions_whose_text_is_not_known(run, capsys):
    skeleton, check = code_cells(notebook(load("chain_rule")))
    run([skeleton, check], known_to_python=False)
    assert "`by_hand` is still to be written" in capsys.readouterr().out


def test_hints_and_solutions(run, capsys):
    cells = ["from adjoint.learn import check, hint, solution", 'solution("modes")', 'hint("modes")', 'hint("mode")']
    run(cells)
    said = capsys.readouterr().out
    assert said.startswith("Try it first")
    assert "Hint 1 of 3" in said
    assert "is it modes?" in said


def test_the_file(folder):
    commands.run("start", "mini_tensor", in_notebook=True)
    written = json.loads((folder / "mini_tensor.ipynb").read_text(encoding="utf-8"))
    assert (written["nbformat"], written["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in written["cells"]}) == len(written["cells"])
    assert "".join(written["cells"][0]["source"]).startswith("# A small autograd of your own\n")
    assert {"cell_type", "id", "metadata", "source", "execution_count", "outputs"} == set(written["cells"][1])


def test_a_notebook_is_checked_from_the_command_line(folder, capsys):
    exercise = load("modes")
    cells = json.loads(notebook(exercise))
    cells["cells"][1]["source"] = ["%matplotlib inline\n", "!ls\n", *exercise.solution.splitlines(keepends=True)]
    (folder / "modes.ipynb").write_text(json.dumps(cells), encoding="utf-8")
    assert "adjoint.learn" not in program(json.dumps(cells))
    assert commands.run("check") == 0
    assert capsys.readouterr().out.startswith("modes: right.")


def test_a_new_notebook_is_no_attempt_in_the_terminal_either(folder, capsys):
    commands.run("start", "training_loop", in_notebook=True)
    assert commands.run("check") == 1
    assert "Nothing done yet" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"cells": [{}]}'])
def test_a_damaged_notebook(folder, text, capsys):
    (folder / "modes.ipynb").write_text(text)
    assert commands.run("check") == 2
    assert "modes.ipynb is not a notebook" in capsys.readouterr().err
