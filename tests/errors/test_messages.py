"""Wrong calls answer with PyTorch's exception type and with a message that says which line did it and what to write instead.

The tables are in the `*_calls.py` modules beside this one, each message literally and in full.
"""

from __future__ import annotations

import importlib
import linecache
import pickle
import sys
import textwrap
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import adjoint as ad
from tests.errors.wrong_calls import WRONG_CALLS

for _table in ("graph", "write", "function", "tensor", "shape", "module", "training", "model"):
    importlib.import_module(f"tests.errors.{_table}_calls")


@pytest.fixture(autouse=True)
def beside_the_tables(monkeypatch):
    """Files are named as seen from the working directory."""
    monkeypatch.chdir(Path(__file__).parent)


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_message(name):
    wrong = WRONG_CALLS[name]
    for _ in range(2):  # a mistake leaves nothing behind that would change the second answer
        with warnings.catch_warnings(action="ignore"), pytest.raises(wrong.type) as raised:
            wrong.case(ad)
        assert str(raised.value) == wrong.message


def test_table_is_large_enough():
    assert len(WRONG_CALLS) >= 60


# ----- Where the code came from -----

# The canonical mistakes with in-place writes; lines are counted from 1. (source, line that used the value, line that changed it)
INPLACE_MISTAKES = {
    "factor": ("x = ad.ones(3, requires_grad=True)\ny = x + 1\nz = y * y\ny.add_(1)\nz.sum().backward()", 3, 4),
    "own result": ("x = ad.ones(3, requires_grad=True)\ny = x.exp()\ny += 1\ny.sum().backward()", 2, 3),
    "sigmoid": ("x = ad.ones(3, requires_grad=True)\ny = ad.sigmoid(x)\ny.mul_(2)\ny.sum().backward()", 2, 3),
    "relu": ("x = ad.ones(3, requires_grad=True)\ny = x.relu()\ny[0] = 0\ny.sum().backward()", 2, 3),
    "softmax": ("x = ad.ones(3, requires_grad=True)\np = ad.softmax(x, 0)\np[0] = 0\np.sum().backward()", 2, 3),
    "weight": ("w = ad.ones(2, 2, requires_grad=True)\ny = w @ w\nwith ad.no_grad():\n    w -= 0.1\ny.sum().backward()", 2, 4),
    "optimizer": (
        "w = ad.ones(2, requires_grad=True)\nloss = (w * w).sum()\nloss.backward(retain_graph=True)\n"
        "ad.optim.SGD([w], lr=0.1).step()\nloss.backward()",
        2,
        4,
    ),
    "index": ("x = ad.ones(3, requires_grad=True)\ny = x * 2\nz = y**2\ny[0] = 0\nz.sum().backward()", 3, 4),
    "base of a view": ("x = ad.ones(3, requires_grad=True)\ny = x * 2\nz = y[1:].sin()\ny.zero_()\nz.sum().backward()", 3, 4),
    "view": ("x = ad.ones(3, requires_grad=True)\ny = x * 2\nz = y.cos()\ny[:2].mul_(3)\nz.sum().backward()", 3, 4),
    "detach": ("x = ad.ones(3, requires_grad=True)\ny = x * 2\nz = y * y\ny.detach().zero_()\nz.sum().backward()", 3, 4),
    "state": (
        "w, h = ad.ones(1, requires_grad=True), ad.ones(1)\nfor _ in range(2):\n    h = ad.tanh(h * w)\n    h *= 2\nh.sum().backward()",
        3,
        4,
    ),
    "constant": ("x, c = ad.ones(3, requires_grad=True), ad.ones(3)\ny = x * c\nc += 1\ny.sum().backward()", 2, 3),
}
mistakes = pytest.mark.parametrize(("source", "used", "changed"), INPLACE_MISTAKES.values(), ids=INPLACE_MISTAKES)


def message_of(code: Any) -> Any:
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation") as raised:
        exec(code, {"ad": ad})
    return raised.value


@mistakes
def test_lines_of_a_file(tmp_path, monkeypatch, source, used, changed):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "train.py"
    file.write_text(source)
    error = message_of(compile(source, str(file), "exec"))
    lines = [line.strip() for line in source.splitlines()]
    assert f"  used     train.py:{used}   {lines[used - 1]}\n" in str(error)
    assert f"  changed  train.py:{changed}   {lines[changed - 1]}\n" in str(error)
    assert (error.sites["used"].line, error.sites["changed"].line) == (used, changed)


def test_files_are_named_as_seen_from_the_working_directory(tmp_path, monkeypatch):
    source, used, _ = INPLACE_MISTAKES["factor"]
    file = tmp_path / "models" / "train.py"
    error = message_of(compile(source, str(file), "exec"))
    assert f"  used     {file}:{used}\n" in str(error)  # it lies elsewhere
    monkeypatch.chdir(tmp_path)
    assert error.sites["used"].where == f"{Path('models', 'train.py')}:{used}"


