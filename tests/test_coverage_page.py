"""docs/coverage.md is what tools/coverage.py makes of adjoint as it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tools import coverage


@pytest.fixture(scope="module")
def page() -> str:
    """Made in a process of its own: functions that have been told of `__torch_function__` have less telling signatures."""
    code = "from tools import coverage; print(coverage.page(), end='')"
    return subprocess.run([sys.executable, "-c", code], cwd=coverage.PAGE.parent.parent, capture_output=True, text=True, check=True).stdout


def test_the_page_is_up_to_date(page):
    assert coverage.PAGE.read_text(encoding="utf-8") == page, "run python tools/coverage.py"


def test_the_check_notices_a_stale_page(tmp_path, monkeypatch, capsys, page):
    monkeypatch.setattr(coverage, "PAGE", tmp_path / "coverage.md")
    monkeypatch.setattr(coverage, "page", lambda: page)
    assert coverage.main(["--check"]) == 1
    assert "run python tools/coverage.py" in capsys.readouterr().out
    assert coverage.main([]) == 0
    assert coverage.main(["--check"]) == 0


@pytest.mark.parametrize(
    ("area", "entry", "state"),
    [
        ("torch", coverage.Entry("add", ("input", "other", "alpha", "out")), "present"),
        ("torch", coverage.Entry("add", ("input", "other", "alpha", "out", "colour")), "partly"),
        ("torch", coverage.Entry("no_such_function", ()), "absent"),
        ("torch.no_such_module", coverage.Entry("f", ()), "absent"),
        ("torch.Tensor", coverage.Entry("grad", None), "present"),
        ("torch", coverage.Entry("sparse_coo", None), "present"),
    ],
)
def test_judgements(area, entry, state):
    assert coverage.judged(area, entry)[0] == state


def test_what_is_left_out_is_not_listed():
    assert coverage.reason_left_out("torch.quantize_per_tensor") == "Quantised tensors"
    assert coverage.reason_left_out("torch.add") is None
    listed = {f"{area}.{entry.name}" for area, entries in coverage.read_names().items() for entry in entries}
    assert not [name for name in listed if coverage.reason_left_out(name)]


def test_ordinary_names_are_there():
    """What most programs use: the functions and methods of tensors, layers, optimizers."""
    for area, share in {"torch": 0.93, "torch.Tensor": 0.98, "torch.nn": 0.98, "torch.nn.functional": 0.98, "torch.linalg": 1.0}.items():
        states = [coverage.judged(area, entry)[0] for entry in coverage.read_names()[area]]
        assert sum(state != "absent" for state in states) >= share * len(states)
