"""What is printed of an error that nobody caught: the program's frames, and adjoint's own only if asked for."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

import pytest

import adjoint as ad
from adjoint import _tracebacks
from adjoint._site import fold_tracebacks

ROOT = Path(__file__).resolve().parent.parent

PROGRAM = """
import adjoint as torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
        self.head = torch.nn.Linear(5, 1)

    def forward(self, x):
        return self.head(self.body(x))

Net()(torch.ones(2, 3))
"""


def printed(tmp_path, source, *options, **environment):
    (tmp_path / "train.py").write_text(source)
    command = [sys.executable, *options, "train.py"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize("way", ["python", "run"])
def test_a_script_shows_its_own_frames(tmp_path, way):
    if way == "run":
        text = printed(tmp_path, PROGRAM.replace("adjoint as torch", "torch"), "-m", "adjoint", "run")
    else:
        text = printed(tmp_path, PROGRAM)
    lines = text.splitlines()
    files = [line for line in lines if line.startswith('  File "')]
    assert [line.rpartition(", ")[0].rpartition(", ")[2] for line in files] == ["line 13", "line 11"]
    assert "mat1 and mat2 shapes cannot be multiplied" in text and lines[-1].startswith("  fix: ")


def test_all_frames_are_shown_if_asked_for(tmp_path):
    assert "linear.py" in printed(tmp_path, PROGRAM, ADJOINT_TRACEBACK="full")
    assert "linear.py" in printed(tmp_path, PROGRAM.replace("\nNet()", "\ntorch.set_full_tracebacks(True)\nNet()"))


def test_who_prints_errors_already_goes_on(tmp_path):
    source = "import sys\nsys.excepthook = lambda *_: print('mine', file=sys.stderr)\nimport adjoint as ad\nad.ones(2).view(3)"
    assert printed(tmp_path, source) == "mine\n"


def caught(fails) -> Exception:
    with pytest.raises(Exception) as raised:
        fails()
    return raised.value


def shown(error: BaseException) -> list[str]:
    with _tracebacks.folded(error, error.__traceback__):
        return traceback.format_exception(error)


def frames(error: BaseException) -> int:
    return len(_tracebacks.frames_of(error.__traceback__))


def test_the_error_itself_keeps_its_traceback():
    error = caught(lambda: ad.nn.Linear(2, 2)(ad.ones(3)))
    before = frames(error)
    assert sum(line.startswith("  File") for line in shown(error)) < before == frames(error)


def test_functions_that_adjoint_calls_are_shown():
    class Fails(ad.nn.Module):
        def forward(self, x):
            raise KeyError("mine")

    text = "".join(shown(caught(lambda: ad.nn.Sequential(Fails())(ad.ones(1)))))
    assert "in forward" in text and "containers.py" not in text
    assert text.endswith("KeyError: 'mine'\n")


def test_errors_that_may_be_adjoints_own_say_how_to_see_more(monkeypatch):
    monkeypatch.setattr(_tracebacks, "SHALLOW", 0)
    unmeant = shown(caught(lambda: ad.nn.ParameterDict()["missing"]))
    assert unmeant[-1].endswith("frames inside adjoint are not shown; ADJOINT_TRACEBACK=full shows them.)\n")
    meant = shown(caught(lambda: ad.ones(2).view(3)))
    assert "ADJOINT_TRACEBACK" not in meant[-1]


def test_numpy_below_adjoint_is_not_shown_and_numpy_below_the_program_is():
    import numpy as np

    deep = caught(lambda: np.linalg.inv(np.ones((2, 3))))
    assert "linalg" in "".join(shown(deep))
    entries = _tracebacks.frames_of(deep.__traceback__)
    of_adjoint = caught(lambda: ad.ones(2).view(3)).__traceback__
    assert of_adjoint is not None
    *_, own = _tracebacks.frames_of(of_adjoint)
    numpys = entries[-1].tb_frame
    assert list(_tracebacks.hidden_among([own.tb_frame, numpys])) == [True, True]
    assert list(_tracebacks.hidden_among([numpys, own.tb_frame])) == [False, True]


def test_errors_that_led_to_it_are_folded_too():
    def fails():
        try:
            ad.nn.Linear(2, 2)(ad.ones(3))
        except RuntimeError as error:
            raise ValueError("again") from error

    error = caught(fails)
    text = "".join(shown(error))
    assert "The above exception was the direct cause" in text and "linear.py" not in text
    group = ExceptionGroup("two", [caught(lambda: ad.nn.Linear(2, 2)(ad.ones(3))), error])
    assert "linear.py" not in "".join(shown(group))


class Reporter:
    """The part of IPython that makes lines of an error."""

    tb = None

    def structured_traceback(self, kind, error, traceback, tb_offset=0):
        self.tb = traceback
        return [entry.tb_frame.f_code.co_name for entry in _tracebacks.frames_of(traceback)][tb_offset:]


@pytest.fixture
def reporter(monkeypatch):
    reporter = Reporter()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(InteractiveTB=reporter)))
    fold_tracebacks()
    return reporter


def test_a_notebook_shows_its_own_frames(reporter, monkeypatch):
    def cell():
        ad.nn.Linear(2, 2)(ad.ones(3))

    error = caught(cell)
    arguments = type(error), error, error.__traceback__
    names = reporter.structured_traceback(*arguments, tb_offset=1)
    assert names == ["cell"]
    assert reporter.tb is error.__traceback__  # what the debugger looks at
    monkeypatch.setattr(_tracebacks, "_full", True)
    assert len(reporter.structured_traceback(*arguments)) == frames(error)


def test_the_setting(monkeypatch):
    monkeypatch.setattr(_tracebacks, "_full", False)
    ad.set_full_tracebacks(True)
    assert _tracebacks._full is True
