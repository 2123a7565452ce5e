"""Programs of the editor: what they answer, and that none of them takes the lab along."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adjoint.lab.runner import Limits, Runner

LIMITS = Limits(seconds=20.0, memory=1 << 28, output=2000)


@pytest.fixture(scope="module")
def runner():
    runner = Runner(LIMITS)
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def impatient():
    runner = Runner(LIMITS._replace(seconds=1.0))
    yield runner
    runner.close()


def error(runner, code):
    return runner.run(code, trace=False)["error"]


def test_what_a_program_prints(runner):
    code = "import sys\nimport adjoint as ad\nprint(ad.ones(2))\nprint('and', file=sys.stderr)\nprint(__name__)"
    assert runner.run(code, trace=False) == {"output": "tensor([1., 1.])\nand\n__main__\n"}


def test_a_syntax_error(runner):
    found = error(runner, "x = 1\ny = (2,\n")
    assert (found["type"], found["line"]) == ("SyntaxError", 2)
    assert "never closed" in found["message"]


def test_an_error_of_adjoint_with_its_line(runner):
    code = "import adjoint as ad\nx = ad.ones(3, requires_grad=True)\ndef f():\n    (x * 2).backward()\nf()"
    found = error(runner, code)
    assert found["line"] == 4
    assert found["message"].startswith("grad can be implicitly created only for scalar outputs")
    assert "fix: " in found["message"]


def test_an_endless_loop_and_where_it_is(impatient):
    found = error(impatient, "n = 0\nwhile True:\n    n += 1\n")
    assert found["type"] == "TimeLimit"
    assert "more than 1 seconds" in found["message"]
    assert found["line"] in (2, 3)


@pytest.mark.parametrize("program", ["x = ad.zeros(10**11)", "x = ad.ones(2**28)", "x = [bytearray(10**6) for _ in range(10**4)]"])
def test_a_huge_allocation(runner, program):
    found = error(runner, f"import adjoint as ad\n{program}")
    assert (found["type"], found["line"]) == ("MemoryError", 2)
    assert "Programs of the lab get 0.25 GiB" in found["message"]


def test_a_crash(runner):
    found = error(runner, "import os\nos.abort()")
    assert found["type"] == "Crash"
    assert "the lab goes on" in found["message"]


def test_an_end_without_a_word(runner):
    assert "exit code 3" in error(runner, "import os\nos._exit(3)")["message"]
    assert runner.run("print('still here')", trace=False) == {"output": "still here\n"}


@pytest.mark.parametrize(("code", "shown"), [("", "sys.exit()"), ("2", "sys.exit(2)"), ("'why'", "sys.exit('why')")])
def test_sys_exit(runner, code, shown):
    found = error(runner, f"import sys\nsys.exit({code})")
    assert (found["type"], found["line"]) == ("SystemExit", 2)
    assert shown in found["message"]


def test_input(runner):
    found = error(runner, "x = 1\nname = input('who? ')")
    assert (found["type"], found["line"]) == ("EOFError", 2)
    assert "write the value into the program" in found["message"]


@pytest.mark.parametrize("start", ["os.fork()", "subprocess.run(['true'])", "os.system('true')", "multiprocessing.Pool(2)"])
def test_other_processes_are_refused(runner, start):
    found = error(runner, f"import multiprocessing, os, subprocess\nwhile True:\n    {start}")
    assert (found["type"], found["line"]) == ("RuntimeError", 3)
    assert "one process" in found["message"]


def test_too_much_output(runner):
    answer = runner.run("while True:\n    print('x' * 99)", trace=False)
    assert answer["error"]["type"] == "OutputLimit"
    assert len(answer["output"]) == LIMITS.output


def test_endless_recursion(runner):
    assert error(runner, "def f():\n    return f()\nf()")["type"] == "RecursionError"


def test_files_are_gone_afterwards(runner):
    answer = runner.run("from pathlib import Path\nPath('here').write_text('x')\nprint(Path.cwd())", trace=False)
    assert not Path(answer["output"].strip()).exists()


def test_a_trace_with_what_was_printed(runner):
    answer = runner.run("import adjoint as ad\nx = ad.tensor(2.0, requires_grad=True)\ny = x ** 2 + 3 * x\ny.backward()\nprint(x.grad)")
    assert answer["output"] == "tensor(7.)\n"
    assert [event["after"] for event in answer["trace"]["events"] if event["kind"] == "accumulate"] == [7.0]


def test_a_trace_up_to_an_error(runner):
    answer = runner.run("import adjoint as ad\nx = ad.ones(3, requires_grad=True)\ny = x * 2\ny.backward()")
    assert answer["error"]["line"] == 4
    assert any(event["kind"] == "op" for event in answer["trace"]["events"])


@pytest.mark.parametrize(("code", "kind"), [("x = (", "SyntaxError"), ("import sys\nsys.exit(2)", "SystemExit"), ("input()", "EOFError")])
def test_traced_programs_fail_in_the_same_words(runner, code, kind):
    assert runner.run(code)["error"] == runner.run(code, trace=False)["error"]
    assert runner.run(code)["error"]["type"] == kind


def test_what_python_says_while_it_starts_is_not_the_programs(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("print('a greeting')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    runner = Runner(LIMITS)
    assert runner.run("print(1)", trace=False) == {"output": "1\n"}
    runner.close()