def test_cells_of_a_notebook_are_named_by_their_numbers(monkeypatch):
    """IPython knows under which file names it has compiled which cells."""
    source, used, changed = INPLACE_MISTAKES["factor"]
    compiler = SimpleNamespace(_filename_map={"/tmp/ipykernel_1/2045.py": 3})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(compile=compiler)))
    message = str(message_of(compile(source, "/tmp/ipykernel_1/2045.py", "exec")))
    assert f"  used     cell 3, line {used}\n" in message and f"  changed  cell 3, line {changed}\n" in message


@mistakes
def test_lines_of_executed_text(source, used, changed):
    message = str(message_of(compile(source, "<string>", "exec")))
    assert f"  used     <string>:{used}\n" in message
    assert f"  changed  <string>:{changed}\n" in message


@mistakes
def test_lines_of_a_notebook_cell(source, used, changed):
    """A notebook compiles each cell under a name of its own and gives linecache the text."""
    cell = "<ipython-input-7-3f2a9c>"
    linecache.cache[cell] = (len(source), None, source.splitlines(keepends=True), cell)
    try:
        message = str(message_of(compile(source, cell, "exec")))
    finally:
        del linecache.cache[cell]
    lines = [line.strip() for line in source.splitlines()]
    assert f"  used     {cell}:{used}   {lines[used - 1]}\n" in message
    assert f"  changed  {cell}:{changed}   {lines[changed - 1]}\n" in message


def test_lines_inside_functions_and_calls_that_span_lines(tmp_path):
    source = textwrap.dedent(
        """
        def layer(x):
            return (
                x
                .exp()
            )

        def step(y):
            y.add_(
                1,
            )

        y = layer(ad.ones(2, requires_grad=True))
        step(y)
        y.sum().backward()
        """
    )
    file = tmp_path / "model.py"
    file.write_text(source)
    error = message_of(compile(source, str(file), "exec"))
    lines = source.splitlines()
    assert lines[error.sites["made"].line - 1].strip() in ("x", ".exp()")
    assert lines[error.sites["changed"].line - 1].strip() == "y.add_("


# ----- The errors as objects -----


def inplace_error() -> Any:
    x = ad.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError) as raised:
        y.sum().backward()
    return raised.value


def test_errors_tell_programs_what_they_tell_people():
    facts = inplace_error().to_dict()
    assert facts["error"] == "InplaceError"
    assert facts["sites"]["changed"]["text"] == "y.add_(1)"
    assert facts["sites"]["made"]["text"] == "y = x.exp()"
    assert facts["sites"]["made"]["file"] == __file__
    assert facts["fix"].endswith(" as y = y.add(1)")


def test_errors_survive_pickling():
    """As they must on their way out of a worker process."""
    error = inplace_error()
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)


def test_errors_in_backward_name_the_line_that_recorded_the_node():
    class Fails(ad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise KeyError("mine")

    y = Fails.apply(ad.ones(1, requires_grad=True))
    with pytest.raises(KeyError) as raised:
        y.backward()
    (note,) = raised.value.__notes__
    assert "in the backward of FailsBackward" in note
    assert note.endswith("y = Fails.apply(ad.ones(1, requires_grad=True))")


# ----- Warnings -----


def test_reading_the_gradient_of_a_result_warns_once_per_line():
    x = ad.ones(2, requires_grad=True)
    y = x * 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert y.grad is None  # one line, one warning
        assert y.grad is None  # another line
    assert len(caught) == 2
    assert all(issubclass(w.category, UserWarning) and w.filename == __file__ for w in caught)
    text = str(caught[0].message)
    assert text.startswith("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed.")
    assert "Call .retain_grad() on it before backward()" in text
    assert "y = x * 2" in text


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x.detach(), lambda x: retained(x * 2)], ids=["leaf", "detached", "retained"])
def test_no_warning_where_the_gradient_is_kept(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make(ad.ones(2, requires_grad=True)).grad is None


def retained(y: Any) -> Any:
    y.retain_grad()
    return y


def test_frozen_models_are_blamed_only_if_no_other_could_learn():
    teacher = ad.nn.Linear(2, 1).requires_grad_(False)
    loss = teacher(ad.ones(1, 2)).sum()
    with pytest.raises(RuntimeError, match=r"no parameter of teacher requires grad: teacher.requires_grad_\(\)"):
        loss.backward()
    student = ad.nn.Linear(2, 1)
    with pytest.raises(RuntimeError, match="make the inputs with requires_grad=True"):
        loss.backward()
    assert student.weight.requires_grad
