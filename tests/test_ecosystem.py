"""What `./dev ecosystem` says of what it measured, and that its list and its programs belong together. Measuring takes an hour."""

import ast

import numpy as np
import pytest

from tools import ecosystem
from tools.ecosystem import Result, compared, page


def test_every_library_has_a_program_and_every_program_a_library():
    programs = {path.stem for path in (ecosystem.SOURCES / "programs").glob("*.py")}
    assert programs == set(ecosystem.libraries())


@pytest.mark.parametrize("library", ecosystem.libraries().values(), ids=lambda library: library.name)
def test_a_program_seeds_and_returns_its_results(library):
    tree = ast.parse(library.program.read_text(encoding="utf-8"))
    (main,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main"]
    assert ast.get_docstring(tree)
    assert "manual_seed(" in ast.unparse(main)
    assert isinstance(main.body[-1], ast.Return)


@pytest.mark.parametrize("library", ecosystem.libraries().values(), ids=lambda library: library.name)
def test_a_library_has_a_version(library):
    assert all("==" in distribution for distribution in library.install)


def test_results_agree_to_the_largest_number():
    expected = {"x": np.array([1000.0, 0.0]), "n": np.array([1, 2])}
    assert compared(expected, {"x": np.array([1000.05, 0.05]), "n": np.array([1, 2])}) == "same numbers"
    assert compared(expected, {"x": np.array([1000.2, 0.0]), "n": np.array([1, 2])}) == "other numbers: x"
    assert compared(expected, {"x": np.array([1000.0, 0.0]), "n": np.array([1, 3])}) == "other numbers: n"
    assert compared(expected, {"x": np.array([1000.0]), "n": np.array([1, 2])}) == "another shape: x"
    assert compared(expected, {"n": np.array([1, 2])}) == "another shape: x"


def test_not_a_number_agrees_with_itself_only():
    nothing, one = {"x": np.array([np.nan])}, {"x": np.array([1.0])}
    assert compared(nothing, nothing) == "same numbers"
    assert compared(one, nothing) == "other numbers: x"


def test_the_page_counts_and_names_what_fails():
    text = page({
        "abc": Result("1.0", "same numbers", passed_both=9, passed_pytorch=10, only_pytorch=["tests/test_a.py::test_it"]),
        "xyz": Result("2.0", "raises: AttributeError: a | b"),
    })  # fmt: skip
    assert "1 of 2 programs run with the same numbers. Of 10 tests of 1 libraries that pass on PyTorch, 9 pass here, 90.0 %." in text
    assert "| abc | 1.0 | same numbers | 9 of 10 |" in text
    assert "| xyz | 2.0 | raises: AttributeError: a \\| b | not sampled |" in text
    assert "- abc: `tests/test_a.py::test_it`" in text
